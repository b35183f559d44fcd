"""Records that are deleted before they are read, and offsets that expire before their group comes back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from groupsim.sim import Result
from groupsim.sim.model import CreateTopic, Entry, GcPause, Kill, Processing, Scenario, SetConfig, Subscription, Topic
from groupsim.sim.units import MS, S
from tests.unit.sim.scenes import (
    CLIENT,
    FIDELITIES,
    PROCESSING,
    constant,
    delivered,
    entry,
    group,
    lasting,
    member,
    rows,
    scene,
    simulate,
    summary,
)

EARLIEST = replace(CLIENT, auto_offset_reset="earliest")
EACH_BATCH = replace(PROCESSING, commit="after_batch")
both = pytest.mark.parametrize("fidelity", FIDELITIES)


def aged(*groups: Any, timeline: tuple[Entry, ...] = (), retention_us: int = 5 * S, **more: Any) -> Scenario:
    """Four partitions at ten records a second; from 30 s on, every 10 s, what is older than 5 s is deleted."""
    made = scene(*groups, timeline=timeline, **more)
    (topic,) = made.topics
    cluster = replace(made.cluster, log_retention_check_us=10 * S)
    return replace(made, topics=(replace(topic, retention_us=retention_us),), cluster=cluster)


def outage(from_s: int, length_s: int) -> Entry:
    return entry(from_s * S, Kill(target=member(0), down=lasting(length_s * S)))


@both
def test_what_is_deleted_during_an_outage_is_lost(fidelity: str) -> None:
    """Down from 20 s to 45 s: by 40 s the records of 20 s to 35 s are gone."""
    result = simulate(aged(group(client=EARLIEST, processing=EACH_BATCH), timeline=(outage(20, 25),)), fidelity)
    lost = delivered(result)["loss", "retention"]
    assert 4 * 150 <= lost <= 4 * 152
    assert summary(result)["losses"] == lost
    assert max(one["lag_records"] for one in rows(result, "lag")) <= 4 * 151, "what is deleted is no lag"


@both
def test_nothing_is_lost_that_is_younger_or_read(fidelity: str) -> None:
    reader = group(client=EARLIEST, processing=EACH_BATCH)
    assert ("loss", "retention") not in delivered(simulate(aged(reader, timeline=(outage(20, 4),)), fidelity))
    kept = aged(reader, timeline=(outage(20, 25),), retention_us=21 * S)
    assert ("loss", "retention") not in delivered(simulate(kept, fidelity))
    assert delivered(simulate(aged(reader), fidelity)) == {}


@both
def test_out_of_range_and_latest_skips_to_the_end(fidelity: str) -> None:
    """At 45 s the log start is 350, the end 450."""
    result = simulate(aged(group(processing=EACH_BATCH), timeline=(outage(20, 25),)), fidelity)
    found = delivered(result)
    assert 4 * 150 <= found["loss", "retention"] <= 4 * 152
    assert 4 * 100 <= found["loss", "reset"] <= 4 * 102
    assert set(found) == {("loss", "retention"), ("loss", "reset")}


@both
def test_out_of_range_and_none_ends_the_application(fidelity: str) -> None:
    strict = entry(19 * S, SetConfig(target=member(0), client=replace(CLIENT, auto_offset_reset="none")))
    run = aged(group(client=EARLIEST, processing=EACH_BATCH), timeline=(strict, outage(20, 25)))
    lives = [one["ended_by"] for one in rows(simulate(run, fidelity), "members")]
    assert lives == ["killed", "failed: OFFSET_OUT_OF_RANGE"]


@both
def test_a_reader_that_stood_still_goes_on_where_the_log_starts(fidelity: str) -> None:
    """From 25 s to 45 s; by 40 s everything before 35 s is gone."""
    frozen = entry(25 * S, GcPause(target=member(0), duration=lasting(20 * S)))
    patient = replace(EARLIEST, session_timeout_us=40 * S)
    result = simulate(aged(group(client=patient), timeline=(frozen,)), fidelity)
    assert delivered(result) == {("loss", "retention"): 4 * 100}
    assert rows(result, "lag", time_us=50 * S)[0]["lag_records"] <= 4


@both
def test_a_reader_that_is_too_slow_loses_what_it_does_not_reach(fidelity: str) -> None:
    """Two records a second of forty; by 110 s what was produced before 105 s is gone.

    At each of the nine checks a position is cut to whole records, in four partitions.
    """
    slow = group(client=replace(EARLIEST, max_poll_records=1), processing=Processing(per_record=lasting(500 * MS)))
    result = simulate(aged(slow, horizon_us=120 * S), fidelity)
    (lost,) = delivered(result).values()
    assert 4 * 1_050 - 2 * 110 <= lost <= 4 * 1_050 - 2 * 109 + 4 * 9
    assert max(one["lag_us"] for one in rows(result, "lag") if one["time_us"] > 40 * S) <= 15 * S


@both
def test_in_a_broadcast_group_each_member_loses_its_own(fidelity: str) -> None:
    everything = replace(EARLIEST, partition_assignment_strategy=("broadcast",))
    result = simulate(
        aged(
            group(client=everything, processing=replace(PROCESSING, commit="none"), count=2), timeline=(outage(20, 25),)
        ),
        fidelity,
    )
    assert 4 * 150 <= delivered(result)["loss", "retention"] <= 4 * 152


@both
def test_a_topic_that_is_found_late_loses_what_was_deleted_before(fidelity: str) -> None:
    """Created at 20 s, found at 52 s and read from the beginning, which is what 45 s left."""
    reader = group(client=replace(EARLIEST, metadata_max_age_us=50 * S), subscription=Subscription(pattern="t.*"))
    made = Topic(name="t2", partitions=2, rate=constant(10_000), retention_us=5 * S)
    run = replace(scene(reader, timeline=(entry(20 * S, CreateTopic(topic=made)),)))
    run = replace(run, cluster=replace(run.cluster, log_retention_check_us=10 * S))
    result = simulate(run, fidelity)
    assert 50 * S < rows(result, "ownership", topic="t2")[0]["from_us"] < 50_200 * MS
    assert delivered(result) == {("loss", "retention"): 2 * 250}


# --- offsets.retention.minutes ----------------------------------------------------------------------------------------


def forgetful(*timeline: Entry, reset: str = "earliest") -> Scenario:
    """Offsets of an empty group are kept for 5 s, and looked at every 3 s."""
    made = scene(group(client=replace(CLIENT, auto_offset_reset=reset), processing=EACH_BATCH), timeline=timeline)
    config = replace(made.cluster.config, offsets_retention_us=5 * S, offsets_retention_check_interval_us=3 * S)
    return replace(made, cluster=replace(made.cluster, config=config))


def first_after(result: Result, time_us: int) -> int:
    return int(
        next(one["generation"] for one in rows(result, "states") if one["from_us"] > time_us and one["generation"])
    )


@both
def test_the_offsets_of_a_group_that_was_empty_too_long_are_gone_and_so_is_its_generation(fidelity: str) -> None:
    """Killed at 20 s, expelled by 30 s, empty for 5 s by 35 s, looked at at 36 s, back at 50 s."""
    result = simulate(forgetful(outage(20, 30)), fidelity)
    found = delivered(result)
    assert set(found) == {("duplicate", "expired offset")}
    assert 4 * 198 <= found["duplicate", "expired offset"] <= 4 * 200
    assert first_after(result, 50 * S) == 1


@both
def test_reset_to_latest_loses_what_came_while_nobody_was_there(fidelity: str) -> None:
    found = delivered(simulate(forgetful(outage(20, 30), reset="latest"), fidelity))
    assert set(found) == {("loss", "expired offset")}
    assert 4 * 300 <= found["loss", "expired offset"] <= 4 * 302


@both
def test_the_offsets_of_a_group_that_comes_back_in_time_are_kept(fidelity: str) -> None:
    result = simulate(forgetful(outage(20, 14)), fidelity)
    assert set(delivered(result)) <= {("duplicate", "kill")}
    assert first_after(result, 34 * S) > 1
