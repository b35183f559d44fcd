"""A scenario as a whole: everything one run needs, but the seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from groupsim.sim.distributions import Distribution
from groupsim.sim.model.cluster import Cluster
from groupsim.sim.model.groups import Group
from groupsim.sim.model.producers import Producers
from groupsim.sim.model.topics import Topic
from groupsim.sim.model.verbs import GcPause, Kill, Verb
from groupsim.sim.units import FOREVER, S

RECORDS_MAX: Final = 10_000_000
"""Records of a run with ``data: exact``, each time that one is read: about 100 bytes each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the timeline: a verb, once (``at_us``) or again and again (``every``)."""

    id: str
    verb: Verb
    at_us: int = 0
    every: Distribution | None = None
    """Interval between firings, drawn anew each time; the first firing is one interval after ``at_us``."""
    until_us: int = FOREVER
    per_member: bool = False
    """False: one stream of events, target drawn each time. True: a stream for each member of the target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Everything one run needs, but the seed.

    ``document`` is the fully resolved file as plain data; it goes into the manifest and nothing else reads it.
    ``remarks`` are what its reader should know and the document does not show; no run reads them.
    """

    name: str
    question: str
    horizon_us: int
    cluster: Cluster
    topics: tuple[Topic, ...]
    groups: tuple[Group, ...]
    producers: tuple[Producers, ...] = ()
    timeline: tuple[Entry, ...] = ()
    measure_from_us: int = 0
    measure_to_us: int | None = None
    recovery_lag_records: int | None = None
    sample_every_us: int = 10 * S
    event_budget: int = 50_000_000
    data: Literal["fluid", "exact"] = "fluid"
    """Records as a flow, or each with its fate."""
    allow_assignors: tuple[str, ...] = ()
    origin_us: int = 0
    """What was before this is past: nothing of it is counted, and what is counted is told from here (`sim.past`)."""
    document: Mapping[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def is_still(self) -> bool:
        """Whether topics and brokers stay as they are: members pause or die at most, rates last, nothing is deleted."""
        return not (
            any(not (isinstance(one.verb, GcPause | Kill) and one.verb.target.kind == "group") for one in self.timeline)
            or self.producers
            or self.data == "exact"
            or any(group.produces is not None for group in self.groups)
            or any(len(topic.rate.times_us) > 1 or topic.retention_us < self.horizon_us for topic in self.topics)
        )
