"""kafka-python's assignors, where that package is installed, for comparing how long they take."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import FrameType, MappingProxyType, SimpleNamespace
from typing import Any, Final

from groupsim.assignors import GroupSnapshot, MemberSubscription, StickyUserData, Topics

_CLASSES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "range": ("range", "RangePartitionAssignor"),
        "roundrobin": ("roundrobin", "RoundRobinPartitionAssignor"),
        "sticky": ("sticky.sticky_assignor", "StickyPartitionAssignor"),
        "cooperative-sticky": ("cooperative_sticky", "CooperativeStickyAssignor"),
    }
)


def is_installed() -> bool:
    """Whether kafka-python is here: it is an extra of groupsim's, `bench`."""
    return find_spec("kafka") is not None


def has(name: str) -> bool:
    """Whether kafka-python has an assignor of that name."""
    return name in _CLASSES


def assignment(name: str, group: GroupSnapshot) -> Callable[[], Any]:
    """What assigns a group with kafka-python's assignor; its members own what they say.

    Parameters
    ----------
    name : str
        One that it `has`.
    group : GroupSnapshot
    """
    module, attribute = _CLASSES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it reads its schemas with what Python is about to drop
        make = getattr(import_module(f"kafka.coordinator.assignors.{module}"), attribute)
        members = [
            SimpleNamespace(
                member_id=one.member_id, group_instance_id=None, metadata=_metadata(make(), one, group.topics)
            )
            for one in group.members
        ]
    counts = dict(zip(group.topics.names, group.topics.counts, strict=True))
    numbers = {name: set(range(count)) for name, count in counts.items()}
    cluster = SimpleNamespace(topics=lambda: set(numbers), partitions_for_topic=numbers.get)
    leader = make()
    return lambda: leader.assign(cluster, members)


def _metadata(assignor: Any, member: MemberSubscription, topics: Topics) -> Any:
    """A member's subscription as kafka-python sends it, with what it owned."""
    partition = import_module("kafka.structs").TopicPartition
    data = member.user_data
    owned, layout = (data.owned, data.layout) if isinstance(data, StickyUserData) else (member.owned, topics)
    if len(owned):
        names, numbers = layout.topic_of[owned].tolist(), layout.number_of[owned].tolist()
        assignor.member_assignment = [partition(layout.names[at], no) for at, no in zip(names, numbers, strict=True)]
        assignor.generation = 1
    return assignor.metadata(member.topics)


@contextmanager
def at_most(wall_s: float) -> Iterator[None]:
    """Give up what takes longer; in the main thread only.

    A timer of CPU time would make Linux count CPU time in ticks, and all measurements coarse.

    Parameters
    ----------
    wall_s : float

    Raises
    ------
    TimeoutError
        It did.
    """

    def give_up(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"took more than {wall_s} s")

    former = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, wall_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
