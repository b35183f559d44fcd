"""What a simulation is made of: frozen, validated by the scenario layer, free of file formats.

Entities are named (`group`, `group/3`, `broker:1`, `rack:a`); entries of the timeline have ids. Every random draw is
keyed by these names, never by positions in a list.
"""

from __future__ import annotations

from groupsim.sim.distributions import ZERO, Distribution
from groupsim.sim.model.cluster import Broker, Cluster, Link, Network, Zookeeper
from groupsim.sim.model.groups import Group, Members, Override, Processing, Produces, Start, Subscription
from groupsim.sim.model.producers import Producers
from groupsim.sim.model.reading import appended_topics, deleted_topics, outputs_of, read_as_flow, topics_read
from groupsim.sim.model.scenario import RECORDS_MAX, Entry, Scenario
from groupsim.sim.model.targets import Target
from groupsim.sim.model.topics import Rate, Topic
from groupsim.sim.model.verbs import (
    AddPartitions,
    Close,
    Closing,
    CrashAt,
    CrashPoint,
    CreateTopic,
    Cut,
    DeleteGroup,
    DeleteOffsets,
    DeleteTopic,
    ElectLeaders,
    GcPause,
    Kill,
    Reassign,
    Restart,
    RollingRestart,
    Scale,
    SetConfig,
    SetRate,
    Slow,
    SlowHost,
    StartMembers,
    Stuck,
    Subscribe,
    Unsubscribe,
    Verb,
)

__all__ = [
    "RECORDS_MAX",
    "ZERO",
    "AddPartitions",
    "Broker",
    "Close",
    "Closing",
    "Cluster",
    "CrashAt",
    "CrashPoint",
    "CreateTopic",
    "Cut",
    "DeleteGroup",
    "DeleteOffsets",
    "DeleteTopic",
    "Distribution",
    "ElectLeaders",
    "Entry",
    "GcPause",
    "Group",
    "Kill",
    "Link",
    "Members",
    "Network",
    "Override",
    "Processing",
    "Producers",
    "Produces",
    "Rate",
    "Reassign",
    "Restart",
    "RollingRestart",
    "Scale",
    "Scenario",
    "SetConfig",
    "SetRate",
    "Slow",
    "SlowHost",
    "Start",
    "StartMembers",
    "Stuck",
    "Subscribe",
    "Subscription",
    "Target",
    "Topic",
    "Unsubscribe",
    "Verb",
    "Zookeeper",
    "appended_topics",
    "deleted_topics",
    "outputs_of",
    "read_as_flow",
    "topics_read",
]
