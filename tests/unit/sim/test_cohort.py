"""What phases are made of: many at once gives what one after the other gives, and a replay what the events give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.sim import simulate
from groupsim.sim.books.offsets.holding import Holding
from groupsim.sim.fastpath.itineraries import classic_late_resume, classic_rejoin, classic_resume, classic_sync
from groupsim.sim.fastpath.phases.phase import CohortPhase
from groupsim.sim.kernel.environment import Environment, Kind, process_key
from groupsim.sim.kernel.network import Path, round_trips
from groupsim.sim.model import Distribution, Entry, GcPause, Network, Rate, Scenario, Target
from groupsim.sim.output.result import Result
from groupsim.sim.randomness import Draw, Streams, draws
from groupsim.sim.units import FOREVER, MS, S
from tests.support.random_scenarios import random_scenario
from tests.support.scenarios import client, group, join, kill, pause, scenario, states
from tests.unit.sim.test_ledger import ledger_of

DISTRIBUTIONS = (
    Distribution("constant", (1_234,)),
    Distribution("uniform", (100, 900)),
    Distribution("exponential", (5 * S,)),
    Distribution("lognormal", (300, 5_000)),
    Distribution("empirical", (3, 3, 10, 400)),
)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda one: one.kind)
@given(st.lists(st.tuples(st.integers(0, (1 << 64) - 1), st.integers(0, 1 << 40)), min_size=1, max_size=20))
def test_one_draw_of_each_of_many_streams(distribution: Distribution, which: list[tuple[int, int]]) -> None:
    numbers = np.array([number for _, number in which])
    keys = np.array([key for key, _ in which], np.uint64)
    assert draws(distribution, keys, numbers).tolist() == [Draw(key, distribution)(number) for key, number in which]


@pytest.mark.parametrize("loss", [0.0, 0.3])
@pytest.mark.parametrize("odd", [DISTRIBUTIONS[0], DISTRIBUTIONS[3]], ids=lambda one: one.kind)
def test_latencies_of_many_paths(loss: float, odd: Distribution) -> None:
    network = Network(latency=DISTRIBUTIONS[3], loss=loss)
    paths = [Path(Streams(7), network, odd if index == 3 else network.latency, f"g/{index}#1") for index in range(9)]
    numbers = np.arange(9) * 17
    assert round_trips(paths, "other", numbers).T.tolist() == [
        [path.latency("other", 2 * number), path.latency("other", 2 * number + 1)]
        for path, number in zip(paths, numbers.tolist(), strict=True)
    ]


# --- replay -----------------------------------------------------------------------------------------------------------


def _key(name: int) -> int:
    return process_key(name, Kind.FAULT)


def test_a_replay_carries_out_what_came_before_the_present_and_leaves_the_rest() -> None:
    env, seen = Environment(1_000), []

    def note(what: str) -> None:
        seen.append((env.now, what))

    def replayed() -> None:
        note("first")
        env.at(20, _key(1), note, "second")
        env.at(40, _key(1), note, "at the present, before its key")
        env.at(40, _key(3), note, "at the present, after its key")
        env.at(70, _key(1), note, "later")

    def disturb(_: Any) -> None:
        env.replay((10, _key(1)), replayed)
        note("disturbed")

    env.at(30, _key(2), note, "by somebody else")
    env.at(40, _key(2), disturb)
    env.at(50, _key(2), note, "after")
    env.run_before(100)
    assert seen == [
        (30, "by somebody else"), (10, "first"), (20, "second"), (40, "at the present, before its key"),
        (40, "disturbed"), (40, "at the present, after its key"), (50, "after"), (70, "later"),
    ]  # fmt: skip
    assert env.events == len(seen) - 1  # the first is the replay itself


# --- books ------------------------------------------------------------------------------------------------------------

shares = st.lists(st.integers(0, 3), min_size=12, max_size=12).filter(lambda owners: set(owners) == {0, 1, 2, 3})


def _of(holding: Holding) -> list[object]:
    values = [getattr(holding, one.name) for one in fields(holding)]
    return [value.tolist() if isinstance(value, np.ndarray) else value for value in values]


@given(
    shares,
    st.lists(st.integers(0, 5 * S), min_size=4, max_size=4), st.lists(st.integers(0, 9 * S), min_size=4, max_size=4),
    st.lists(st.sampled_from([0.0, 1e-5, 3e-4, 1.0]), min_size=4, max_size=4),
)  # fmt: skip
def test_the_ledger_takes_many_consumers_as_it_takes_one(
    owners: list[int], begins: list[int], lasts: list[int], capacity: list[float]
) -> None:
    rate = Rate(per_partition_mrps=((10_000, 333_333, 70, 0, 5_000),))
    (one, _, _), (many, _, _) = ledger_of(rate, 12, 4), ledger_of(rate, 12, 4)
    parts = [np.flatnonzero(np.array(owners) == slot).astype(np.int32) for slot in range(4)]
    ones, manies = [Holding(slot) for slot in range(4)], [Holding(slot) for slot in range(4)]
    offsets = [np.arange(len(part)) * 7 for part in parts]
    for holding, part, begin, offset, fast in zip(ones, parts, begins, offsets, capacity, strict=True):
        one.take(holding, part)
        one.anchor(holding, begin, part, offset, fast)
    lengths, slots, partitions = np.array([len(part) for part in parts]), np.arange(4), np.concatenate(parts)
    many.anchor_all(slots, np.array(begins), partitions, np.concatenate(offsets), lengths, np.array(capacity))
    for holding, other, part, begin, offset in zip(manies, ones, parts, begins, offsets, strict=True):
        many.recall(holding, begin, part, offset)
        assert _of(holding) == _of(other)
    ends = [begin + last for begin, last in zip(begins, lasts, strict=True)]
    at, which = many.positions_of(slots, partitions, lengths.tolist(), np.array(ends))
    assert at.tolist() == [
        p for holding, end in zip(ones, ends, strict=True) for p in one.positions(holding, end).tolist()
    ]
    assert which.tolist() == [slot for slot in range(4) for _ in parts[slot]]
    now = max(begins)
    assert many.processed(now).tolist() == one.processed(now).tolist()
    many.release_all(slots[which], np.array(ends)[which], partitions, at)
    for holding, end, part in zip(ones, ends, parts, strict=True):
        one.release(holding, end, part, np.ones(len(part), np.bool_), one.positions(holding, end))
    assert many.processed(20 * S).tolist() == one.processed(20 * S).tolist()
    for holding, end in zip(manies, ends, strict=True):
        holding.clear(end)
    assert not any(holding.running or holding.partitions.size for holding in manies)


def test_a_consumer_that_is_known_to_stop_has_stopped_for_whoever_asks() -> None:
    ledger, _, _ = ledger_of(Rate(per_partition_mrps=((10_000,),)), 3, 1)
    holding, part = Holding(0), np.arange(3, dtype=np.int32)
    ledger.anchor(holding, 0, part, np.zeros(3, np.int64), 1.0)
    ledger.stop_at(np.array([0]), 5 * S)
    assert ledger.processed(9 * S).tolist() == ledger.positions(holding, 5 * S).tolist() != [90, 90, 90]
    ledger.stop_at(np.array([0]), FOREVER)
    assert ledger.processed(9 * S).tolist() == [90, 90, 90]


# --- who goes with them -----------------------------------------------------------------------------------------------


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int]]:
    """How many members began each phase, by kind, and how many of all left one to go by themselves."""
    found: dict[str, list[int]] = {"rejoin": [], "sync": [], "resume": [], "late": [], "left": []}
    begin, replay = CohortPhase.begin, CohortPhase._replay
    kinds = {
        classic_rejoin.RejoinPhase: "rejoin",
        classic_sync.SyncPhase: "sync",
        classic_resume.ResumePhase: "resume",
        classic_late_resume.LateResumePhase: "late",
    }

    def begun(self: Any, slots: Any, *when: Any) -> None:
        found[kinds[type(self)]].append(len(slots))
        begin(self, slots, *when)

    def replayed(self: Any, slot: int) -> None:
        found["left"].append(self._env.now)
        replay(self, slot)

    monkeypatch.setattr(CohortPhase, "begin", begun)
    monkeypatch.setattr(CohortPhase, "_replay", replayed)
    return found


def test_a_group_rebalances_in_phases(taken: dict[str, list[int]]) -> None:
    run = scenario(group(6, client=client(enable_auto_commit=True)), join(20 * S, 7), horizon_us=40 * S)
    simulate(run)
    # The start, then the scale-out: six rejoin; all but the leader sync and resume.
    assert taken == {"rejoin": [6], "sync": [5, 6], "resume": [5, 6], "late": [], "left": []}


def test_a_member_that_pauses_on_the_way_goes_by_itself(taken: dict[str, list[int]]) -> None:
    run = scenario(
        group(6, client=client(enable_auto_commit=True)), join(20 * S, 7), pause(21 * S, 300 * MS, 2), horizon_us=40 * S
    )
    simulate(run)
    assert taken["rejoin"] == [6]
    assert taken["left"] == [21 * S]


def test_a_killed_member_leaves_its_phase(taken: dict[str, list[int]]) -> None:
    run = scenario(
        group(6, client=client(enable_auto_commit=True)), join(20 * S, 7), kill(21 * S, 2), horizon_us=90 * S
    )
    simulate(run)
    assert taken["left"][0] == 21 * S


# --- what could tell a phase from its events --------------------------------------------------------------------------


def _agree(run: Scenario) -> Result:
    """The run, which gives the same tables when everything is an event."""
    elided, message = simulate(run), simulate(run, fidelity="message")
    assert elided.manifest["digests"] == message.manifest["digests"]
    return elided


def _crowd(*timeline: Entry, horizon_us: int, **config: Any) -> Scenario:
    jitter = Distribution("lognormal", (500, 5_000))
    one = group(6, client=client(enable_auto_commit=True, **config))
    return scenario(one, *timeline, horizon_us=horizon_us, rate_mrps=50_000, latency=jitter)


def test_a_join_phase_that_ends_before_everybody_has_heard_of_it(taken: dict[str, list[int]]) -> None:
    run = _crowd(join(18_300 * MS, 7), horizon_us=60 * S, max_poll_interval_us=2 * S)
    assert _agree(run).summary["evictions"].item() > 0
    assert taken["rejoin"][0] == 6
    assert taken["left"]


SCATTERED = Distribution("uniform", (1 * MS, 60 * MS))


def _scattered(*timeline: Entry) -> Scenario:
    """The answers to JoinGroup arrive so far apart that some SyncGroups come after the leader's assignment."""
    run = _crowd(join(20 * S, 7), *timeline, horizon_us=60 * S)
    return replace(run, cluster=replace(run.cluster, network=Network(latency=SCATTERED)))


