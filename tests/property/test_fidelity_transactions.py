"""Elided and message fidelity give equal tables where members produce in transactions and are killed in the middle.

Only message fidelity works on each request of a broker's when that arrives; else it is done ahead of the clock, and
undone if somebody comes to the same transactional id meanwhile: who succeeds a dead member, or has its id. Only message
fidelity carries out the transactions of members that nobody can disturb for a while.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from groupsim.sim.books.producing import output_history
from groupsim.sim.books.producing.output_history import OutputHistory
from groupsim.sim.cluster.transactions.transaction_shard import TransactionShard
from groupsim.sim.config import CoordinatorConfig, Timing, TransactionConfig
from groupsim.sim.fastpath.transactions import ahead, telling
from groupsim.sim.model import (
    AddPartitions,
    Cluster,
    CrashAt,
    Distribution,
    Entry,
    GcPause,
    Kill,
    Restart,
    Scenario,
    SetRate,
    Slow,
    Stuck,
    Target,
)
from groupsim.sim.output import lag_reading
from groupsim.sim.protocol.transactions.messages import TV1, TV2
from groupsim.sim.units import MS, S
from tests.property.test_exactly_once import cuts
from tests.support.fidelity import differences
from tests.unit.sim.scenes import constant, entry, lasting, member
from tests.unit.sim.transactional_scenes import EARLIEST, JITTER, SLOW_LOG, WORK, played, producing, transform

pytestmark = pytest.mark.property

POINTS = ("after_poll", "after_send", "before_commit", "before_end_txn", "after_end_txn", "after_commit")
SLOW_ANSWERS = Cluster(config=CoordinatorConfig(initial_rebalance_delay_us=0), timing=Timing(service_us=150 * MS))


@st.composite
def deaths(draw: st.DrawFn) -> Entry:
    """Who dies is back before the coordinator is done with what it has sent."""
    who = member(draw(st.integers(0, 2)))
    verb: Any = draw(
        st.sampled_from(
            [
                Kill(target=who, down=lasting(draw(st.sampled_from([0, MS, 100 * MS])))),
                CrashAt(target=who, point=draw(st.sampled_from(POINTS)), down=lasting(0)),
            ]
        )
    )
    return entry(draw(st.integers(4 * S, 38 * S)), verb, f"death-{draw(st.integers(0, 10**9))}")


@st.composite
def settings_of_runs(draw: st.DrawFn) -> dict[str, Any]:
    name = draw(st.sampled_from(["{member}", "{member}", "shared"]))
    transactions = TransactionConfig(version=draw(st.sampled_from([TV2, TV2, TV1])))
    return {
        "protocol": draw(st.sampled_from(["classic", "cooperative", "consumer"])),
        "produces": producing(transaction_timeout_us=draw(st.sampled_from([1, 6])) * S, transactional_id=name),
        "cluster": replace(draw(st.sampled_from([JITTER, SLOW_LOG, SLOW_ANSWERS])), transactions=transactions),
    }


@settings(max_examples=6, deadline=None)
@given(timeline=st.lists(deaths(), max_size=9, unique_by=lambda one: one.id), more=settings_of_runs())
def test_while_members_die(timeline: list[Entry], more: dict[str, Any]) -> None:
    note(str((timeline, more)))
    assert not differences(transform(*timeline, count=3, horizon_s=45, **more), 1, check=False)


@settings(max_examples=4, deadline=None)
@given(
    timeline=st.lists(cuts(), min_size=1, max_size=3, unique_by=lambda one: one.id),
    dying=st.lists(deaths(), max_size=3, unique_by=lambda one: one.id),
    more=settings_of_runs(),
)
def test_while_brokers_are_cut_off(timeline: list[Entry], dying: list[Entry], more: dict[str, Any]) -> None:
    note(str((timeline, dying, more)))
    made = transform(*timeline, *dying, count=3, copies=3, horizon_s=80, **more)
    assert not differences(made, 1, check=False)


COSTS = [
    lasting(100), lasting(2 * MS), lasting(5 * MS), Distribution("lognormal", (1_600, 6_400)),
    Distribution("uniform", (0, 9 * MS)), Distribution("empirical", (MS, MS, MS, 40 * MS)),
]  # fmt: skip


@st.composite
def calm_groups(draw: st.DrawFn) -> dict[str, Any]:
    """Members that mostly go from one transaction to the next: some read little, some find a batch each time."""
    timing = Timing(append_us=draw(st.sampled_from([MS, 20 * MS])), service_us=draw(st.sampled_from([10, 300, 3 * MS])))
    forgetful = TransactionConfig(id_expiration_us=draw(st.sampled_from([9, 86_400])) * S, remove_interval_us=3 * S)
    processing = replace(
        WORK, per_record=draw(st.sampled_from(COSTS)),
        per_poll_us=draw(st.sampled_from([1, 50, 300])) * MS, poll_timeout_us=draw(st.sampled_from([50, 500])) * MS,
    )  # fmt: skip
    beat_us = draw(st.sampled_from([1, 2, 3])) * S
    client = replace(
        EARLIEST, heartbeat_interval_us=beat_us, session_timeout_us=draw(st.sampled_from([10, 45])) * S,
        retry_backoff_us=draw(st.sampled_from([20, 100, 300])) * MS,
        partition_assignment_strategy=draw(st.sampled_from([("range",), ("cooperative-sticky",)])),
        group_protocol=draw(st.sampled_from(["classic", "consumer"])),
    )  # fmt: skip
    config = CoordinatorConfig(
        initial_rebalance_delay_us=0, consumer_heartbeat_interval_us=beat_us, consumer_min_heartbeat_interval_us=S
    )
    return {
        "count": draw(st.integers(1, 4)), "partitions": draw(st.sampled_from([1, 4, 7])),
        "rate": draw(st.sampled_from([300, 2_000, 10_000])), "processing": processing,
        "cluster": replace(JITTER, timing=timing, transactions=forgetful, config=config), "client": client,
    }  # fmt: skip


DISTURBANCES: list[Any] = [
    GcPause(target=member(0), duration=lasting(400 * MS)), GcPause(target=member(0), duration=lasting(15 * S)),
    Stuck(target=member(0), duration=lasting(5 * S)), Slow(target=member(0), factor=3.0, duration=lasting(9 * S)),
    SetRate(topic="t", rate=constant(20_000)), SetRate(topic="t", rate=constant(0)),
    Kill(target=member(0), down=lasting(3 * S)), CrashAt(target=member(0), point="before_commit", down=lasting(0)),
    Restart(target=member(0), down=lasting(3 * S)),
]  # fmt: skip


PAUSED = Entry(
    id="gc", every=Distribution("exponential", (9 * S,)), per_member=True,
    verb=GcPause(target=Target("group", "g"), duration=Distribution("lognormal", (300 * MS, 6 * S))),
)  # fmt: skip
"""Each member stands still now and then, as its own draws will have it."""


@settings(max_examples=6, deadline=None)
@given(
    more=calm_groups(),
    verbs=st.lists(
        st.tuples(st.integers(10, 50), st.sampled_from(DISTURBANCES)), max_size=2, unique_by=lambda one: one[0]
    ),
    are_paused=st.booleans(),
    cells=st.sampled_from([100, 1 << 19]),
    kept=st.sampled_from([1, 1 << 20]),
    span_us=st.sampled_from([S, 10 * S]),
)
def test_what_is_worked_out_ahead_is_what_members_do(
    more: dict[str, Any], verbs: list[tuple[int, Any]], are_paused: bool, cells: int, kept: int, span_us: int
) -> None:
    timeline = [entry(at * S + 123_457, verb, f"at-{at}") for at, verb in verbs] + [PAUSED] * are_paused
    note(str((more, timeline, cells, kept, span_us)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ahead, "_CELLS", cells)
        patch.setattr(telling, "_SPAN_US", span_us)
        patch.setattr(output_history, "_KEPT", kept)
        patch.setattr(lag_reading, "_ROWS", kept)
        assert not differences(transform(*timeline, horizon_s=60, **more), 1, check=False)


def test_nothing_is_lost_of_what_is_told_late_and_bit_by_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A member that cannot keep up takes all steps as events, beside others that are parked again and again."""
    monkeypatch.setattr(ahead, "_CELLS", 1)
    monkeypatch.setattr(output_history, "_KEPT", 0)
    monkeypatch.setattr(lag_reading, "_ROWS", 0)
    settled, note_all, settle = [0], OutputHistory.note_all, OutputHistory._settle_before

    def noted(history: OutputHistory, place: Any, time: Any, *others: Any) -> None:
        assert time.min() >= settled[-1]
        note_all(history, place, time, *others)

    def settling(history: OutputHistory, until: int, horizon: int | None) -> None:
        settled.append(until)
        settle(history, until, horizon)

    monkeypatch.setattr(OutputHistory, "note_all", noted)
    monkeypatch.setattr(OutputHistory, "_settle_before", settling)
    slow = entry(2 * S, Slow(target=member(1), factor=40.0, duration=lasting(50 * S)))
    pauses = [
        entry(at * S, GcPause(target=member(0), duration=lasting(400 * MS)), f"gc-{at}") for at in range(8, 55, 6)
    ]
    waiting = replace(WORK, poll_timeout_us=400 * MS)
    client = replace(EARLIEST, session_timeout_us=45 * S)
    made = transform(
        slow, *pauses, PAUSED, count=4, rate=2_000, horizon_s=60, processing=waiting, cluster=JITTER, client=client
    )
    sized = tuple(replace(topic, record_bytes=100) for topic in made.topics)
    found = replace(made, sample_every_us=2 * S, measure_from_us=15 * S, recovery_lag_records=30, topics=sized)
    assert not differences(found, 1, check=False)
    assert len(settled) > 1000


