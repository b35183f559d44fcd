"""Build a world, run it, make the result."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import compress
from operator import not_
from typing import Any, Literal

import numpy as np

from groupsim.sim.books.invariants.invariants import Watch
from groupsim.sim.books.invariants.watched import Watched
from groupsim.sim.books.record import HORIZON
from groupsim.sim.collector import Collector
from groupsim.sim.errors import ConfigError, SimError
from groupsim.sim.gauge import Gauge, Stage
from groupsim.sim.kernel.environment import Environment, Kind, deadline_key
from groupsim.sim.model import CreateTopic, RollingRestart, Scenario
from groupsim.sim.output.result import Result
from groupsim.sim.output.tables import Tabulator
from groupsim.sim.past import gather, live_through, with_past
from groupsim.sim.randomness import Streams, name_hash
from groupsim.sim.timeline.broker_targets import is_about_brokers, needs_controller
from groupsim.sim.timeline.brokers import BrokerFaults, new_controller
from groupsim.sim.timeline.dispatcher import Dispatcher
from groupsim.sim.timeline.lifecycle import first_start
from groupsim.sim.timeline.rollout import Rollout
from groupsim.sim.timeline.verbs import dispatch
from groupsim.sim.versions import versions
from groupsim.sim.world import World

Fidelity = Literal["elided", "message"]
_COLLECTOR = Collector()


def simulate(
    scenario: Scenario,
    *,
    seed: int = 1,
    replication: int = 0,
    variant: str = "",
    fidelity: Fidelity = "elided",
    check: bool = False,
    after_each: Callable[[int], None] | None = None,
    gauge: Gauge | None = None,
) -> Result:
    """Run a scenario once.

    Parameters
    ----------
    scenario : Scenario
    seed, replication : int
        The run's draws are functions of both; equal in all variants of a sweep (common random numbers).
    variant : str
        Only a label in the tables.
    fidelity : {"elided", "message"}
        elided: quiet heartbeats, polls, commits and metadata refreshes are computed. message: each is an event. The
        tables are equal.
    check : bool
        Check every invariant after every event.
    after_each : callable, optional
        Called after every kernel event with the virtual time in microseconds. What it raises ends the run.
    gauge : Gauge, optional
        Shows how far the run has come, to whoever looks at it meanwhile from another thread.

    Returns
    -------
    Result

    Raises
    ------
    ConfigError
        Seed or replication is no number that tables can hold, or no whole one: a seed of 1.5 would be told as 1.
    EventBudgetExceeded, InvariantViolation, ScenarioError
        Each names the line that replays the run.
    """
    _check_number("seed", seed)
    _check_number("replication", replication)
    if fidelity not in ("elided", "message"):
        raise ConfigError(f"fidelity is {fidelity!r}; allowed: elided, message")
    started, gauge, is_loud = time.perf_counter(), gauge or Gauge(), fidelity == "message"
    try:
        with _COLLECTOR.at_rest():
            world = _build(with_past(scenario), Streams(seed, replication), gauge, is_loud=is_loud)
            _watch(world, after_each, check=check)
            _live(world, gauge, is_loud=is_loud)
            tables = _tabulator(world, seed, replication, variant).tables()
    except SimError as error:
        error.add_note(f"replay: {replay_line(scenario, seed, replication)}")
        raise
    notices = world.notices()
    manifest = _manifest(world.scenario, seed, replication, variant, fidelity)
    manifest |= {
        "events": world.env.events,
        "wall_s": round(time.perf_counter() - started, 6),
        "digests": tables.digests(),
        "warnings": notices,
    }
    return Result(tables, manifest, notices)


def _check_number(name: str, number: object) -> None:
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or not 0 <= number < 1 << 63:
        raise ConfigError(f"{name} is {number!r}; it must be a whole number, 0 or more, of at most 63 bits")


def replay_line(scenario: Scenario, seed: int, replication: int) -> str:
    """The command that runs this again."""
    return f"groupsim run {scenario.name} --seed {seed}" + (f" --replication {replication}" if replication else "")


def _build(scenario: Scenario, streams: Streams, gauge: Gauge, *, is_loud: bool) -> World:
    world = World(scenario, streams, is_loud=is_loud and not scenario.origin_us, gauge=gauge)
    created = [entry.verb.topic.name for entry in scenario.timeline if isinstance(entry.verb, CreateTopic)]
    for name in [*world.catalog.rates, *created]:
        world.add_producer(name)
    for topic in scenario.topics:
        world.start_topic(topic)
    for spec in sorted(scenario.groups, key=lambda group: group.name):
        for index in range(spec.members.count):
            first_start(world, spec, index)
    _begin_timeline(world)
    gather(world)
    _sample(world)
    return world


def _begin_timeline(world: World) -> None:
    """Start the processes of all entries, those about brokers first."""
    scenario = world.scenario
    about_brokers = [is_about_brokers(scenario, entry.verb) for entry in scenario.timeline]
    if any(needs_controller(scenario, entry.verb) for entry in scenario.timeline):
        world.controller = new_controller(world)
        faults = BrokerFaults(world, world.controller)
        for dispatcher in [Dispatcher(world, entry) for entry in compress(scenario.timeline, about_brokers)]:
            is_roll = isinstance(dispatcher.entry.verb, RollingRestart)
            roll = partial(faults.roll, dispatcher)
            world.env.process(dispatcher.run_in_turn(roll) if is_roll else dispatcher.run(faults.act))
    for entry in compress(scenario.timeline, map(not_, about_brokers)):
        if isinstance(entry.verb, RollingRestart):
            dispatcher = Dispatcher(world, entry)
            world.env.process(dispatcher.run_in_turn(Rollout(dispatcher).replace))
        else:
            dispatch(world, entry)


def _watch(world: World, after_each: Callable[[int], None] | None, *, check: bool) -> None:
    """Let invariants, and who asks for it, look at the run after each event."""
    if check:
        Watch(world.env, [Watched(one, world.members[name]) for name, one in world.groups.items()]).attach()
    if after_each is not None:
        _observe(world.env, after_each)


def _live(world: World, gauge: Gauge, *, is_loud: bool) -> None:
    """What was before 0, if groups begin aged, and the run up to its horizon."""
    if world.scenario.origin_us:
        gauge.stage = Stage.PAST
        live_through(world, is_loud=is_loud)
    gauge.stage = Stage.RUNNING
    world.env.run_before(world.scenario.horizon_us)
    gauge.stage = Stage.TABLES
    _finish(world)


def _tabulator(world: World, seed: int, replication: int, variant: str) -> Tabulator:
    """What makes tables of the books of a run that is over."""
    return Tabulator(
        world.scenario, [group.books for group in world.groups.values()], [*world.shards.books.values()],
        world.broker_books, world.producer_books.rows, world.last_fault_us, world.readings,
        seed=seed, replication=replication, variant=variant,
    )  # fmt: skip


def _observe(env: Environment, told: Callable[[int], None]) -> None:
    """From now on, call ``told`` after every event, and before it what is called already."""
    first = env.after_each

    def observed() -> None:
        if first is not None:
            first()
        told(max(env.told_us, 0))

    env.after_each = observed


def _sample(world: World) -> None:
    """Lag at every sampling instant: read from closed forms, so nobody has to be woken for it.

    It is worked out when something is about to change, for all instants since the last change (`LagSamples`).
    """
    times: list[int] = []
    for group in world.groups.values():
        group.books.ledger.samples.begin(times, group.books.record.lag)
    key = deadline_key(name_hash("sampler"), Kind.SAMPLE)
    every = world.scenario.sample_every_us

    def tick(_: Any) -> None:
        for group in world.groups.values():
            if group.has_phases:
                group.has_phases = group.fast_path.settle_readers()
        times.append(world.env.now)
        world.env.at(world.env.now + every, key, tick)

    world.env.at(world.scenario.origin_us + every, key, tick)


def _finish(world: World) -> None:
    """Bring every quiet member to the horizon and cut what is open."""
    horizon = world.scenario.horizon_us
    world.env.close_at(horizon)
    for name in sorted(world.groups):
        group = world.groups[name]
        group.fast_path.finish()
        for consumer in world.members[name]:
            consumer.finish(horizon, HORIZON)
        if group.books.first_service_us is None:
            group.books.cover(world.topics_of(name))
        group.books.ledger.samples.settle()
        group.finish(horizon)
    world.shards.finish(horizon, world.groups)
    if world.transactions is not None:
        world.transactions.finish(horizon)
    if world.data_logs is not None:
        world.data_logs.finish()
    if world.zookeeper is not None:
        world.zookeeper.finish(horizon)


def _manifest(scenario: Scenario, seed: int, replication: int, variant: str, fidelity: str) -> dict[str, Any]:
    return {
        "scenario": scenario.name, "variant": variant, "seed": seed, "replication": replication,
        "fidelity": fidelity, "document": dict(scenario.document),
        "versions": versions(),
        "replay": replay_line(scenario, seed, replication),
    }  # fmt: skip
