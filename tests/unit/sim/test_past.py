"""Groups that begin aged: what they are at 0, that nothing before is counted, and that their past is that of a run."""

from __future__ import annotations

from dataclasses import replace
from statistics import mean, stdev
from typing import Any

import pytest

from groupsim.assignors import Assignment, Assignor, AssignorError, GroupSnapshot
from groupsim.sim import Result, simulate
from groupsim.sim.client.polling.drawn_schedule import DrawnPollSchedule
from groupsim.sim.client.polling.heartbeat_thread import Cadence, next_beat
from groupsim.sim.client.polling.pace import Load, Pace
from groupsim.sim.client.polling.poll_schedule import PollSchedule
from groupsim.sim.errors import CannotBeginAged
from groupsim.sim.model import (
    ZERO,
    Distribution,
    Override,
    Processing,
    Rate,
    Scenario,
    Start,
)
from groupsim.sim.past import due_after, lateness, total_lateness, with_past
from groupsim.sim.randomness import Draw
from groupsim.sim.units import MINUTE, MS, S
from tests.support.fidelity import differences
from tests.support.scenarios import LOOPBACK, client, cooperative, group, join, kill, pause, requests, scenario


class Failing(Assignor):
    """Never answers anything of use."""

    name = "failing"

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        raise AssignorError("nothing fits")


DAY_US = 24 * 60 * MINUTE
RATE_MRPS = 20_000
LIGHT = Processing(per_record=Distribution.constant(4 * MS))
DRAWN = Processing(per_record=Distribution("lognormal", (4 * MS, 16 * MS)))
CADENCE = Cadence(3_000_600, 600, 100_100)
BEAT = (3 * S, 3 * S - CADENCE.interval_us)
"""When the next heartbeat is due, and when the step in hand began."""
MEMBERS = {
    "range": client(enable_auto_commit=True),
    "round robin": client(enable_auto_commit=True, partition_assignment_strategy=("roundrobin",)),
    "sticky": client(enable_auto_commit=True, partition_assignment_strategy=("sticky",)),
    "cooperative": cooperative(enable_auto_commit=True),
    "consumer": client(enable_auto_commit=True, group_protocol="consumer"),
}


def aged(age_us: int) -> Start:
    return Start(kind="aged", value_us=age_us)


def stable(
    age_us: int, *timeline: Any, consumer: Any = MEMBERS["range"], count: int = 4, processing: Processing = LIGHT,
    horizon_us: int = 60 * S, **more: Any,
) -> Scenario:  # fmt: skip
    given = {key: more.pop(key) for key in ("static", "overrides") if key in more}
    one = group(count, client=consumer, processing=processing, start=aged(age_us), **given)
    return scenario(one, *timeline, horizon_us=horizon_us, rate_mrps=RATE_MRPS, **{"latency": LOOPBACK, **more})


def summary(result: Result) -> dict[str, Any]:
    return result.tables.rows("summary")[0]


@pytest.mark.parametrize("kind", MEMBERS)
@pytest.mark.parametrize("static", [False, True])
def test_at_0_it_is_stable_balanced_and_without_lag_and_nothing_was_counted(kind: str, static: bool) -> None:
    result = simulate(stable(DAY_US, consumer=MEMBERS[kind], static=static, delay_us=0))
    told, rows = summary(result), result.tables.rows("states")
    assert [(row["from_us"], row["to_us"], row["state"]) for row in rows] == [(0, 60 * S, "Stable")]
    assert kind == "consumer" or rows[0]["generation"] == 1
    zero = ("rebalances", "joins", "unavailable_partition_s", "stop_the_world_s", "partitions_moved", "first_service_s")
    assert [told[name] for name in zero] == [0] * len(zero)
    assert told["lag_records_max"] <= 12
    assert told["horizon_s"] == 60
    assert {row["api"] for row in result.tables.rows("requests")} <= {
        "Heartbeat", "ConsumerGroupHeartbeat", "OffsetCommit", "Metadata"
    }  # fmt: skip
    assert [(row["started_us"], row["stable_us"], row["rejoins"]) for row in result.tables.rows("members")] == [
        (0, 0, 0)
    ] * 4
    owned = [row["member"] for row in result.tables.rows("ownership")]
    assert sorted(map(owned.count, set(owned))) == [3, 3, 3, 3]


@pytest.mark.parametrize("kind", MEMBERS)
@pytest.mark.parametrize("count", [2, 4])
def test_members_that_are_nearly_always_at_work_begin_without_lag_too(kind: str, count: int) -> None:
    """Nine tenths of a processor: what came before they were in would take a minute to work off."""
    busy = Processing(per_record=Distribution.constant(count * 3_750))
    result = simulate(
        stable(10 * S, consumer=MEMBERS[kind], count=count, processing=busy, horizon_us=5 * S, delay_us=0)
    )
    assert summary(result)["lag_records_max"] <= 36


