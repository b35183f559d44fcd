"""A consumer group at its coordinator, whatever its members, its log, its topics and its brokers do.

Members are of the consumer protocol: they beat, take over what they are told when they like, miss answers, leave, come
back, die. The log can refuse a batch and the group can move to another broker.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from groupsim.sim.protocol.consumer.group import ConsumerGroup
from groupsim.sim.protocol.consumer.messages import LEAVE_EPOCH, STATIC_LEAVE_EPOCH, ConsumerGroupHeartbeatResponse
from groupsim.sim.protocol.consumer.states import GroupState, MemberState
from groupsim.sim.protocol.facts import TargetComputed
from groupsim.sim.protocol.messages import Error
from groupsim.sim.units import FOREVER, S
from tests.unit.sim.protocol.consumer_groups import Coordination

pytestmark = pytest.mark.property

VERSIONS = ("4.0", "4.1", "4.2", "4.3", "4.4")
NAMES = ("a", "b", "c", "d")
TOPICS = st.sets(st.sampled_from(("t", "u", "v")), max_size=3).map(lambda names: tuple(sorted(names)))
PATTERNS = ("t|u", "v.*", ".*")
SESSION_S, INTERVAL_S = 45, 5
FENCED = {Error.UNKNOWN_MEMBER_ID, Error.FENCED_MEMBER_EPOCH, Error.GROUP_ID_NOT_FOUND, Error.FENCED_INSTANCE_ID}


@dataclass
class Client:
    """What one process knows: its id, the epoch that it was told, what it owns and what it was told to own."""

    name: str
    is_static: bool
    starts: int = 0
    epoch: int = 0
    is_in: bool = False
    owned: set[int] = field(default_factory=set)
    told: set[int] = field(default_factory=set)
    topics: tuple[str, ...] = ("t",)
    pattern: str | None = None

    @property
    def member_id(self) -> str:
        return f"{self.name}-{self.starts}"

    @property
    def instance_id(self) -> str | None:
        return self.name if self.is_static else None

    def heard(self, answer: ConsumerGroupHeartbeatResponse) -> None:
        """What it must no longer own it gives up when it takes the assignment over; what it gets, it owns then."""
        if answer.error in FENCED:
            self.lost()
        elif answer.error is Error.NONE:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.told = set(answer.assignment.tolist())

    def lost(self) -> None:
        self.epoch, self.is_in, self.owned, self.told = 0, False, set(), set()


def durable(group: ConsumerGroup) -> dict[str, Any]:
    """All that the log has to keep of a group (reference 2.4)."""
    roster = group.roster
    return {
        "exists": roster.exists,
        "group": roster.group,
        "target": roster.target,
        "static": dict(roster.static),
        "patterns": dict(roster.patterns),
        "targets": {one: target.told.tolist() for one, target in sorted(roster.targets.items())},
        "members": {
            one.member_id: (
                one.metadata, one.current.member_epoch, one.current.previous_epoch, one.current.state,
                one.current.assigned.tolist(), one.current.assigned_epochs.tolist(),
                one.current.pending.tolist(), one.current.pending_epochs.tolist(),
            )
            for one in sorted(roster, key=lambda one: one.member_id)
        },
        "held": {int(p): int(roster.held.epochs[p]) for p in np.flatnonzero(roster.held.epochs != -1)},
        "derived": (
            roster.state, dict(roster.subscriptions), dict(roster.votes), dict(roster._stable_at), roster.has_patterns
        ),
    }  # fmt: skip


class ConsumerGroupOfAnybody(RuleBasedStateMachine):
    """One group, four processes, three topics."""

    @initialize(
        version=st.sampled_from(VERSIONS),
        interval_s=st.sampled_from((0, 1, 5)),
        statics=st.sets(st.sampled_from(NAMES)),
    )
    def start(self, version: str, interval_s: int, statics: set[str]) -> None:
        self.version = version
        self.run = Coordination(
            version, {"t": 3, "u": 2}, consumer_assignment_interval_us=interval_s * S, consumer_max_size=3
        )
        self.undone: set[str] = set()
        """Members that had something undone: as in Kafka, their timers are not."""
        self.clients = {name: Client(name, name in statics) for name in NAMES}

    # --- what a process does ------------------------------------------------------------------------------------------

    def send(self, client: Client, epoch: int, *, hears: bool = True, **fields: Any) -> ConsumerGroupHeartbeatResponse:
        before = durable(self.run.group)
        self.run.answers.pop(client.member_id, None)
        answer = self.run.beat(client.member_id, epoch, instance_id=client.instance_id, **fields)
        if answer.error is not Error.NONE:
            assert durable(self.run.group) == before, "an error has changed something"
            assert self.run.outcome.batch is None
        self.check_targets()
        if hears:
            client.heard(answer)
        return answer

    def join(self, client: Client, *, hears: bool = True) -> None:
        client.owned, client.told = set(), set()
        answer = self.send(
            client, 0, hears=hears, owned=(), rebalance_timeout_us=60 * S, topics=client.topics, pattern=client.pattern
        )
        client.is_in = answer.error is Error.NONE and hears
        if not client.is_in and hears:
            client.lost()

    @rule(name=st.sampled_from(NAMES), topics=TOPICS, pattern=st.sampled_from((None, None, *PATTERNS)))
    def joins(self, name: str, topics: tuple[str, ...], pattern: str | None) -> None:
        client = self.clients[name]
        if not client.is_in:
            client.topics, client.pattern = topics, pattern
            self.join(client)

    @rule(name=st.sampled_from(NAMES), hears=st.booleans())
    def beats(self, name: str, hears: bool) -> None:
        client = self.clients[name]
        if client.is_in:
            self.send(client, client.epoch, hears=hears)

    @rule(name=st.sampled_from(NAMES), hears=st.booleans())
    def acknowledges(self, name: str, hears: bool) -> None:
        client = self.clients[name]
        if client.is_in:
            client.owned = set(client.told)
            self.send(client, client.epoch, hears=hears, owned=sorted(client.owned))

    @rule(name=st.sampled_from(NAMES))
    def repeats_everything(self, name: str) -> None:
        """After an error or a time-out: a full request."""
        client = self.clients[name]
        if client.is_in:
            self.send(
                client, client.epoch, owned=sorted(client.owned), rebalance_timeout_us=60 * S, topics=client.topics,
                pattern=client.pattern,
            )  # fmt: skip

    @rule(name=st.sampled_from(NAMES))
    def joins_again_under_its_id(self, name: str) -> None:
        if self.clients[name].is_in and not self.clients[name].is_static:
            self.join(self.clients[name])

    @rule(name=st.sampled_from(NAMES), topics=TOPICS, pattern=st.sampled_from(("", *PATTERNS)))
    def subscribes(self, name: str, topics: tuple[str, ...], pattern: str) -> None:
        client = self.clients[name]
        if client.is_in:
            client.topics, client.pattern = topics, pattern
            self.send(client, client.epoch, topics=topics, pattern=pattern)

    @rule(name=st.sampled_from(NAMES), assignor=st.sampled_from(("uniform", "range")))
    def votes(self, name: str, assignor: str) -> None:
        if self.clients[name].is_in:
            self.send(self.clients[name], self.clients[name].epoch, server_assignor=assignor)

    @rule(name=st.sampled_from(NAMES), for_good=st.booleans())
    def leaves(self, name: str, for_good: bool) -> None:
        client = self.clients[name]
        if client.is_in:
            self.send(client, LEAVE_EPOCH if for_good or not client.is_static else STATIC_LEAVE_EPOCH)
            client.lost()
            client.starts += 1

    @rule(name=st.sampled_from(NAMES))
    def dies(self, name: str) -> None:
        self.clients[name].lost()
        self.clients[name].starts += 1

    @rule(name=st.sampled_from(NAMES), back=st.integers(0, 3))
    def commits(self, name: str, back: int) -> None:
        """What a member commits of what it owns, with its own epoch or an older one, is taken or is stale."""
        client = self.clients[name]
        if client.is_in and client.epoch > back:
            error = self.run.commit(client.member_id, client.epoch - back, *sorted(client.owned))
            assert error in (Error.NONE, Error.STALE_MEMBER_EPOCH, Error.UNKNOWN_MEMBER_ID, Error.GROUP_ID_NOT_FOUND)

    # --- what brokers do ----------------------------------------------------------------------------------------------

    @rule(duration_us=st.sampled_from((S // 10, S, 4 * S, 20 * S, 46 * S)))
    def time_passes(self, duration_us: int) -> None:
        self.run.sleep(duration_us)

    @rule(topic=st.sampled_from(("t", "u", "v")), partitions=st.sampled_from((0, 2, 3, 5)))
    def topics_change(self, topic: str, partitions: int) -> None:
        self.run.see(**{topic: max(partitions, self.run.image.get(topic, 0) if partitions else 0)})

    @precondition(lambda self: self.run.tasks)
    @rule()
    def a_task_is_done(self) -> None:
        self.run.run_task()

    @precondition(lambda self: self.run.group._core.journal.uncommitted)
    @rule(data=st.data())
    def the_log_has_some(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.run.group._core.journal.uncommitted)))
        assert self.run.group.on_appended(self.run.now, number, Error.NONE).facts == []

    @precondition(lambda self: self.run.group._core.journal.uncommitted)
    @rule()
    def the_log_refuses_the_last(self) -> None:
        """Its answer never goes out; whoever asked asks everything again, from what it knows."""
        batch = self.run.records[-1]
        if batch.number not in self.run.group._core.journal.uncommitted:
            return
        self.run.fail_append()
        self.undone |= {getattr(record, "member_id", "") for record in batch.records}
        for reply in batch.replies:
            client = next((one for one in self.clients.values() if one.member_id == reply.waiter), None)
            if client is not None:
                client.lost()
                client.starts += 1

    @rule()
    def the_group_moves(self) -> None:
        group = self.run.group
        self.run.move()
        self.undone.clear()
        assert (group.state, group.deadline) == (GroupState.DEAD, FOREVER)
        self.run.tasks.clear()
        due = {one.member_id: self.run.now + SESSION_S * S for one in self.run.group.roster}
        assert {one: self.run.group.session_due(one) for one in due} == due

    # --- what always holds --------------------------------------------------------------------------------------------

    def check_targets(self) -> None:
        """A target that has just been computed is legal."""
        if not any(isinstance(fact, TargetComputed) for fact in self.run.outcome.facts):
            return
        roster = self.run.group.roster
        given = [part for target in roster.targets.values() for part in target.told.tolist()]
        assert len(given) == len(set(given)), "two members are to own one partition"
        assert roster.targets.keys() == roster.members.keys()
        for member in roster:
            names = set(self.run.group._topics.names_of(member.subscribed))
            legal = {
                part for name in names for part in self.run.topics.of(name)[: self.run.image.get(name, 0)].tolist()
            }
            assert set(roster.target_of(member.member_id).positions.tolist()) <= legal

    @invariant()
    def what_the_log_says_is_the_group(self) -> None:
        assert durable(self.run.rebuilt()) == durable(self.run.group)

    @invariant()
    def no_partition_has_two_owners(self) -> None:
        """By what the coordinator gives out, and by what processes that it still knows really own."""
        roster, given, owned = self.run.group.roster, [], []
        for member in roster:
            given += [*member.current.assigned.tolist(), *member.current.pending.tolist()]
        assert len(given) == len(set(given))
        for client in self.clients.values():
            if client.is_in and client.member_id in roster.members:
                owned += [*client.owned]
        assert len(owned) == len(set(owned))

    @invariant()
    def epochs_are_valid(self) -> None:
        roster = self.run.group.roster
        assert roster.target.epoch <= roster.group.epoch
        for member in roster:
            current = member.current
            assert current.member_epoch == STATIC_LEAVE_EPOCH or 0 <= current.member_epoch <= roster.target.epoch
            held = np.concatenate([current.assigned, current.pending])
            assert (roster.held.epochs[held] == current.member_epoch).all()
            assert (current.assigned_epochs <= max(roster.target.epoch, 0)).all()
            assert (np.diff(current.assigned) > 0).all()
            assert (np.diff(current.pending) > 0).all()
            assert not (current.pending.size and current.state is not MemberState.UNREVOKED_PARTITIONS)
        n_held = sum(len(one.current.assigned) + len(one.current.pending) for one in roster)
        assert np.count_nonzero(roster.held.epochs != -1) == n_held

    @invariant()
    def stable_means_stable(self) -> None:
        group = self.run.group
        if group.state is not GroupState.STABLE:
            return
        for member in group.roster:
            assert member.epoch == group.roster.target.epoch
            assert not member.current.pending.size
            assert set(member.current.assigned.tolist()) <= set(group.roster.target_of(member.member_id).told.tolist())

    @invariant()
    def only_members_have_timers(self) -> None:
        group, timers = self.run.group, self.run.group._core.timers
        known = set(group.roster.members)
        assert set(timers._sessions._due) <= known
        assert set(timers._sessions._due) >= known - self.undone, "a member whose session never ends"
        waiting = {one.member_id for one in group.roster if one.current.state is MemberState.UNREVOKED_PARTITIONS}
        assert set(timers._rebalances._due) <= waiting | self.undone

    def teardown(self) -> None:
        if hasattr(self, "run"):
            self.converges_once_faults_stop()

    def converges_once_faults_stop(self) -> None:
        """Within a session timeout for the dead, the refresh and the assignment interval, and four rounds of beats."""
        self.the_group_moves()
        end = self.run.now + (SESSION_S + 10 + 5 + 4 * INTERVAL_S) * S
        while self.run.now < end:
            self.run.sleep(INTERVAL_S * S)
            for client in self.clients.values():
                if client.is_in:
                    self.beats(client.name, True)
                    self.acknowledges(client.name, True)
            while self.run.tasks:
                self.run.run_task()
        group, live = self.run.group, {one.member_id: one for one in self.clients.values() if one.is_in}
        assert set(group.roster.members) == set(live)
        assert group.state in (GroupState.STABLE, GroupState.EMPTY)
        for member_id, client in live.items():
            assert sorted(client.owned) == self.run.target(member_id), "not what it is to own"
        wanted = {
            part for member in group.roster for name in group._topics.names_of(member.subscribed)
            for part in self.run.topics.of(name)[: self.run.image.get(name, 0)].tolist()
        }  # fmt: skip
        assert wanted == {part for client in live.values() for part in client.owned}, "a partition without an owner"


TestConsumerGroup = ConsumerGroupOfAnybody.TestCase
TestConsumerGroup.settings = settings(
    max_examples=100, stateful_step_count=40, derandomize=True, deadline=None, database=None
)
