"""Partition assignors of Apache Kafka 4.4 as pure functions, and a registry for more.

An assignor turns a `GroupSnapshot` into an `Assignment`. It knows nothing of time.
"""

from __future__ import annotations

from groupsim.assignors.broadcast import BroadcastAssignor
from groupsim.assignors.cooperative_sticky import CooperativeStickyAssignor, CooperativeStickyUserData
from groupsim.assignors.errors import (
    AssignorError,
    InvalidAssignment,
    InvalidSnapshot,
    KafkaAssignorEndless,
    KafkaAssignorFailure,
    UnknownAssignor,
)
from groupsim.assignors.interface import Assignor, Promise, Protocol, Side
from groupsim.assignors.leader_rack import LeaderRackAssignor
from groupsim.assignors.random_assignor import RandomAssignor
from groupsim.assignors.range_assignor import RangeAssignor
from groupsim.assignors.registry import (
    ASSIGNORS,
    SERVER_ASSIGNORS,
    create,
    create_server,
    installed,
    load_class,
    load_classes,
)
from groupsim.assignors.round_robin import RoundRobinAssignor
from groupsim.assignors.server.group_spec import GroupSpec
from groupsim.assignors.server.member_names import MemberNames
from groupsim.assignors.server.range_assignor import ServerRangeAssignor
from groupsim.assignors.server.server_assignor import ServerAssignor
from groupsim.assignors.server.topic_ids import TopicIds
from groupsim.assignors.server.uniform import UniformAssignor
from groupsim.assignors.snapshot import (
    NOTHING,
    Assignment,
    GroupSnapshot,
    MemberSubscription,
    Positions,
    Topics,
    positions_of,
)
from groupsim.assignors.sticky import StickyAssignor, StickyUserData
from groupsim.assignors.weighted import WeightedAssignor

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
