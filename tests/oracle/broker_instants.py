"""What happened to the brokers of a recording, as the simulator calls them and at the instants of a replay.

Given are the chances: who led what and was the active controller, when a broker was heard of last, and when a
controller was elected, moved leaders, fenced or let in a broker. What a controller's own rules make of these is held
against the recordings in `tests.oracle.fencing`; what coordinators and clients make of them is what a replay shows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from groupsim.sim.catalog import spread
from groupsim.sim.cluster.groups.coordinator import partition_for
from groupsim.sim.model import Scenario
from groupsim.sim.units import MS
from tests.oracle.measures import BROKER
from tests.oracle.trace import Fact

PROBE_US: Final = 100 * MS
"""By so much later than a broker is in sync a roll goes on, at most."""


@dataclass
class BrokerInstants:
    """Of one replay; nodes as the simulator calls them, microseconds on its clock.

    Parameters
    ----------
    leaders : dict of str to list of int
        Who leads the partitions of each topic first; of topics that were not recorded, one after the other.
    controllers : list of int
        Active controllers, one after the other.
    last_beats, fenced : dict of int to int
        When a broker that was killed had beaten last, and when its session was over.
    took : dict of (what, node) to list of int
        How long something of a broker took, each time: ``controlled_shutdown``, ``start``, ``catch_up``, ``election``.
    """

    leaders: dict[str, list[int]] = field(default_factory=dict)
    controllers: list[int] = field(default_factory=list)
    last_beats: dict[int, int] = field(default_factory=dict)
    fenced: dict[int, int] = field(default_factory=dict)
    took: dict[tuple[str, int], list[int]] = field(default_factory=lambda: defaultdict(list))


def has_outages(facts: Iterable[Fact]) -> bool:
    """Whether something was done to brokers."""
    return any(fact["what"] == "action" and fact["target"].startswith(BROKER) for fact in facts)


def before_outages(facts: Sequence[Fact]) -> list[Fact]:
    """What came before anything was done to a broker."""
    first = next(fact["at_us"] for fact in facts if fact["what"] == "action" and fact["target"].startswith(BROKER))
    return [fact for fact in facts if fact["what"] != "read" and fact["at_us"] < first]


def node_of(target: str) -> int:
    """The broker that a target names."""
    return int(target.removeprefix(BROKER))


def names(scenario: Scenario, facts: Sequence[Fact]) -> dict[int, int]:
    """Recorded node -> simulated one: coordinators begin, and go, where the group's do in the recording."""
    (group,) = scenario.groups
    nodes = [one.id for one in scenario.cluster.brokers]
    first = partition_for(group.name, scenario.cluster.config.offsets_topic_num_partitions)
    mine = spread(nodes, first, first, len(nodes))
    moved = [fact["node"] for fact in facts if fact["what"] == "coordinator" and fact["change"] == "loaded"]
    begun = next(fact for fact in facts if fact["what"] == "roles")["coordinators"][group.name]
    return dict(zip(dict.fromkeys([begun, *moved, *nodes]), mine, strict=True))


def instants(scenario: Scenario, facts: Sequence[Fact], then: Callable[[int], int]) -> BrokerInstants:
    """What a replay has of its recording.

    Parameters
    ----------
    scenario : Scenario
    facts : sequence of dict
    then : callable
        An instant of the recording, in the replay.
    """
    called, roles = names(scenario, facts), next(fact for fact in facts if fact["what"] == "roles")
    nodes = [one.id for one in scenario.cluster.brokers]
    dealt = {topic.name: [nodes[n % len(nodes)] for n in range(topic.partitions)] for topic in scenario.topics}
    told = BrokerInstants(
        leaders=dealt | {topic: [called[node] for node in some] for topic, some in roles["leaders"].items()},
        controllers=[called[roles["controller"]]],
    )
    of_brokers = [fact for fact in facts if fact["what"] == "broker"]
    told.controllers += [called[one["node"]] for one in of_brokers if one["change"] == "active"]
    acts = [one for one in facts if one["what"] == "action" and one["target"].startswith(BROKER)]
    for act in acts:
        _take(told, called[node_of(act["target"])], act, _news(of_brokers, act), then)
    _take_catching_up(told, called, acts, of_brokers)
    return told


def _take_catching_up(
    told: BrokerInstants, called: Mapping[int, int], acts: Sequence[Fact], of: Sequence[Fact]
) -> None:  # fmt: skip
    """A roll goes on when who was started is in sync again, which it looks for every 0.1 s."""
    for start, following in pairwise(acts):
        if start["verb"] == "start" and following["verb"] == "close":
            took_us = following["at_us"] - _news(of, start)["unfenced"] - PROBE_US
            told.took["catch_up", called[node_of(start["target"])]].append(max(took_us, 0))


def _news(of_brokers: Sequence[Fact], act: Fact) -> dict[str, int]:
    """When the first of each change of a broker came after something was done to it; ``beat``: the last one before."""
    node, at_us = node_of(act["target"]), act["at_us"]
    found: dict[str, int] = {}
    for one in of_brokers:
        if one["change"] == "beat" and one["node"] == node and one["at_us"] <= at_us:
            found["beat"] = one["at_us"]
        elif one["at_us"] > at_us and (one["node"] == node or one["change"] == "active"):
            found.setdefault(one["change"], one["at_us"])
    return found


def _take(told: BrokerInstants, node: int, act: Fact, news: dict[str, int], then: Callable[[int], int]) -> None:
    at_us = act["at_us"]
    match act["verb"]:
        case "kill":
            told.last_beats[node] = then(news["beat"])
            if "active" in news:
                told.took["election", node].append(news["active"] - at_us)
            if "fenced" in news:
                told.fenced[node] = then(news["fenced"])
        case "close":
            if "leaving" in news:
                told.took["controlled_shutdown", node].append(news["leaving"] - at_us)
            if "active" in news and "gone" in news:
                told.took["metadata", node].append(max(news["active"] - news["gone"], 0))
        case "start":
            if "unfenced" in news:
                told.took["start", node].append(news["unfenced"] - at_us)
            told.took["recovery", node].append(0)
