"""Paths of what consumers and brokers keep in ZooKeeper (``ZkUtils``, ``ZKGroupDirs``, Kafka 0.8.2)."""

from __future__ import annotations

BROKERS = "/brokers/ids"
TOPICS = "/brokers/topics"


def parent(path: str) -> str:
    """The path above; of the root, nothing."""
    return path[: path.rindex("/")]


def broker(number: int) -> str:
    """Of a broker."""
    return f"{BROKERS}/{number}"


def topic(name: str) -> str:
    """Of a topic's partitions."""
    return f"{TOPICS}/{name}"


def ids(group: str) -> str:
    """Below it are the consumers of a group."""
    return f"/consumers/{group}/ids"


def consumer(group: str, consumer_id: str) -> str:
    """Of one consumer's registration."""
    return f"{ids(group)}/{consumer_id}"


def owner(group: str, name: str, partition: int) -> str:
    """Of who owns a partition."""
    return f"/consumers/{group}/owners/{name}/{partition}"


def offset(group: str, name: str, partition: int) -> str:
    """Of a committed offset."""
    return f"/consumers/{group}/offsets/{name}/{partition}"