def test_it_sends_as_many_requests_as_in_any_minute() -> None:
    result = simulate(stable(DAY_US))
    assert 4 * 19 <= requests(result, "Heartbeat") <= 4 * 20
    assert 4 * 11 <= requests(result, "OffsetCommit") <= 4 * 12
    assert [row["time_us"] for row in result.tables.rows("lag")] == [10 * S, 20 * S, 30 * S, 40 * S, 50 * S]
    assert [row["records"] for row in result.tables.rows("members")] == [60 * 60] * 4
    assert all(row["busy"] == pytest.approx(0.24, abs=0.002) for row in result.tables.rows("members"))
    assert [row["partitions"] for row in result.tables.rows("members")] == [3.0] * 4


def test_its_past_is_that_of_a_run_that_has_gone_on_for_so_long() -> None:
    """The same members, started long before, with no history to read: what follows is the same, later on the clock."""
    timeline = (kill(20 * S, 1, down_us=7 * S), join(45 * S, 6), pause(50 * S, 11 * S, 0))
    latest = client(enable_auto_commit=True, auto_offset_reset="latest")
    young = stable(10 * MINUTE, *timeline, consumer=latest, horizon_us=2 * MINUTE)
    at_once = replace(young.groups[0], members=replace(young.groups[0].members, boot=ZERO))
    young = replace(young, groups=(at_once,))
    past = with_past(young)
    begins = Start(value_us=past.groups[0].members.start.offset_us)
    old = replace(at_once, members=replace(at_once.members, start=begins))
    mine, other = simulate(young), simulate(replace(past, origin_us=0, groups=(old,)))
    shift = past.origin_us
    for table, begin, end in (("rebalances", "start_us", "end_us"), ("unavailability", "from_us", "to_us")):
        expected = [
            {**row, begin: row[begin] - shift, end: row[end] - shift}
            for row in other.tables.rows(table)
            if row[begin] >= shift
        ]
        assert len(expected) >= 3
        assert mine.tables.rows(table) == expected
    assert mine.tables.rows("requests") == other.tables.rows("requests")
    assert mine.tables.rows("delivery") == other.tables.rows("delivery")


@pytest.mark.parametrize(
    "given",
    [
        *({"consumer": consumer} for consumer in MEMBERS.values()),
        {"static": True, "consumer": MEMBERS["cooperative"]},
        {"processing": DRAWN},
        {"processing": replace(LIGHT, commit="after_batch")},
        {"overrides": (Override(members=frozenset({1}), processing=DRAWN),)},
        {"processing": DRAWN, "overrides": (Override(members=frozenset({1}), client=MEMBERS["consumer"]),)},
    ],
    ids=[*MEMBERS, "static", "drawn", "after batch", "one drawn", "both protocols"],
)
def test_both_fidelities_begin_alike(given: dict[str, Any]) -> None:
    timeline = (kill(4 * S, 1, down_us=3 * S), join(14 * S, 6))
    assert not differences(stable(6 * MINUTE, *timeline, horizon_us=16 * S, **given), seed=3, check=False)


def test_in_message_fidelity_everything_is_an_event_from_0_on_and_nothing_before() -> None:
    """A day of four members has 115,000 heartbeats; thirty seconds have some forty, and 1,800 records in passes."""
    one = stable(DAY_US, horizon_us=30 * S)
    quiet, loud = (simulate(one, fidelity=each).manifest["events"] for each in ("elided", "message"))
    assert quiet < 1_000
    assert quiet + 1_000 < loud < 20_000


def test_who_begins_later_finds_no_history() -> None:
    """A topic is new to a group that starts at 0 and reads from the beginning."""
    other = replace(group(2, client=client(enable_auto_commit=True), processing=LIGHT), name="h")
    told = stable(DAY_US)
    result = simulate(replace(told, groups=(*told.groups, other)))
    second = result.tables.rows("summary")[1]
    assert 500 < second["lag_records_max"] < 20 * 12 * 8
    assert second["rebalances"] == 1


def test_steps_of_a_rate_and_entries_come_after_0() -> None:
    steps = Rate(times_us=(0, 30 * S), per_partition_mrps=((RATE_MRPS,), (0,)))
    told = stable(DAY_US, kill(40 * S, 1))
    result = simulate(replace(told, topics=(replace(told.topics[0], rate=steps),)))
    assert sum(row["records"] for row in result.tables.rows("members")) == pytest.approx(12 * 20 * 30, abs=12)
    assert [row["time_us"] for row in result.tables.rows("events")] == [40 * S]
    assert result.tables.rows("unavailability")[0]["from_us"] >= 40 * S


