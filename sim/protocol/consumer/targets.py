"""The computation of targets: when, by which server assignor, and what of it is written.

Source: ``GroupMetadataManager.maybeUpdateTargetAssignment``, ``TargetAssignmentBuilder``,
``ConsumerGroup.computePreferredServerAssignor`` (Kafka 4.4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from groupsim.assignors import AssignorError
from groupsim.assignors.java.hash_table import HashTable
from groupsim.assignors.java.ordering import fold, string_hash
from groupsim.sim.protocol.consumer.assigning import AssignorInput, TargetAssignor
from groupsim.sim.protocol.consumer.core import GroupCore
from groupsim.sim.protocol.consumer.records import (
    ConsumerGroupTargetAssignmentMember,
    ConsumerGroupTargetAssignmentMetadata,
    TargetEpoch,
)
from groupsim.sim.protocol.consumer.refusals import Refused
from groupsim.sim.protocol.consumer.topics import SubscribedTopics
from groupsim.sim.protocol.facts import TargetComputed
from groupsim.sim.protocol.messages import NO_PARTITIONS, Error, Positions


class Targets:
    """Targets of one group.

    Parameters
    ----------
    core : GroupCore
    topics : SubscribedTopics
    assignors : mapping of str to TargetAssignor
        By name; which of them the broker offers, and in which order, is its configuration.
    """

    def __init__(self, core: GroupCore, topics: SubscribedTopics, assignors: Mapping[str, TargetAssignor]) -> None:
        self._core = core
        self._topics = topics
        self._assignors = assignors

    @property
    def preferred_assignor(self) -> str:
        """The name that most members have named; without votes, the broker's first."""
        votes = self._core.roster.votes
        if not votes:
            return self._core.config.consumer_assignors[0]
        most = max(votes.values())
        return _first_in_java([name for name, count in votes.items() if count == most])

    @property
    def wanted_us(self) -> int:
        """From when on a heartbeat computes that finds the target behind (KIP-1263); nothing happens by itself then."""
        target, interval = self._core.roster.target, self._core.assignment_interval_us
        return target.timestamp_us + interval if target.timestamp_us and interval else 0

    def is_wanted(self, now: int) -> bool:
        """Whether a heartbeat at ``now`` computes."""
        roster = self._core.roster
        return roster.group.epoch > roster.target.epoch and now >= self.wanted_us

    def compute(self, now: int) -> None:
        """Compute all targets for the group epoch, and write those that have changed.

        Raises
        ------
        Refused
            UNKNOWN_SERVER_ERROR: the assignor throws.
        """
        core, given, assignor = self._core, self._input(), self.preferred_assignor
        try:
            computed = self._assignors[assignor](given)
        except AssignorError as failure:
            raise Refused(Error.UNKNOWN_SERVER_ERROR, f"Failed to compute a new target assignment: {failure}") from None
        changed = _changed(given.targets, computed.targets)
        news = []
        for at, member_id in enumerate(given.member_ids):
            if changed[at] or member_id not in core.roster.targets:
                core.write(ConsumerGroupTargetAssignmentMember(member_id, computed.targets[at]))
                news.append((member_id, computed.targets[at]))
        epoch = core.roster.group.epoch
        core.write(ConsumerGroupTargetAssignmentMetadata(TargetEpoch(epoch, max(now + computed.charged_us, 1))))
        core.charge(computed.charged_us)
        core.note(TargetComputed(epoch, assignor, tuple(news)))

    def _input(self) -> AssignorInput:
        roster = self._core.roster
        members = list(roster)
        kinds: dict[tuple[str, ...], int] = {}
        place = {one: kinds.setdefault(self._topics.names_of(one), len(kinds)) for one in roster.subscriptions}
        return AssignorInput(
            tuple([one.member_id for one in members]),
            tuple([one.metadata.instance_id for one in members]),
            tuple([one.metadata.rack for one in members]),
            tuple(kinds),
            np.array([place[one.subscribed] for one in members], np.int32),
            tuple([roster.target_of(one.member_id).told for one in members]),
            self._topics.image,
            roster.mixes_patterns,
        )


def _changed(before: Sequence[Positions], after: Sequence[Positions]) -> NDArray[np.bool_]:
    """Which members' targets are other sets of partitions. Shape (n_members,)."""
    n_members = len(before)
    old, new = _holders(before), _holders(after)
    size = max(len(old), len(new))
    old = np.concatenate([old, np.full(size - len(old), n_members, np.int64)])
    new = np.concatenate([new, np.full(size - len(new), n_members, np.int64)])
    other = old != new
    changed = np.zeros(n_members + 1, np.bool_)
    changed[old[other]] = changed[new[other]] = True
    return changed[:-1]


def _holders(targets: Sequence[Positions]) -> NDArray[np.int64]:
    """Index of the member that is to have each position, the number of members for nobody."""
    flat = np.concatenate([NO_PARTITIONS, *targets])
    holders = np.full(int(flat.max()) + 1 if flat.size else 0, len(targets), np.int64)
    holders[flat] = np.repeat(np.arange(len(targets)), [len(one) for one in targets])
    return holders


def _first_in_java(names: Sequence[str]) -> str:
    """The one that a Java ``HashMap`` yields first."""
    table: HashTable[str] = HashTable()
    for name in sorted(names):
        table.put(name, fold(string_hash(name)))
    return table.first()