def test_members_that_sync_after_the_leader_go_on_together(taken: dict[str, list[int]]) -> None:
    _agree(_scattered())
    assert max(taken["late"]) >= 2
    assert not taken["left"]


@pytest.mark.parametrize("after_us", [-700_000, -600_000, 1_000, 60_000, 150_000])
@pytest.mark.parametrize(
    "disturb",
    [lambda at: pause(at, 300 * MS, 2), lambda at: kill(at, 3), lambda at: join(at, 8)],
    ids=["pause", "kill", "join"],
)
def test_members_that_sync_after_the_leader_and_are_disturbed(
    taken: dict[str, list[int]], after_us: int, disturb: Callable[[int], Entry]
) -> None:
    stable = [time for time, state, _ in states(simulate(_scattered())) if state == "Stable"][-1]
    _agree(_scattered(disturb(stable + after_us)))
    assert taken["late"]


def test_samples_of_the_lag_in_the_middle_of_every_phase(taken: dict[str, list[int]]) -> None:
    run = replace(_crowd(join(8 * S, 7), horizon_us=14 * S, heartbeat_interval_us=1 * S), sample_every_us=500)
    _agree(run)
    assert taken["rejoin"] == [6]
    assert taken["left"], "the first fetches of one phase are milliseconds apart"


