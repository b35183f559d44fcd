"""How long records wait in an open batch: by law, and where it shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from groupsim.sim import simulate
from groupsim.sim.cluster.shard.append_linger import append_linger
from groupsim.sim.cluster.shard.waiting_time import Stream
from groupsim.sim.config import ClientConfig, CoordinatorConfig, EventTimes
from groupsim.sim.model import Distribution, Processing, Scenario
from groupsim.sim.units import MS, S
from tests.support.fidelity import differences
from tests.support.scenarios import LOOPBACK, client, cooperative, group, join, kill, rounds, scenario

ADAPTIVE = -1
QUEUE = (Stream(20.0, 5 * MS), Stream(10.0, 15 * MS))


@pytest.mark.parametrize("writes_per_s", [0.0, 50.0, 1_000.0])
def test_whoever_comes_into_a_batch_waits_for_what_is_left_of_its_linger(writes_per_s: float) -> None:
    """Against batches that writes at random open and come into."""
    law = append_linger(5 * MS, writes_per_s, ())
    assert law is not None
    chance, at_us, flush_us, waits = np.random.default_rng(1), 0.0, 0.0, []
    for gap in chance.exponential(S / max(writes_per_s, 0.01), 20_000):
        at_us += gap
        flush_us = flush_us if at_us < flush_us else at_us + 5 * MS
        waits.append(flush_us - at_us)
    assert np.mean(law.values) == pytest.approx(np.mean(waits), rel=0.02)
    assert np.mean(np.array(law.values) == 5 * MS) == pytest.approx(np.mean(np.array(waits) == 5 * MS), abs=0.01)


def test_an_adaptive_batch_waits_for_what_its_opener_leaves_behind_in_the_queue() -> None:
    """Against a queue of requests at random, at a load of 0.25."""
    law = append_linger(ADAPTIVE, 10.0, QUEUE)
    assert law is not None
    chance, count = np.random.default_rng(2), 100_000
    service_us = chance.choice([5 * MS, 15 * MS], count, p=[2 / 3, 1 / 3])
    arrived = np.cumsum(chance.exponential(S / 30, count))
    done = np.zeros(count)
    for at in range(count):
        done[at] = max(arrived[at], done[at - 1]) + service_us[at]
    behind = np.searchsorted(arrived, done, side="right") - np.arange(1, count + 1)
    average_us = service_us.mean()
    assert np.mean(law.values) == pytest.approx(behind.mean() * average_us, rel=0.03)
    assert np.mean(np.array(law.values) == 0) == pytest.approx(np.mean(behind == 0), abs=0.01)


def test_on_an_idle_shard_an_adaptive_batch_is_flushed_at_once() -> None:
    assert append_linger(ADAPTIVE, 0.0, ()) is None
    assert append_linger(ADAPTIVE, 5.0, (Stream(5.0, 40),)) is None
    assert append_linger(0, 5.0, QUEUE) is None


def _stable_us(linger_us: int) -> int:
    config = CoordinatorConfig(append_linger_us=linger_us)
    (first, *_) = rounds(simulate(scenario(group(2, client=client()), horizon_us=20 * S, config=config)))
    return first.end_us


def test_the_leaders_assignment_waits_in_its_batch() -> None:
    assert _stable_us(7 * MS) == _stable_us(0) + 7 * MS == _stable_us(ADAPTIVE) + 7 * MS


@pytest.mark.parametrize("fidelity", ["elided", "message"])
def test_who_waits_for_its_commits_waits_for_the_flush(fidelity: str) -> None:
    """A batch of 200 ms and then a commit that waits for 50 ms: four in a second instead of five."""
    waits = Processing(per_poll_us=200 * MS, commit="after_batch", commit_waits=True)
    found = []
    for linger_us in (0, 50 * MS):
        config = CoordinatorConfig(append_linger_us=linger_us)
        one = scenario(group(1, client=client(), processing=waits), horizon_us=60 * S, rate_mrps=20_000, config=config)
        table = simulate(one, fidelity=fidelity).tables["requests"]  # type: ignore[arg-type]
        found.append(int(table.loc[table["api"] == "OffsetCommit", "count"].sum()))
    assert found[1] == pytest.approx(found[0] * 0.8, rel=0.06)


@pytest.mark.property
@pytest.mark.parametrize("linger_us", [ADAPTIVE, 40 * MS])
@pytest.mark.parametrize(
    "consumer",
    [client(enable_auto_commit=True), cooperative(), client(group_protocol="consumer", enable_auto_commit=True)],
    ids=["eager", "cooperative", "consumer"],
)
def test_both_fidelities_wait_alike(consumer: ClientConfig, linger_us: int) -> None:
    assert not differences(_jittery(consumer, linger_us), 3)


def _jittery(consumer: ClientConfig, linger_us: int) -> Scenario:
    """Everything is drawn; requests take so long that the shard is busy for a seventh of the time."""
    processing = Processing(per_record=Distribution.constant(MS), per_poll_us=200 * MS)
    one = scenario(
        group(5, client=replace(consumer, heartbeat_interval_us=S), processing=processing), kill(20 * S, 1),
        join(33 * S, 5), horizon_us=45 * S, latency=LOOPBACK, rate_mrps=5_000,
        config=CoordinatorConfig(append_linger_us=linger_us),
    )  # fmt: skip
    times = EventTimes(heartbeat_us=20 * MS, consumer_heartbeat_us=20 * MS, commit_us=20 * MS)
    return replace(one, cluster=replace(one.cluster, event_times=times))
