"""Partition assignors of Apache Kafka 4.4 as pure functions, and a registry for more.

An assignor turns a `GroupSnapshot` into an `Assignment`. It knows nothing of time.
"""

from __future__ import annotations

from assignors.broadcast import BroadcastAssignor
from assignors.cooperative_sticky import CooperativeStickyAssignor, CooperativeStickyUserData
from assignors.errors import (
    AssignorError,
    InvalidAssignment,
    InvalidSnapshot,
    KafkaAssignorEndless,
    KafkaAssignorFailure,
    UnknownAssignor,
)
from assignors.interface import Assignor, Promise, Protocol, Side
from assignors.leader_rack import LeaderRackAssignor
from assignors.random_assignor import RandomAssignor
from assignors.range_assignor import RangeAssignor
from assignors.registry import ASSIGNORS, SERVER_ASSIGNORS, create, create_server, installed, load_class, load_classes
from assignors.round_robin import RoundRobinAssignor
from assignors.server.group_spec import GroupSpec
from assignors.server.member_names import MemberNames
from assignors.server.range_assignor import ServerRangeAssignor
from assignors.server.server_assignor import ServerAssignor
from assignors.server.topic_ids import TopicIds
from assignors.server.uniform import UniformAssignor
from assignors.snapshot import NOTHING, Assignment, GroupSnapshot, MemberSubscription, Positions, Topics, positions_of
from assignors.sticky import StickyAssignor, StickyUserData
from assignors.weighted import WeightedAssignor

__all__ = [
    "ASSIGNORS",
    "NOTHING",
    "SERVER_ASSIGNORS",
    "Assignment",
    "Assignor",
    "AssignorError",
    "BroadcastAssignor",
    "CooperativeStickyAssignor",
    "CooperativeStickyUserData",
    "GroupSnapshot",
    "GroupSpec",
    "InvalidAssignment",
    "InvalidSnapshot",
    "KafkaAssignorEndless",
    "KafkaAssignorFailure",
    "LeaderRackAssignor",
    "MemberNames",
    "MemberSubscription",
    "Positions",
    "Promise",
    "Protocol",
    "RandomAssignor",
    "RangeAssignor",
    "RoundRobinAssignor",
    "ServerAssignor",
    "ServerRangeAssignor",
    "Side",
    "StickyAssignor",
    "StickyUserData",
    "TopicIds",
    "Topics",
    "UniformAssignor",
    "UnknownAssignor",
    "WeightedAssignor",
    "create",
    "create_server",
    "installed",
    "load_class",
    "load_classes",
    "positions_of",
]