def test_what_members_do_who_part_is_not_told_of_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is sure is worked out at once, while some of those who have parted still have to go on."""
    monkeypatch.setattr(ahead, "_CELLS", 1)
    monkeypatch.setattr(telling, "_SPAN_US", 3 * S)
    monkeypatch.setattr(output_history, "_KEPT", 1)
    monkeypatch.setattr(lag_reading, "_ROWS", 1)
    work = replace(WORK, per_record=COSTS[-1], per_poll_us=MS, poll_timeout_us=500 * MS)
    client = replace(EARLIEST, heartbeat_interval_us=2 * S)
    cluster = replace(JITTER, timing=Timing(append_us=MS, service_us=3 * MS))
    produces = producing(transaction_timeout_us=3 * S)
    made = transform(
        count=4, partitions=7, horizon_s=60, processing=work, client=client, cluster=cluster, produces=produces
    )
    assert not differences(replace(made, sample_every_us=S), 1, check=False)


def test_calm_members_take_no_steps() -> None:
    """A minute is some 350 transactions of each of two members: ten events each, and most of them at the beginning."""
    found = [played(transform(horizon_s=60), fidelity) for fidelity in ("elided", "message")]
    assert found[0].tables["transactions"].equals(found[1].tables["transactions"])
    assert found[0].tables["transactions"].committed.min() > 300
    assert found[0].manifest["events"] * 20 < found[1].manifest["events"]


def test_a_pause_concerns_its_member_alone() -> None:
    """Six members, of which each stands still some five times: the others go on, and who is back joins them."""
    paused = replace(PAUSED, verb=replace(PAUSED.verb, duration=lasting(400 * MS)))
    client = replace(EARLIEST, session_timeout_us=45 * S)
    made = transform(paused, count=6, partitions=6, horizon_s=50, cluster=JITTER, client=client)
    found = [played(made, fidelity) for fidelity in ("elided", "message")]
    assert found[0].manifest["digests"] == found[1].manifest["digests"]
    assert found[0].manifest["events"] * 3 < found[1].manifest["events"]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_some_go_through_a_pass_more_than_others(protocol: Any) -> None:
    """Each reads ten records a second, in passes of a tenth of a second: some of them find none."""
    work = replace(WORK, per_record=COSTS[-1], per_poll_us=50 * MS, poll_timeout_us=50 * MS)
    client = replace(EARLIEST, heartbeat_interval_us=S, retry_backoff_us=300 * MS, group_protocol=protocol)
    config = CoordinatorConfig(
        initial_rebalance_delay_us=0, consumer_heartbeat_interval_us=S, consumer_min_heartbeat_interval_us=S
    )
    cluster = replace(JITTER, config=config, timing=Timing(append_us=MS, service_us=300))
    made = transform(count=4, horizon_s=20, cluster=cluster, client=client, processing=work)
    found = [played(made, fidelity) for fidelity in ("elided", "message")]
    assert found[0].manifest["digests"] == found[1].manifest["digests"]
    assert found[0].manifest["events"] * 5 < found[1].manifest["events"]


def test_who_is_about_to_leave_is_noticed_before_others_are_parked() -> None:
    """What it has in hand when it is as fast as before again takes longer than max.poll.interval.ms."""
    hurried = replace(EARLIEST, max_poll_interval_us=2 * S)
    slow = entry(20 * S, Slow(target=member(0), factor=400.0, duration=lasting(20 * S)))
    assert not differences(transform(slow, count=3, horizon_s=60, client=hurried), 1, check=False)


def test_nobody_is_parked_over_a_refresh_that_makes_the_leader_rejoin() -> None:
    client = replace(EARLIEST, metadata_max_age_us=20 * S)
    more = entry(15 * S, AddPartitions(topic="t", to=7))
    assert not differences(transform(more, count=3, horizon_s=60, client=client), 1, check=False)


def killed_at(at_us: int) -> Scenario:
    """Latencies, services and appends of 200 ms; the member is back at once, and asks for its producer id."""
    kill = entry(at_us, Kill(target=member(0), down=lasting(0)), "kill")
    return transform(kill, count=1, horizon_s=20, cluster=SLOW_LOG)


def test_what_was_done_ahead_is_undone_wherever_the_successor_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """From a request on its way to the coordinator to an append that is not over: every 50 ms of a transaction."""
    found: set[bool] = set()
    catch_up = TransactionShard._catch_up

    def noted(shard: TransactionShard, name: str) -> None:
        found.update(one.begins > shard._env.moment for one in shard._under_way(name))
        catch_up(shard, name)

    monkeypatch.setattr(TransactionShard, "_catch_up", noted)
    for step in range(40):
        assert not differences(killed_at(10 * S + step * 50 * MS), 1, check=False), step
    assert found == {False, True}
