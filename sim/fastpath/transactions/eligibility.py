"""Groups whose transactions can be worked out ahead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from groupsim.sim.catalog import Catalog
from groupsim.sim.client.consumer import Consumer
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.cluster.transactions.transactions import Transactions
from groupsim.sim.fastpath.consumer_engine import ConsumerEngine
from groupsim.sim.fastpath.engine import Engine
from groupsim.sim.fastpath.transactions.parking import Parking
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.model import Group, Scenario
from groupsim.sim.output.lag_reading import LagReading
from groupsim.sim.protocol.transactions.messages import TV2


def open_parking(
    env: Environment, scenario: Scenario, catalog: Catalog, groups: Mapping[str, GroupHost],
    consumers: Mapping[str, Sequence[Consumer]], host: Transactions, metered: frozenset[str],
) -> dict[str, LagReading]:  # fmt: skip
    """Let members of these groups be parked: of one protocol and TV2, if nobody reads what they produce.

    Parameters
    ----------
    metered : frozenset of str
        Groups each of whose requests takes its turn at the coordinator.

    Returns
    -------
    readings : dict of str to LagReading
        Of each of them, who reads its log as time passes.
    """
    readings: dict[str, LagReading] = {}
    every_us = scenario.sample_every_us
    sampled = scenario.origin_us + every_us, every_us
    for spec in scenario.groups:
        group = groups[spec.name]
        engine = group.fast_path
        is_free = spec.name not in metered and _is_unread(spec, scenario, catalog, host)
        if isinstance(engine, (Engine, ConsumerEngine)) and is_free:
            reading = readings[spec.name] = LagReading(group.books, scenario)
            members = consumers[spec.name]
            engine.parking = Parking(env, group, members, host, scenario.horizon_us, sampled, reading)
            host.output.tellers.append(engine.parking.untold_us)
    return readings


def _is_unread(spec: Group, scenario: Scenario, catalog: Catalog, host: Transactions) -> bool:
    """Whether nobody asks for single records of what a group produces, or reads it."""
    is_plain = host.version >= TV2 and scenario.data == "fluid"
    return is_plain and spec.produces is not None and spec.produces.to not in catalog.arrivals
