"""Partition assignors of Apache Kafka 4.4 as pure functions, and a registry for more.

An assignor turns a `GroupSnapshot` into an `Assignment`. It knows nothing of time.
"""

from __future__ import annotations

from groupsim.assignors.client.cooperative_sticky import CooperativeStickyAssignor, CooperativeStickyUserData
from groupsim.assignors.client.range_assignor import RangeAssignor
from groupsim.assignors.client.round_robin import RoundRobinAssignor
from groupsim.assignors.client.sticky import StickyAssignor, StickyUserData
from groupsim.assignors.core.errors import (
    AssignorError,
    InvalidAssignment,
    InvalidSnapshot,
    KafkaAssignorEndless,
    KafkaAssignorFailure,
    UnknownAssignor,
)
from groupsim.assignors.core.interface import Assignor, Promise, Protocol, Side
from groupsim.assignors.core.snapshot import (
    NOTHING,
    Assignment,
    GroupSnapshot,
    MemberSubscription,
    Positions,
    Topics,
    positions_of,
)
from groupsim.assignors.own.broadcast import BroadcastAssignor
from groupsim.assignors.own.leader_rack import LeaderRackAssignor
from groupsim.assignors.own.random_assignor import RandomAssignor
from groupsim.assignors.own.weighted import WeightedAssignor
from groupsim.assignors.registry import (
    ASSIGNORS,
    SERVER_ASSIGNORS,
    create,
    create_server,
    installed,
    load_class,
    load_classes,
)
from groupsim.assignors.server.group_spec import GroupSpec
from groupsim.assignors.server.member_names import MemberNames
from groupsim.assignors.server.range_assignor import ServerRangeAssignor
from groupsim.assignors.server.server_assignor import ServerAssignor
from groupsim.assignors.server.topic_ids import TopicIds
from groupsim.assignors.server.uniform import UniformAssignor

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
