"""kafka-python's assignors, where that package is installed, for comparing how long they take."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType, SimpleNamespace
from typing import Any, Final

from assignors import GroupSnapshot

_CLASSES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "range": ("range", "RangePartitionAssignor"),
        "roundrobin": ("roundrobin", "RoundRobinPartitionAssignor"),
        "sticky": ("sticky.sticky_assignor", "StickyPartitionAssignor"),
        "cooperative-sticky": ("cooperative_sticky", "CooperativeStickyAssignor"),
    }
)


def first_assignment(name: str, group: GroupSnapshot) -> Callable[[], Any] | None:
    """What assigns a group in which nobody owns anything; None if kafka-python has no such assignor, or is not here.

    Parameters
    ----------
    name : str
    group : GroupSnapshot
    """
    if name not in _CLASSES or find_spec("kafka") is None:
        return None
    module, attribute = _CLASSES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it reads its schemas with what Python is about to drop
        assignor = getattr(import_module(f"kafka.coordinator.assignors.{module}"), attribute)()
        members = [
            SimpleNamespace(member_id=one.member_id, group_instance_id=None, metadata=assignor.metadata(one.topics))
            for one in group.members
        ]
    counts = dict(zip(group.topics.names, group.topics.counts, strict=True))
    numbers = {name: set(range(count)) for name, count in counts.items()}
    cluster = SimpleNamespace(topics=lambda: set(numbers), partitions_for_topic=numbers.get)
    return lambda: assignor.assign(cluster, members)
