"""Any sequence of requests and waits on a classic group: what holds after every step."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from groupsim.sim.cluster.shard.log import GroupLog
from groupsim.sim.cluster.shard.watermark import Watermark
from groupsim.sim.config import CoordinatorConfig
from groupsim.sim.protocol.classic.group import ClassicGroup, GroupRequest
from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.facts import GroupForgotten, StateChanged
from groupsim.sim.protocol.interface import Outcome
from groupsim.sim.protocol.messages import (
    NO_PARTITIONS,
    Acknowledgement,
    Error,
    Heartbeat,
    JoinGroup,
    JoinResponse,
    LeaveGroup,
    LeaveResponse,
    MemberIdentity,
    OffsetCommit,
    Subscription,
    SyncGroup,
)
from groupsim.sim.protocol.offsets.table import OffsetTable
from groupsim.sim.units import FOREVER, MS, S

pytestmark = pytest.mark.property

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState
VALID = {
    (EMPTY, PREPARING),
    (PREPARING, COMPLETING),
    (PREPARING, EMPTY),
    (COMPLETING, STABLE),
    (COMPLETING, PREPARING),
    (STABLE, PREPARING),
}
NAMES = ("a", "b", "c", "s1", "s2")
TIMEOUTS = (6_000, 10_000, 400_000)


class GroupOfAnybody(RuleBasedStateMachine):
    """Members by name, each with the last id it was given; names that begin with s are static."""

    @initialize(
        version=st.sampled_from(["4.4", "4.4", "4.4", "0.9"]),
        delay=st.sampled_from([0, 3_000]),
        append=st.sampled_from([0, 1, 200]),
        max_size=st.sampled_from([2, 3, 1_000]),
    )
    def found(self, version: str, delay: int, append: int, max_size: int) -> None:
        self.config = CoordinatorConfig(
            initial_rebalance_delay_us=delay * MS, max_size=max_size, version=version,
            offsets_retention_us=20_000 * MS, offsets_retention_check_interval_us=7_000 * MS,
        )  # fmt: skip
        self.group = ClassicGroup("g", self.config)
        self.log = GroupLog(5 * S, Watermark(append * MS), OffsetTable())
        self.now = 0
        self.ids: dict[str, str] = {}
        self.open: dict[int, tuple[str, str, str]] = {}
        self.answered: Counter[object] = Counter()
        self.number = 0
        self.generation = 0
        self.before = EMPTY

    # --- driving ------------------------------------------------------------------------------------------------------

    def request(self, request: GroupRequest, waiter: object) -> None:
        """Hand a request in."""
        self.take(self.group.on_request(self.now, request, waiter))

    def take(self, outcome: Outcome) -> None:
        """Append what is handed out; what is in the log by now goes on."""
        self._file(outcome)
        if outcome.batch is not None:
            self.log.append(self.now, outcome.batch)
        while (batch := self.log.pop(self.now)) is not None:
            self.take(self.group.on_appended(self.now, batch, Error.NONE))

    def _file(self, outcome: Outcome) -> None:
        for reply in outcome.replies:
            response: Any = reply.response
            if isinstance(response, (Acknowledgement, LeaveResponse)):
                continue
            self.answered[reply.waiter] += 1
            assert self.answered[reply.waiter] == 1, "answered twice"
            assert isinstance(reply.waiter, int)
            self._drop_superseded(reply.waiter)
            name = self.open.pop(reply.waiter)[0]
            if isinstance(response, JoinResponse) and response.error in (Error.NONE, Error.MEMBER_ID_REQUIRED):
                self.ids[name] = response.member_id
        for fact in outcome.facts:
            if isinstance(fact, StateChanged):
                assert (self.before, fact.state) in VALID
                self.before = fact.state
                assert fact.generation >= self.generation or self.group.is_old
                self.generation = fact.generation
            if isinstance(fact, GroupForgotten):
                assert self.before is EMPTY
                self.generation = 0
        for waiter in self._parked():
            self._drop_superseded(waiter)

    def _waiter(self, name: str, kind: str, member_id: str) -> int:
        """A request that is to be answered once; it takes the place of an older one of its kind."""
        self.number += 1
        self.open[self.number] = (name, kind, member_id)
        return self.number

    def _parked(self) -> list[int]:
        waiters = [w for one in self.group.roster for w in (one.join_waiter, one.sync_waiter)]
        return [w for w in waiters if isinstance(w, int)]

    def _drop_superseded(self, waiter: int) -> None:
        """An older request of the same kind and member is forgotten once a newer one has taken its place."""
        _, kind, member_id = self.open[waiter]
        older = [w for w, (_, k, m) in self.open.items() if w < waiter and (k, m) == (kind, member_id)]
        for other in set(older).difference(self._parked()):
            del self.open[other]

    @rule(
        name=st.sampled_from(NAMES),
        known=st.booleans(),
        protocols=st.sampled_from([("range",), ("range",), ("range", "sticky"), ("sticky", "range"), ("sticky",)]),
        topics=st.sampled_from([("t",), ("t",), ("u",)]),
        session=st.sampled_from(TIMEOUTS),
        rebalance=st.sampled_from(TIMEOUTS),
        version=st.sampled_from([3, 8, 9, 9, 9]),
    )
    def join(
        self, name: str, known: bool, protocols: Any, topics: Any, session: int, rebalance: int, version: int
    ) -> None:
        static = name.startswith("s") and not self.group.is_old
        fresh = f"{name}-{self.number}"
        request = JoinGroup(
            self.ids.get(name, "") if known else "",
            name if static else None,
            session * MS,
            rebalance * MS,
            tuple((one, Subscription(topics)) for one in protocols),
            fresh_id=fresh,
            knows_member_id_required=version >= 4,
            knows_skip_assignment=version >= 9,
            name=name,
        )
        pending = request.member_id in self.group.roster.pending
        if pending and static:
            return
        self.request(request, self._waiter(name, "join", request.member_id or fresh))

    @rule(name=st.sampled_from(NAMES), stale=st.booleans())
    def sync(self, name: str, stale: bool) -> None:
        generation = self.group.generation - stale
        request = SyncGroup(self.ids.get(name, "?"), None, generation, None, {self.ids.get(name, "?"): np.arange(2)})
        self.request(request, self._waiter(name, "sync", request.member_id))

    @rule()
    def everybody_syncs(self) -> None:
        for member in list(self.group.roster):
            request = SyncGroup(member.member_id, member.instance_id, self.group.generation, None, {})
            self.request(request, self._waiter(member.name, "sync", member.member_id))

    @rule()
    def everybody_rejoins(self) -> None:
        for member in list(self.group.roster):
            request = JoinGroup(
                member.member_id, member.instance_id, member.session_timeout_us, member.rebalance_timeout_us,
                member.protocols, name=member.name,
            )  # fmt: skip
            self.request(request, self._waiter(member.name, "join", member.member_id))

    @rule(name=st.sampled_from(NAMES), stale=st.booleans())
    def heartbeat(self, name: str, stale: bool) -> None:
        self.request(Heartbeat(self.ids.get(name, "?"), None, self.group.generation - stale), None)

    @rule(name=st.sampled_from(NAMES), generation=st.sampled_from([-1, 0, None]))
    def commit(self, name: str, generation: int | None) -> None:
        at = self.group.generation if generation is None else generation
        offsets = np.empty(0, np.int64)
        self.request(OffsetCommit(self.ids.get(name, ""), None, at, NO_PARTITIONS, offsets), None)

    @rule(name=st.sampled_from(NAMES))
    def leave(self, name: str) -> None:
        self.request(LeaveGroup((MemberIdentity(self.ids.get(name, "?"), None),)), None)

    @rule(ms=st.sampled_from([0, 1, 199, 200, 3_000, 6_000, 10_000, 60_000, 300_000]))
    def wait(self, ms: int) -> None:
        until = self.now + ms * MS
        rings = 0
        while (due := self.deadline) <= until:
            rings = rings + 1 if due <= self.now else 0
            assert rings < 5, "a deadline is not obeyed"
            self.now = max(due, self.now)
            self.take(Outcome())
            self.take(self.group.on_deadline(self.now))
        self.now = until

    @property
    def deadline(self) -> int:
        """What the group, or its log, waits for next."""
        return min(self.group.deadline, self.log.due)

    @precondition(lambda self: self.deadline < FOREVER)
    @rule()
    def wait_for_the_deadline(self) -> None:
        self.wait(max(0, self.deadline - self.now) // MS)

    # --- what always holds --------------------------------------------------------------------------------------------

    @invariant()
    def counters_are_what_a_recount_says(self) -> None:
        roster = self.group.roster
        members = list(roster)
        assert roster.awaiting_join == sum(member.join_waiter is not None for member in members)
        assert roster.static == {one.instance_id: one.member_id for one in members if one.instance_id is not None}
        assert not set(roster.pending) & {member.member_id for member in members}
        supporters = Counter(name for member in members for name, _ in member.protocols)
        assert {name: n for name, n in roster._supporters.items() if n} == supporters
        assert (roster.leader is None) == (not members)
        assert roster.leader is None or roster.leader in roster

    @invariant()
    def who_waits_is_parked_and_who_is_parked_waits(self) -> None:
        parked = self._parked()
        assert len(parked) == len(set(parked))
        assert set(parked) <= set(self.open)
        for waiter, (name, kind, member_id) in self.open.items():
            gone = kind == "sync" and member_id not in self.group.roster
            assert waiter in parked or gone, f"{kind} {waiter} of {name} was forgotten"

    @invariant()
    def requests_are_parked_where_their_phase_is(self) -> None:
        if self.group.state is not COMPLETING:
            assert all(member.sync_waiter is None for member in self.group.roster)
        if self.group.state is COMPLETING:
            assert all(member.join_waiter is None for member in self.group.roster)
        assert (self.group.state is EMPTY) <= (len(self.group.roster) == 0)

    @invariant()
    def the_deadline_is_the_earliest_timer(self) -> None:
        group, armed = self.group, self.group._rebalance.timers
        timers = [armed.join_due, armed.sync_due]
        for one in [*(member.member_id for member in group.roster), *group.roster.pending]:
            timers.append(group.session_due(one))
        assert group.deadline == min(timers, default=FOREVER)

    @invariant()
    def nobody_is_without_a_timer(self) -> None:
        for member in self.group.roster:
            parked = member.join_waiter is not None or member.sync_waiter is not None
            assert parked or self.group.session_due(member.member_id) < FOREVER
        for pending in self.group.roster.pending:
            assert self.group.session_due(pending) < FOREVER

    @invariant()
    def phases_end(self) -> None:
        group, armed = self.group, self.group._rebalance.timers
        assert (armed.join_due < FOREVER) == (group.state is PREPARING)
        assert armed.sync_due == FOREVER or group.state in (COMPLETING, STABLE)
        if group.state is COMPLETING and not group.is_old:
            assert armed.sync_due < FOREVER or all(member.sync_waiter is not None for member in group.roster)


TestGroupOfAnybody = GroupOfAnybody.TestCase
TestGroupOfAnybody.settings = settings(
    max_examples=100, stateful_step_count=40, derandomize=True, deadline=None, database=None
)