def test_rates_that_change_in_the_middle_of_every_phase(taken: dict[str, list[int]]) -> None:
    run = _crowd(join(8 * S, 7), horizon_us=14 * S, heartbeat_interval_us=1 * S)
    times = (0, *range(8 * S, 10 * S, 3 * MS))  # the rebalance is from 8.7 s to 8.74 s; each step costs all before it
    rate = Rate(times_us=times, per_partition_mrps=tuple((50_000 + 7 * index % 1_000,) for index in range(len(times))))
    _agree(replace(run, topics=(replace(run.topics[0], rate=rate),)))
    assert taken["left"]


def test_partitions_that_a_zombie_still_reads(taken: dict[str, list[int]]) -> None:
    """It is removed while its application hangs, and goes on with its batch when the others have begun."""
    run = _crowd(pause(20 * S, 15 * S, 0), horizon_us=60 * S, session_timeout_us=10 * S)
    fast = replace(run.topics[0], rate=Rate(per_partition_mrps=((300_000,),)))
    result = _agree(replace(run, topics=(fast,)))
    assert result.summary["zombie_s"].item() > 0
    assert result.tables["delivery"].query("cause == 'zombie'")["records"].sum() > 0
    assert max(taken["resume"]) >= 4


def test_a_zombie_that_goes_on_disturbs_nobody_who_reads_something_else(taken: dict[str, list[int]]) -> None:
    """It goes on while the others hear that it is expelled."""
    run = _crowd(pause(20 * S, 15 * S, 0), horizon_us=60 * S)
    (expelled,) = [time for time, state, _ in states(simulate(run)) if state == "PreparingRebalance"][1:2]
    taken["left"].clear()
    _agree(_crowd(pause(20 * S, expelled + 1 * S - 20 * S, 0), horizon_us=60 * S))
    assert taken["rejoin"][-1] == 5
    assert not taken["left"]