def test_a_group_that_could_not_have_kept_up_is_refused() -> None:
    with pytest.raises(
        CannotBeginAged, match=r"cannot keep up: 60 records/s are produced for it, and it processes (50|49)"
    ):
        simulate(stable(MINUTE, processing=Processing(per_record=Distribution.constant(20 * MS))))


def test_a_group_that_was_never_stable_is_refused() -> None:
    told = stable(MINUTE)
    strange = replace(told.groups[0], client=client(partition_assignment_strategy=("failing",)))
    with pytest.raises(CannotBeginAged, match="group g cannot begin aged: after that time it is not Stable but"):
        simulate(replace(told, groups=(strange,), allow_assignors=("tests.unit.sim.test_past:Failing",)))


# --- how far heartbeats have drifted apart ----------------------------------------------------------------------------


def _paced(wait_us: int, busy_us: int) -> PollSchedule:
    paced = Pace(wait_us + busy_us, wait_us, 2, wait_us + busy_us, wait_us, 1, 1.0, 1.0)
    return PollSchedule(0, paced, Load(0, 0))


def _drawn(key: int) -> DrawnPollSchedule:
    paced = Pace(40 * MS, 5 * MS, 2, 40 * MS, 5 * MS, 1, 1.0, 1.0)
    cost = Draw(key, Distribution("lognormal", (20 * MS, 80 * MS)))
    return DrawnPollSchedule(0, paced, Load(0, 0), None, cost=cost, first=0, fixed_us=0)


def _walked(schedule: PollSchedule, end: int) -> list[int]:
    """When each heartbeat before ``end`` is sent."""
    sent, (due, since) = [], BEAT
    while (since := next_beat(schedule, CADENCE, due, since)) < end:
        sent.append(since)
        due = since + CADENCE.interval_us
    return sent


@pytest.mark.parametrize("hours", [1, 2])
@pytest.mark.parametrize("schedule", [_paced(5 * MS, 70 * MS), _paced(90 * MS, MS)], ids=["busy", "idle"])
def test_where_passes_are_alike_it_is_as_if_each_heartbeat_were_sent(schedule: PollSchedule, hours: int) -> None:
    end = hours * 60 * MINUTE
    assert due_after(schedule, CADENCE, *BEAT, end) == _walked(schedule, end)[-1] + CADENCE.interval_us


def test_where_passes_are_drawn_the_sum_has_the_mean_and_spread_of_many() -> None:
    """Twelve minutes of forty members: gone through, and drawn."""
    end = 12 * MINUTE
    sums = [
        sent[-1] - BEAT[0] - (len(sent) - 1) * CADENCE.interval_us
        for sent in (_walked(_drawn(n), end) for n in range(40))
    ]
    late = [one for n in range(40) for one in lateness(_drawn(1_000 + n), CADENCE, *BEAT, 30)]
    told = [total_lateness(late, CADENCE, end, (n + 0.5) / 40) for n in range(40)]
    assert mean(sums) == pytest.approx(mean(told), rel=0.06)
    assert 0.7 < stdev(told) / stdev(sums) < 1.4


@pytest.mark.parametrize(
    ("processing", "config", "is_walked"),
    [
        (LIGHT, {}, False),
        (DRAWN, {}, True),
        (replace(LIGHT, commit="after_batch"), {"enable_auto_commit": False}, True),
        (replace(LIGHT, commit_every_us=S), {}, True),
        (LIGHT, {"auto_commit_interval_us": 100 * MS}, True),
    ],
)
def test_of_passes_that_are_drawn_or_end_with_a_commit_only_the_last_minutes_are_gone_through(
    processing: Processing, config: dict[str, Any], is_walked: bool
) -> None:
    day = stable(DAY_US, consumer=replace(MEMBERS["range"], **config), processing=processing)
    assert with_past(day).origin_us < 10 * MINUTE if is_walked else with_past(day).origin_us >= DAY_US


def test_heartbeats_of_members_with_drawn_passes_lie_apart_after_a_day_and_hardly_after_a_minute() -> None:
    """Who hears of a rebalance early waits for those who hear of it late."""

    costly = Processing(per_record=Distribution("lognormal", (12 * MS, 48 * MS)))

    def unread(age_us: int) -> float:
        told = stable(age_us, kill(S, 1), processing=costly, count=6, horizon_us=30 * S)
        results = [simulate(told, seed=seed).tables.rows("summary")[0] for seed in range(4)]
        return mean(one["unavailable_barrier_s"] for one in results)

    assert unread(DAY_US) > 2 * unread(MINUTE)
