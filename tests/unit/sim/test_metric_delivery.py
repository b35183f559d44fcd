"""Duplicates and losses, by cause: a member starts at the group's committed offset, not where the last one was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from groupsim.sim import Result
from groupsim.sim.model import (
    AddPartitions,
    CreateTopic,
    Entry,
    GcPause,
    Kill,
    Override,
    Processing,
    Restart,
    SetRate,
    Start,
    Stuck,
    Subscription,
    Topic,
)
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
    with_start,
)

EARLIEST = replace(CLIENT, auto_offset_reset="earliest")
NEVER_PARKED = replace(CLIENT, fetch_max_wait_us=0)
NO_COMMITS = replace(PROCESSING, commit="none")
KILLED = entry(20 * S, Kill(target=member(0), down=lasting(15 * S)))

both = pytest.mark.parametrize("fidelity", FIDELITIES)


@both
def test_a_healthy_group_reads_everything_once(fidelity: str) -> None:
    result = simulate(scene(group(count=3)), fidelity)
    assert delivered(result) == {}
    assert (summary(result)["duplicates"], summary(result)["losses"]) == (0, 0)


@both
def test_after_a_kill_what_was_not_committed_is_read_again(fidelity: str) -> None:
    """Commits ride on polls five seconds apart; the last one before 20 s was sent between 15 s and 15.3 s."""
    result = simulate(scene(timeline=(KILLED,)), fidelity)
    ((cause, records),) = delivered(result).items()
    assert cause == ("duplicate", "kill")
    assert 4 * 47 <= records <= 4 * 50
    assert summary(result)["duplicates"] == records


@both
def test_after_a_close_nothing_is_read_again(fidelity: str) -> None:
    back = entry(20 * S, Restart(target=member(0), down=lasting(15 * S)))
    assert delivered(simulate(scene(timeline=(back,)), fidelity)) == {}


@both
def test_without_commits_a_kill_repeats_everything_or_skips_what_came_meanwhile(fidelity: str) -> None:
    repeating = simulate(scene(group(client=EARLIEST, processing=NO_COMMITS), timeline=(KILLED,)), fidelity)
    assert delivered(repeating) == {("duplicate", "kill"): 4 * 200}
    skipping = simulate(scene(group(processing=NO_COMMITS), timeline=(KILLED,)), fidelity)
    expired = rows(skipping, "ownership", partition=0)[1]["from_us"]
    assert 35 * S < expired < 35_100 * MS
    assert delivered(skipping) == {("loss", "kill"): 4 * 150}


@both
def test_an_eager_rebalance_without_commits_repeats_everything(fidelity: str) -> None:
    result = simulate(scene(group(client=EARLIEST, processing=NO_COMMITS, **with_start(20 * S))), fidelity)
    revoked = max(one["to_us"] for one in rows(result, "ownership", ended_by="revoked"))
    assert delivered(result) == {("duplicate", "re-read"): 4 * (revoked // (S // 10))}


@both
def test_a_zombie_reads_what_the_new_owner_has_read(fidelity: str) -> None:
    pause = entry(20 * S, GcPause(target=member(1), duration=lasting(15 * S)))
    result = simulate(scene(group(count=2), timeline=(pause,)), fidelity)
    assert set(delivered(result)) == {("duplicate", "zombie")}
    twice = delivered(result)["duplicate", "zombie"]
    # two partitions: what was not committed by 20 s (49 records) is repeated by the new owner; then it reads 150 more,
    # of which the zombie repeats as many as it gets through before it learns that it is one
    assert 2 * 49 < twice < 2 * (49 + 152)


@both
@pytest.mark.parametrize("reset", ["latest", "earliest"])
def test_partitions_found_late_lose_their_beginning_if_read_from_the_end(fidelity: str, reset: str) -> None:
    reader = group(client=replace(NEVER_PARKED, metadata_max_age_us=15 * S, auto_offset_reset=reset))
    result = simulate(scene(reader, timeline=(entry(20 * S, AddPartitions(topic="t", to=6)),)), fidelity)
    assert 30 * S < rows(result, "ownership", partition=5)[0]["from_us"] < 30_100 * MS
    assert delivered(result) == ({("loss", "reset"): 2 * 100} if reset == "latest" else {})


@both
def test_a_topic_found_late_by_its_pattern_loses_its_beginning(fidelity: str) -> None:
    reader = group(client=replace(NEVER_PARKED, metadata_max_age_us=15 * S), subscription=Subscription(pattern="t.*"))
    created = entry(20 * S, CreateTopic(topic=Topic(name="t2", partitions=2, rate=constant(10_000))))
    result = simulate(scene(reader, timeline=(created,)), fidelity)
    assert 30 * S < rows(result, "ownership", topic="t2")[0]["from_us"] < 30_100 * MS
    assert delivered(result) == {("loss", "reset"): 2 * 100}


@both
@pytest.mark.parametrize(("killed_ms", "left"), [(20_500, 271), (20_600, 221)])
def test_commit_before_processing_loses_the_rest_of_the_batch(fidelity: str, killed_ms: int, left: int) -> None:
    """A backlog: batches of 500 at 2 ms, committed when they are fetched. 100 ms later there are 50 fewer to lose."""
    careless = Processing(per_record=lasting(2 * MS), commit="before_processing")
    killed = entry(killed_ms * MS, Kill(target=member(0), down=lasting(15 * S)))
    scenario = scene(group(processing=careless), partitions=1, rate=constant(1_000_000), timeline=(killed,))
    assert delivered(simulate(scenario, fidelity)) == {("loss", "kill"): left}


# --- broadcast: members overwrite one another's commits ---------------------------------------------------------------

BROADCAST = replace(EARLIEST, partition_assignment_strategy=("broadcast",), session_timeout_us=30 * S)
FAST = replace(BROADCAST, max_poll_records=5_000)
EACH_BATCH = replace(PROCESSING, commit="after_batch")
read_by_quiet = pytest.mark.parametrize(
    "fidelity",
    [
        "elided",
        "message",
    ],
)


def broadcast(*timeline: Entry, fidelity: str, rate: int = 1_000, **more: Any) -> Result:
    """Two static members, so that a restart is no rebalance; one partition."""
    people = group(count=2, static=True, **{"client": BROADCAST, "processing": EACH_BATCH, **more})
    return simulate(scene(people, partitions=1, rate=constant(rate), timeline=timeline), fidelity)


@both
def test_many_readers_are_no_duplicates(fidelity: str) -> None:
    assert delivered(broadcast(fidelity=fidelity)) == {}


@read_by_quiet
def test_a_member_that_restarts_over_a_later_commit_loses(fidelity: str) -> None:
    """It hangs at 10; the other one commits 12; it restarts there."""
    result = broadcast(
        entry(10_500 * MS, Stuck(target=member(0), duration=lasting(30 * S))),
        entry(12_500 * MS, Kill(target=member(0), down=lasting(200 * MS))),
        fidelity=fidelity,
    )
    assert delivered(result) == {("loss", "broadcast overwrite"): 2}


def slow(per_record_us: int) -> dict[str, Any]:
    """The first member takes its time over every single record, and commits each."""
    processing = Processing(per_record=lasting(per_record_us), commit="after_batch")
    client = replace(BROADCAST, max_poll_records=1)
    return {"overrides": (Override(members=frozenset({0}), processing=processing, client=client),)}


@read_by_quiet
def test_a_member_that_restarts_over_an_earlier_commit_repeats(fidelity: str) -> None:
    """It is at 10; the slow one commits 8; it restarts there."""
    killed = entry(10_600 * MS, Kill(target=member(1), down=lasting(200 * MS)))
    result = broadcast(killed, fidelity=fidelity, processing=PROCESSING, **slow(1_250 * MS))
    assert delivered(result) == {("duplicate", "broadcast overwrite"): 2}


@read_by_quiet
def test_a_slow_reader_s_commit_makes_a_fast_one_repeat_everything(fidelity: str) -> None:
    killed = entry(10 * S, Kill(target=member(1), down=lasting(200 * MS)))
    people = {"client": FAST, "processing": PROCESSING, **slow(1_050 * MS)}
    result = broadcast(killed, fidelity=fidelity, rate=10_000_000, **people)
    assert delivered(result) == {("duplicate", "broadcast overwrite"): 100_000 - 9}


@read_by_quiet
@pytest.mark.parametrize("killed", [0, 1])
def test_offsets_kept_outside_kafka_cure_broadcast(fidelity: str, killed: int) -> None:
    """The same hang and the same slow reader: who is back goes on where it was, whatever the other one has read."""
    kept = replace(PROCESSING, commit="outside")
    slow_one = Override(members=frozenset({0}), processing=replace(kept, per_record=lasting(1_250 * MS)))
    timeline = (
        entry(10_500 * MS, Stuck(target=member(killed), duration=lasting(30 * S))),
        entry(12_500 * MS, Kill(target=member(killed), down=lasting(200 * MS))),
    )
    result = broadcast(*timeline, fidelity=fidelity, processing=kept, overrides=(slow_one,))
    assert rows(result, "requests", api="OffsetCommit") == []
    assert delivered(result) == {}


# --- what the past produced -------------------------------------------------------------------------------------------


@both
def test_a_group_that_comes_late_finds_what_was_produced_before_it(fidelity: str) -> None:
    costly = replace(PROCESSING, per_record=lasting(S))
    late = group(client=EARLIEST, processing=costly, start=Start(value_us=10 * S))
    result = simulate(scene(late, horizon_us=20 * S, sample_every_us=11 * S), fidelity)
    assert rows(result, "lag")[0]["lag_records"] in (4 * 110, 4 * 110 - 1)
    assert rows(result, "lag")[0]["lag_us"] == pytest.approx(11 * S - 100 * MS, abs=100 * MS)


def test_a_group_that_comes_late_finds_what_was_produced_at_a_former_rate() -> None:
    costly = replace(PROCESSING, per_record=lasting(S))
    late = group(client=EARLIEST, processing=costly, start=Start(value_us=10 * S))
    quiet = entry(5 * S, SetRate(topic="t", rate=constant(0)))
    result = simulate(scene(late, horizon_us=20 * S, sample_every_us=11 * S, timeline=(quiet,)))
    assert rows(result, "lag")[0]["lag_records"] in (4 * 50, 4 * 50 - 1)