def test_a_zombie_that_goes_on_disturbs_those_who_read_what_it_reads(taken: dict[str, list[int]]) -> None:
    """They have its two partitions of the last rebalance, and rejoin in this one, like the other three."""
    _agree(_crowd(pause(20 * S, 22 * S, 0), join(40 * S, 7), horizon_us=60 * S))
    assert taken["rejoin"][:2] == [5, 5]
    assert taken["left"] in ([42 * S], [42 * S] * 2)


def test_who_syncs_late_may_have_too_little_left_of_its_session_for_a_heartbeat() -> None:
    """Only the answer to its JoinGroup has renewed it, 7.3 s before."""
    run = _crowd(pause(2 * S, 12 * S, 2), horizon_us=40 * S)
    assert _agree(run).summary["evictions"].item() == 1


@pytest.mark.parametrize("after_us", [500, 1_500, 2_500, 4_500])
def test_pauses_that_begin_on_the_way_to_the_first_fetch(after_us: int) -> None:
    run = _crowd(join(20 * S, 7), horizon_us=30 * S)
    stable = [time for time, state, _ in states(simulate(run)) if state == "Stable"][-1]
    target = Target("group", "g", pick="index", indices=(1, 3))
    pauses = Entry(
        id="gc", at_us=stable + after_us - 1 * S, every=Distribution.constant(1 * S), per_member=True,
        verb=GcPause(target=target, duration=Distribution.constant(300 * MS)),
    )  # fmt: skip
    _agree(replace(run, timeline=(*run.timeline, pauses)))


@pytest.mark.parametrize("seed", [151, 225, 228, 253, 1123, 2164, 2195, 2243])
def test_scenarios_that_once_told_the_difference(seed: int) -> None:
    """Also of quiet members: a cut that had eaten a session, a sudden pause and another story at one instant."""
    run = random_scenario(seed, "crowd")
    elided, message = simulate(run, seed=seed), simulate(run, seed=seed, fidelity="message")
    assert elided.manifest["digests"] == message.manifest["digests"]
