"""random: every partition goes to a subscriber drawn by lot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from groupsim.assignors.core.input_types import is_whole, require
from groupsim.assignors.core.interface import Assignor, Promise
from groupsim.assignors.core.snapshot import NOTHING, Assignment, GroupSnapshot, Positions, Topics
from groupsim.assignors.java.ordering import sort_order, string_hash

_STEP = np.uint64(0x9E3779B97F4A7C15)


class RandomAssignor(Assignor):
    """Draws an owner for each partition from its subscribers, independently and evenly: neither balanced nor sticky.

    A draw is a hash of seed, generation, topic and partition number, so it does not depend on what else is assigned,
    and every generation draws anew. Kafka has no such assignor: it is the worst case to compare with.

    Parameters
    ----------
    seed : int
        Equal seeds give equal draws.

    Raises
    ------
    InvalidSnapshot
        The seed is no whole number.
    """

    name: ClassVar[str] = "random"
    exceptions: ClassVar[Mapping[Promise, str]] = {
        Promise.BALANCED: "lots are even in the long run only",
        Promise.BALANCED_PER_TOPIC: "lots are even in the long run only",
        Promise.STICKY: "every generation draws anew",
        Promise.STEADY: "every generation draws anew",
    }

    def __init__(self, *, seed: int = 0) -> None:
        require(is_whole(seed), "a seed", "a whole number", seed)
        self.seed = seed

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        """Draw an owner for each partition; see `Assignor.assign`."""
        topics, members, generation = snapshot.topics, lots_order(snapshot), generation_of(snapshot)
        owners, positions = [NOTHING], [NOTHING]
        for topic in snapshot.subscriptions.subscribed_topics:
            subscribers = snapshot.subscriptions.subscribers(topic, members)
            owners.append(subscribers[lots(topics, topic, self.seed, generation) % np.uint64(len(subscribers))])
            positions.append(np.arange(topics.first[topic], topics.first[topic + 1], dtype=np.int32))
        return Assignment.of_pairs(topics, snapshot.n_members, np.concatenate(owners), np.concatenate(positions))


def lots_order(snapshot: GroupSnapshot) -> Positions:
    """Member indices in the order in which a lot counts subscribers: by id."""
    return np.array(sort_order(snapshot.member_ids), dtype=np.int32)


def lots(topics: Topics, topic: int, seed: int, generation: int) -> npt.NDArray[np.uint64]:
    """The lot of each partition of a topic, to be divided by the number of subscribers; shape (partitions,)."""
    numbers = np.arange(topics.counts[topic], dtype=np.uint64)
    return _draws(numbers, seed, generation, string_hash(topics.names[topic]))


def generation_of(snapshot: GroupSnapshot) -> int:
    """The latest generation that a member tells of; 0 for none."""
    return max((member.generation or 0 for member in snapshot.members), default=0)


def _draws(numbers: npt.NDArray[np.uint64], *key: int) -> npt.NDArray[np.uint64]:
    """One 64-bit draw per number, keyed by all the integers of `key`."""
    state = np.zeros(1, dtype=np.uint64)
    for part in key:
        state = _mix(state + np.uint64(part & 0xFFFFFFFFFFFFFFFF) + _STEP)
    return _mix(state + (numbers + np.uint64(1)) * _STEP)


def _mix(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Scramble 64-bit numbers; the finalizer of SplitMix64 (Steele, Lea, Flood 2014)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
