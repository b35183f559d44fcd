"""Small scenarios for tests, and what tests ask of their results: constant latency unless a test wants jitter."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from groupsim.sim import Result
from groupsim.sim.config import ClientConfig, CoordinatorConfig, Timing
from groupsim.sim.model import (
    ZERO,
    Broker,
    Close,
    Cluster,
    Distribution,
    Entry,
    GcPause,
    Group,
    Kill,
    Members,
    Network,
    Override,
    Processing,
    Rate,
    Scale,
    Scenario,
    Start,
    Stuck,
    Subscription,
    Target,
    Topic,
    Verb,
)
from groupsim.sim.units import MS, S

LATENCY_US = 500
BOOT_US = 700 * MS
BOOT = Distribution.constant(BOOT_US)
STEADY = Distribution.constant(LATENCY_US)
AT_ONCE = Start()
AUTO = Processing()
TIMING = Timing(
    follower_fetch=ZERO,
    connect=Distribution.constant(1_500), join_prepare=Distribution.constant(500), sync_prepare=ZERO,
    initial_delay_late=ZERO, pattern_resolve=Distribution.constant(1_000),
)  # fmt: skip
"""Nothing is drawn."""
BROKER = CoordinatorConfig()
LOOPBACK = Distribution("lognormal", (500, 5_000))
"""One-way latency with jitter: median 0.5 ms, 1 % above 5 ms."""


def client(**changes: Any) -> ClientConfig:
    """A consumer as most tests want it: range, session 10 s, no auto-commit, reads from the beginning."""
    chosen = {
        "session_timeout_us": 10 * S, "partition_assignment_strategy": ("range",), "enable_auto_commit": False,
        "auto_offset_reset": "earliest", **changes,
    }  # fmt: skip
    return ClientConfig(**chosen)


def cooperative(**changes: Any) -> ClientConfig:
    """The same with the cooperative-sticky assignor."""
    return client(**{"partition_assignment_strategy": ("cooperative-sticky",), **changes})


def group(
    count: int,
    *,
    client: ClientConfig,
    topics: tuple[str, ...] = ("t",),
    static: bool = False,
    boot: Distribution = BOOT,
    overrides: tuple[Override, ...] = (),
    processing: Processing = AUTO,
    start: Start = AT_ONCE,
) -> Group:
    """A group named ``g``."""
    members = Members(count=count, static=static, boot=boot, start=start)
    return Group(
        name="g", subscription=Subscription(topics=topics), members=members, client=client, processing=processing,
        overrides=overrides,
    )  # fmt: skip


EVENTS_MAX = 3_000_000
"""More than any scenario of the tests needs: one in which time stands still fails within a minute."""


def scenario(
    one: Group,
    *timeline: Entry,
    horizon_us: int,
    partitions: int = 12,
    rate_mrps: int = 0,
    delay_us: int = 3 * S,
    latency: Distribution = STEADY,
    timing: Timing = TIMING,
    brokers: int = 1,
    more_topics: tuple[Topic, ...] = (),
    config: CoordinatorConfig = BROKER,
    measure_from_us: int = 0,
) -> Scenario:
    """One group on one topic ``t``; ``rate_mrps`` is milli-records per second of each partition."""
    cluster = Cluster(
        brokers=tuple(Broker(id=i) for i in range(brokers)),
        config=replace(config, initial_rebalance_delay_us=delay_us),
        network=Network(latency=latency),
        timing=timing,
    )
    topic = Topic(name="t", partitions=partitions, rate=Rate(per_partition_mrps=((rate_mrps,),)))
    return Scenario(
        event_budget=EVENTS_MAX,
        name="test", question="", horizon_us=horizon_us, cluster=cluster, topics=(topic, *more_topics), groups=(one,),
        timeline=timeline, measure_from_us=measure_from_us,
    )  # fmt: skip


# --- timeline -----------------------------------------------------------------------------------------------------


def member(*indices: int) -> Target:
    """Members of ``g`` by index."""
    return Target("group", "g", "index", indices)


def at(time_us: int, verb: Verb) -> Entry:
    """An entry that fires once."""
    return Entry(id=f"{type(verb).__name__}-{time_us}", verb=verb, at_us=time_us)


def once_within(low_us: int, high_us: int, verb: Verb) -> Entry:
    """An entry that fires once, at an instant drawn evenly between the two (``high - low`` less than ``low``)."""
    return Entry(id="once", verb=verb, every=Distribution("uniform", (low_us, high_us)), until_us=high_us)


def pause(time_us: int, length_us: int, *indices: int) -> Entry:
    """All threads of these members stand still."""
    return at(time_us, GcPause(target=member(*indices), duration=Distribution.constant(length_us)))


def hang(time_us: int, length_us: int, *indices: int) -> Entry:
    """The processing threads of these members hang."""
    return at(time_us, Stuck(target=member(*indices), duration=Distribution.constant(length_us)))


def kill(time_us: int, *indices: int, down_us: int | None = None) -> Entry:
    """SIGKILL."""
    down = None if down_us is None else Distribution.constant(down_us)
    return at(time_us, Kill(target=member(*indices), down=down))


def join(time_us: int, to: int) -> Entry:
    """The group is scaled out: new processes start at ``time_us``, and boot."""
    return at(time_us, Scale(target=Target("group", "g"), to=to))


def close(time_us: int, *indices: int) -> Entry:
    """SIGTERM."""
    return at(time_us, Close(target=member(*indices)))


# --- results ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Round:
    """A rebalance as the table has it, times in microseconds."""

    start_us: int
    joined_us: int
    end_us: int
    trigger: str
    reason: str
    ended_by: str
    generations: int
    generation: int


def rounds(result: Result) -> list[Round]:
    """Every rebalance in order; ``joined_us`` is its start plus all its preparing time (of one round: its end)."""
    return [
        Round(
            start_us=row["start_us"],
            joined_us=row["start_us"] + row["preparing_us"],
            end_us=row["end_us"],
            trigger=row["trigger"],
            reason=row["reason"],
            ended_by=row["ended_by"],
            generations=row["generations"],
            generation=row["generation_to"],
        )
        for row in _rows(result, "rebalances")
    ]


def _rows(result: Result, table: str) -> list[dict[str, Any]]:
    """A table's rows by column name."""
    return [{str(name): value for name, value in row.items()} for row in result.tables[table].to_dict("records")]


def states(result: Result) -> list[tuple[int, str, int]]:
    """When which state was entered, with its generation."""
    return [(row["from_us"], row["state"], row["generation"]) for row in _rows(result, "states")]


def requests(result: Result, api: str, error: str = "NONE") -> int:
    """How many requests were answered like that."""
    table = result.tables["requests"]
    return int(table.loc[(table["api"] == api) & (table["error"] == error), "count"].sum())


def served(result: Result, name: str) -> list[tuple[int, int, int, str]]:
    """A member's stretches of service: partition, from, to, ended by."""
    mine = [row for row in _rows(result, "ownership") if row["member"] == name]
    return [(row["partition"], row["from_us"], row["to_us"], row["ended_by"]) for row in mine]


def delivered(result: Result, kind: str) -> int:
    """Records read twice (``duplicate``) or never (``loss``)."""
    table = result.tables["delivery"]
    return int(table.loc[table["kind"] == kind, "records"].sum())
