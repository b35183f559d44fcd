"""An assignor that takes long holds its shard: members of every group there queue, in both fidelities alike."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from groupsim.sim import Result, simulate
from groupsim.sim.books.shard_books import ShardBooks
from groupsim.sim.cluster.shard.event_loop import HELD_FROM_US, EventLoop
from groupsim.sim.cluster.shard.worker_threads import WorkerThreads
from groupsim.sim.config import ClientConfig, EventTimes
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.model import Entry, Group, Members, Processing, Scale, Scenario, Subscription, Target, Topic
from groupsim.sim.units import MS, S
from tests.support.fidelity import differences
from tests.support.scenarios import LOOPBACK, STEADY, TIMING, at, client, cooperative, group, kill, pause, scenario

RUN_US = 2 * S
GROWS_US = 40 * S
SESSION_US = 10 * S
SERVICE_US, APPEND_US = TIMING.service_us, TIMING.append_us
QUIET = client(session_timeout_us=SESSION_US, enable_auto_commit=True, auto_commit_interval_us=S)
NOISY = Group(
    name="noisy", subscription=Subscription(topics=("u",)), members=Members(count=3),
    client=client(group_protocol="consumer"),
)  # fmt: skip


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Assignors of the coordinator take `RUN_US`."""
    monkeypatch.setattr("groupsim.sim.cluster.groups.target_assignors.coordinator_cost_us", lambda *_: RUN_US)


def neighbours(consumer: ClientConfig, *timeline: Entry, jitter: bool = False, **changes: Any) -> Scenario:
    """Five members beside a group of the consumer protocol, in the only shard; the other group grows at 40 s."""
    grows = at(GROWS_US, Scale(target=Target("group", "noisy"), to=4))
    one = scenario(
        group(5, client=consumer, **changes), grows, *timeline, horizon_us=70 * S, partitions=10, rate_mrps=5_000,
        latency=LOOPBACK if jitter else STEADY, more_topics=(Topic(name="u", partitions=6),), measure_from_us=20 * S,
    )  # fmt: skip
    config = replace(one.cluster.config, offsets_topic_num_partitions=1)
    return replace(one, cluster=replace(one.cluster, config=config), groups=(*one.groups, NOISY))


def held(result: Result) -> list[int]:
    """When assignors that began after the growth were done, microseconds."""
    grown = result.tables["rebalances"].query("group == 'noisy' and start_us >= @GROWS_US")
    return [at_us + RUN_US for at_us in grown["start_us"].tolist()]


@pytest.mark.usefixtures("slow")
@pytest.mark.property
@pytest.mark.parametrize(
    "consumer",
    [QUIET, cooperative(enable_auto_commit=True), client(group_protocol="consumer", enable_auto_commit=True)],
    ids=["eager", "cooperative", "consumer"],
)
@pytest.mark.parametrize("commits", ["auto", "after_batch"])
def test_both_fidelities_queue_alike_behind_an_assignor(consumer: ClientConfig, commits: str) -> None:
    processing = Processing(per_poll_us=150 * MS, commit=commits)
    dies = kill(GROWS_US + RUN_US - 200 * MS, 1, down_us=15 * S)
    assert not differences(neighbours(consumer, dies, jitter=True, processing=processing), 1)


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize(
    ("consumer", "ahead_us"),
    [
        pytest.param(client(heartbeat_interval_us=1_400 * MS), 0, id="a heartbeat"),
        pytest.param(client(heartbeat_interval_us=S), SERVICE_US, id="a heartbeat behind another"),
        pytest.param(QUIET, SERVICE_US + APPEND_US, id="a commit behind another"),
        pytest.param(
            replace(QUIET, heartbeat_interval_us=1_400 * MS),
            2 * (SERVICE_US + APPEND_US),
            id="a heartbeat among commits",
        ),
    ],
)
@pytest.mark.parametrize("fidelity", ["elided", "message"])
def test_a_request_that_waits_renews_the_session_when_its_turn_comes(
    fidelity: str, consumer: ClientConfig, ahead_us: int
) -> None:
    """Member 1 dies while an assignor runs and its requests wait: its session counts from the last one's turn.

    It has had a pause since the assignor began, after which it would be quiet if it were not for that. Requests of one
    connection are worked on one after the other, each when the one ahead is answered.
    """
    faults = pause(GROWS_US + S, 200 * MS, 1), kill(GROWS_US + RUN_US + 500 * MS, 1)
    scene = neighbours(consumer, *faults)
    result = simulate(scene, fidelity=fidelity)  # type: ignore[arg-type]
    (end,) = held(result)
    mine = result.tables["rebalances"].query("group == 'g' and start_us > @GROWS_US")
    (expired,) = mine["start_us"].tolist()
    assert expired == end + ahead_us + SESSION_US


@pytest.mark.parametrize(("run_us", "holds"), [(HELD_FROM_US - 1, 0), (HELD_FROM_US, 1)])
def test_what_takes_less_than_a_message_varies_holds_up_nobody(run_us: int, holds: int) -> None:
    env, told = Environment(1_000), []
    threads = WorkerThreads(env, 0, 4)
    loop = EventLoop(env, ShardBooks(0, (0, S)), threads, EventTimes(), is_metered=False)
    loop.before_hold = lambda: told.append(loop.is_held)
    loop.run_assignor(run_us)
    assert told == [False] * holds, "its members are woken before it is held"
    assert loop.is_held == bool(holds) != loop.is_free
    assert loop.books.assignors_us == {run_us: 1}, "it counts in the figures either way"
