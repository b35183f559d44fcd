"""random: every partition goes to a subscriber drawn by lot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from assignors.interface import Assignor, Promise
from assignors.java_order import sort_order, string_hash
from assignors.snapshot import NOTHING, Assignment, GroupSnapshot

_STEP = np.uint64(0x9E3779B97F4A7C15)


class RandomAssignor(Assignor):
    """Draws an owner for each partition from its subscribers, independently and evenly: neither balanced nor sticky.

    A draw is a hash of seed, generation, topic and partition number, so it does not depend on what else is assigned,
    and every generation draws anew. Kafka has no such assignor: it is the worst case to compare with.

    Parameters
    ----------
    seed : int
        Equal seeds give equal draws.
    """

    name: ClassVar[str] = "random"
    exceptions: ClassVar[Mapping[Promise, str]] = {
        Promise.BALANCED: "lots are even in the long run only",
        Promise.BALANCED_PER_TOPIC: "lots are even in the long run only",
        Promise.STICKY: "every generation draws anew",
        Promise.STEADY: "every generation draws anew",
    }

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        """Draw an owner for each partition; see `Assignor.assign`."""
        topics, members = snapshot.topics, np.array(sort_order(snapshot.member_ids), dtype=np.int32)
        generation = max((member.generation or 0 for member in snapshot.members), default=0)
        owners, positions = [NOTHING], [NOTHING]
        for topic in snapshot.subscriptions.subscribed_topics:
            subscribers = snapshot.subscriptions.subscribers(topic, members)
            numbers = np.arange(topics.counts[topic], dtype=np.uint64)
            draws = _draws(numbers, self.seed, generation, string_hash(topics.names[topic]))
            owners.append(subscribers[draws % np.uint64(len(subscribers))])
            positions.append(np.arange(topics.first[topic], topics.first[topic + 1], dtype=np.int32))
        return Assignment.of_pairs(topics, snapshot.n_members, np.concatenate(owners), np.concatenate(positions))


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
