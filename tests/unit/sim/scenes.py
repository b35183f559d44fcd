"""Small scenarios without jitter, and questions to their tables.

One way takes 1 ms, a member boots at once, a poll cycle is 200 ms (100 ms of them inside poll()), records cost nothing
unless said otherwise. So every instant of a run can be worked out by hand.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from groupsim.sim import Result
from groupsim.sim import simulate as run
from groupsim.sim.config import ClientConfig, CoordinatorConfig
from groupsim.sim.model import (
    ZERO,
    Cluster,
    Distribution,
    Entry,
    Group,
    Members,
    Network,
    Processing,
    Rate,
    Scenario,
    Start,
    Subscription,
    Target,
    Topic,
    Verb,
)
from groupsim.sim.units import MS, S
from tests.support.scenarios import EVENTS_MAX, TIMING

FIDELITIES = ("elided", "message")
CLIENT = ClientConfig(partition_assignment_strategy=("range",), session_timeout_us=10 * S, heartbeat_interval_us=S)
COOPERATIVE = replace(CLIENT, partition_assignment_strategy=("cooperative-sticky",))
PROCESSING = Processing(per_record=ZERO, per_poll_us=100 * MS)


def constant(rate_mrps: int) -> Rate:
    """The same production rate in every partition, milli-records per second."""
    return Rate(per_partition_mrps=((rate_mrps,),))


def lasting(time_us: int) -> Distribution:
    return Distribution.constant(time_us)


def member(*indices: int, group: str = "g") -> Target:
    return Target("group", group, pick="index", indices=indices)


def everybody(group: str = "g") -> Target:
    return Target("group", group)


def entry(at_us: int, verb: Verb, id_: str = "") -> Entry:
    return Entry(id=id_ or f"{type(verb).__name__}-{at_us}", at_us=at_us, verb=verb)


def group(name: str = "g", count: int = 1, *, topics: tuple[str, ...] = ("t",), **more: Any) -> Group:
    """A group whose members boot at once; ``start``, ``static``, ``boot``, ``per_process`` go to `Members`."""
    people = {key: more.pop(key) for key in ("start", "static", "boot", "per_process") if key in more}
    more = {"client": CLIENT, "processing": PROCESSING, "subscription": Subscription(topics=topics), **more}
    return Group(name=name, members=Members(count=count, **{"boot": ZERO, **people}), **more)


def scene(*groups: Group, timeline: tuple[Entry, ...] = (), horizon_us: int = 60 * S, **more: Any) -> Scenario:
    """One topic ``t`` of four partitions at ten records a second, one group, no initial delay."""
    partitions, rate = more.pop("partitions", 4), more.pop("rate", constant(10_000))
    delay = more.pop("initial_delay_us", 0)
    network = Network(latency=lasting(MS))
    more = {
        "topics": (Topic(name="t", partitions=partitions, rate=rate),),
        "cluster": Cluster(config=CoordinatorConfig(initial_rebalance_delay_us=delay), network=network, timing=TIMING),
        **more,
    }
    return Scenario(
        name="scene", question="?", horizon_us=horizon_us, groups=groups or (group(),), timeline=timeline,
        event_budget=EVENTS_MAX, **more,
    )  # fmt: skip


def simulate(scenario: Scenario, fidelity: str = "elided", seed: int = 1) -> Result:
    """A checked run."""
    return run(scenario, seed=seed, fidelity=fidelity, check=True)  # type: ignore[arg-type]


def summary(result: Result, group_name: str = "g") -> pd.Series[Any]:
    """The one row of a group."""
    table = result.summary
    rows = table[table["group"] == group_name]
    assert len(rows) == 1
    return rows.iloc[0]


def rows(result: Result, table: str, **wanted: Any) -> list[dict[str, Any]]:
    """Rows of a table as dictionaries, where columns have the values wanted."""
    found = result.tables[table]
    for column, value in wanted.items():
        found = found[found[column] == value]
    return found.to_dict("records")


def stretches(result: Result, partition: int | None = None) -> list[tuple[int, int, int, str]]:
    """Unavailability as (partition, from, to, cause)."""
    found = [(one["partition"], one["from_us"], one["to_us"], one["cause"]) for one in rows(result, "unavailability")]
    return [one for one in found if partition is None or one[0] == partition]


def delivered(result: Result) -> dict[tuple[str, str], int]:
    """Records by kind and cause."""
    return {(one["kind"], one["cause"]): one["records"] for one in rows(result, "delivery")}


def with_start(*at_us: int) -> dict[str, Any]:
    """Two members: the first at once, the second at ``at_us[0]``."""
    return {"count": 2, "start": Start(kind="every", value_us=at_us[0])}
