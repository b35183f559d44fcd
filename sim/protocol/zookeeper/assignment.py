"""Which partitions a consumer of 0.8.2 works out to be its own, from what it has read.

One stream a consumer: the thread ``C-0`` of consumer ``C``. Threads are in the order of these texts, so that a host
``x-10`` comes before ``x-2`` (``ConsumerThreadId.compare``).
"""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.assignors.java.ordering import string_hash

Place = tuple[str, int]
"""A topic and a partition of it."""


def thread_of(consumer_id: str) -> str:
    """The only thread of a consumer: what is written into owner nodes."""
    return f"{consumer_id}-0"


def part_of(
    consumer_id: str, strategy: str, subscriptions: Mapping[str, tuple[str, ...]], partitions: Mapping[str, int]
) -> list[Place]:
    """What a consumer claims.

    Parameters
    ----------
    consumer_id : str
    strategy : {"range", "roundrobin"}
        ``RoundRobinAssignor`` and ``RangeAssignor`` of 0.8.2.
    subscriptions : mapping of str to tuple of str
        Topics of each consumer of the group, by id.
    partitions : mapping of str to int
        Topic -> number of partitions, of topics that exist.

    Raises
    ------
    ValueError
        Roundrobin, and not everybody subscribes to the same topics.
    """
    mine = subscriptions[consumer_id]
    if strategy == "roundrobin":
        return _dealt(consumer_id, subscriptions, {topic: partitions.get(topic, 0) for topic in mine})
    return [place for topic in mine for place in _range(consumer_id, topic, subscriptions, partitions.get(topic, 0))]


def _range(consumer_id: str, topic: str, subscriptions: Mapping[str, tuple[str, ...]], count: int) -> list[Place]:
    readers = sorted((one for one, topics in subscriptions.items() if topic in topics), key=thread_of)
    position, (each, more) = readers.index(consumer_id), divmod(count, len(readers))
    first = each * position + min(position, more)
    return [(topic, number) for number in range(first, first + each + (position < more))]


def _dealt(
    consumer_id: str, subscriptions: Mapping[str, tuple[str, ...]], partitions: Mapping[str, int]
) -> list[Place]:
    if len({frozenset(topics) for topics in subscriptions.values()}) > 1:
        raise ValueError("Round-robin assignment is allowed only if all consumers subscribe to the same topics")
    readers = sorted(subscriptions, key=thread_of)
    everything = [(topic, number) for topic in sorted(partitions) for number in range(partitions[topic])]
    everything.sort(key=_hash)
    return [place for index, place in enumerate(everything) if readers[index % len(readers)] == consumer_id]


def _hash(place: Place) -> int:
    """``TopicAndPartition.toString.hashCode``, as a signed number."""
    code = string_hash(f"[{place[0]},{place[1]}]") & 0xFFFFFFFF
    return code - (1 << 32) if code >> 31 else code
