"""Partition assignors of Apache Kafka 4.4 as pure functions, and a registry for more.

An assignor turns a `GroupSnapshot` into an `Assignment`. It knows nothing of time.
"""

from __future__ import annotations

from assignors.broadcast import BroadcastAssignor
from assignors.cooperative_sticky import CooperativeStickyAssignor, CooperativeStickyUserData
from assignors.errors import AssignorError, InvalidAssignment, InvalidSnapshot, KafkaAssignorFailure, UnknownAssignor
from assignors.interface import Assignor, Promise, Protocol
from assignors.random_assignor import RandomAssignor
from assignors.range_assignor import RangeAssignor
from assignors.registry import ASSIGNORS, create, installed, load_class
from assignors.round_robin import RoundRobinAssignor
from assignors.snapshot import NOTHING, Assignment, GroupSnapshot, MemberSubscription, Positions, Topics, positions_of
from assignors.sticky import StickyAssignor, StickyUserData

__all__ = [
    "ASSIGNORS",
    "NOTHING",
    "Assignment",
    "Assignor",
    "AssignorError",
    "BroadcastAssignor",
    "CooperativeStickyAssignor",
    "CooperativeStickyUserData",
    "GroupSnapshot",
    "InvalidAssignment",
    "InvalidSnapshot",
    "KafkaAssignorFailure",
    "MemberSubscription",
    "Positions",
    "Promise",
    "Protocol",
    "RandomAssignor",
    "RangeAssignor",
    "RoundRobinAssignor",
    "StickyAssignor",
    "StickyUserData",
    "Topics",
    "UnknownAssignor",
    "create",
    "installed",
    "load_class",
    "positions_of",
]
