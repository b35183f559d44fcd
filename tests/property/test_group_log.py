"""What the log keeps of a classic group, whatever is requested, fails to be appended, or moves to another broker."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from groupsim.sim.protocol.classic.group import ClassicGroup, GroupRequest
from groupsim.sim.protocol.classic.records import GroupRecord, GroupTombstone
from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.facts import StateChanged
from groupsim.sim.protocol.interface import Outcome
from groupsim.sim.protocol.messages import NO_PARTITIONS, Error, SyncGroup
from groupsim.sim.protocol.offsets.records import CommittedOffsets
from groupsim.sim.units import FOREVER
from tests.property.test_classic_group import GroupOfAnybody

pytestmark = pytest.mark.property

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState
APPEND_ERRORS = (Error.NOT_ENOUGH_REPLICAS, Error.NOT_LEADER_OR_FOLLOWER, Error.MESSAGE_TOO_LARGE)
Summary = dict[str, Any]
"""What a new coordinator must know of a group (A.16), taken from the living one and not from its record."""


class Written(NamedTuple):
    """A record, and the group as it was when it was handed out."""

    batch: int
    record: GroupRecord
    summary: Summary


def summary_of(group: ClassicGroup, assignments: dict[str, Any] | None = None) -> Summary:
    """Members with the selected protocol only; ``assignments`` instead of those that they have."""

    def assigned(member: Any) -> list[int]:
        mine = member.assignment if assignments is None else assignments.get(member.member_id, NO_PARTITIONS)
        return mine.tolist()  # type: ignore[no-any-return]

    return {
        "generation": group.generation,
        "protocol": group.protocol,
        "leader": group.roster.leader,
        "members": [
            (one.member_id, one.instance_id, one.name, one.session_timeout_us, one.rebalance_timeout_us, assigned(one),
             [(name, metadata.topics) for name, metadata in one.protocols if name == group.protocol])
            for one in group.roster
        ],
        "static": dict(group.roster.static),
    }  # fmt: skip


NOBODY: Summary = {"generation": 0, "protocol": None, "leader": None, "members": [], "static": {}}
"""A group that nobody has synced in yet, or that was deleted."""


class LoggedGroup(GroupOfAnybody):
    """A group whose records are kept, whose appends can fail, and which moves from coordinator to coordinator."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[Written] = []
        self.uncommitted: set[int] = set()
        self.proposed: dict[str, Any] = {}

    def request(self, request: GroupRequest, waiter: object) -> None:
        if isinstance(request, SyncGroup):
            self.proposed = request.assignments or {}
        super().request(request, waiter)

    def take(self, outcome: Outcome) -> None:
        self._keep(outcome)
        super().take(outcome)
        self.uncommitted &= {number for _, number in self.log._open}

    def _keep(self, outcome: Outcome) -> None:
        """Each record with the group as it is now: a handler hands out its record last."""
        batch = outcome.batch
        if any(isinstance(fact, StateChanged) and fact.state is STABLE for fact in outcome.facts):
            assert summary_of(self.group) == self.written[-1].summary, "what is given out is not what was logged"
        for record in batch.records if batch is not None else ():
            assert batch is not None
            if isinstance(record, CommittedOffsets):
                continue
            match self.group.state:
                case _ if isinstance(record, GroupTombstone):
                    summary = NOBODY
                case GroupState.COMPLETING_REBALANCE:
                    summary = summary_of(self.group, self.proposed)
                case GroupState.PREPARING_REBALANCE:
                    summary = NOBODY
                case _:
                    summary = summary_of(self.group)
            self.written.append(Written(batch.number, record, summary))
            self.uncommitted |= {batch.number} if batch.is_awaited else set()

    # --- what can happen besides --------------------------------------------------------------------------------------

    @precondition(lambda self: self.log.due < FOREVER)
    @rule(error=st.sampled_from(APPEND_ERRORS))
    def an_append_fails(self, error: Error) -> None:
        number = self.log.pop(FOREVER)
        assert number is not None
        self.written = [one for one in self.written if one.batch != number]
        self.take(self.group.on_appended(self.now, number, error))

    @rule(replicated=st.booleans())
    def the_coordinator_moves(self, replicated: bool) -> None:
        """The new one has what was committed, and perhaps what was only appended."""
        parked = self._parked()
        answers = self.group.on_unloaded(self.now).replies
        assert {reply.response.error for reply in answers} <= {Error.NOT_COORDINATOR}
        assert sorted(reply.waiter for reply in answers) == sorted(parked)
        assert (self.group.state, self.group.deadline, self._parked()) == (DEAD, FOREVER, [])
        while self.log.pop(FOREVER) is not None:
            pass
        self.written = self.written if replicated else self._committed()
        self.uncommitted = set()
        self.group = self._rebuilt(self.written)
        self.open.clear()
        self.before, self.generation = self.group.state, self.group.generation
        self.take(self.group.on_loaded(self.now))

    def _committed(self) -> list[Written]:
        """Up to the first record that is not committed yet."""
        first = next((at for at, one in enumerate(self.written) if one.batch in self.uncommitted), len(self.written))
        return self.written[:first]

    def _rebuilt(self, log: list[Written]) -> ClassicGroup:
        group = ClassicGroup("g", self.config)
        for one in log:
            group.replay(one.record)
        return group

    # --- what always holds --------------------------------------------------------------------------------------------

    @invariant()
    def a_group_rebuilt_from_its_log_is_the_one_that_was_logged_last(self) -> None:
        log = self._committed()
        rebuilt = self._rebuilt(log)
        expected = log[-1].summary if log else NOBODY
        assert summary_of(rebuilt) == expected
        assert rebuilt.state is (STABLE if expected["members"] else EMPTY)

    @invariant()
    def what_was_not_logged_is_lost(self) -> None:
        log = self._committed()
        rebuilt = self._rebuilt(log)
        rebuilt.on_loaded(self.now)
        assert not rebuilt.roster.pending
        assert not any(member.is_parked or member.is_new for member in rebuilt.roster)
        if rebuilt.state is not STABLE:
            assert not len(rebuilt.roster) or len(rebuilt.roster) > self.config.max_size
            return
        due = {member.member_id: self.now + member.session_timeout_us for member in rebuilt.roster}
        assert {member_id: rebuilt.session_due(member_id) for member_id in due} == due
        assert rebuilt.deadline == min(due.values()), "something else is armed"


TestLoggedGroup = LoggedGroup.TestCase
TestLoggedGroup.settings = settings(
    max_examples=100, stateful_step_count=40, derandomize=True, deadline=None, database=None
)
