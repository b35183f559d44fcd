"""When applications commit by themselves: each batch or by a clock, waiting for the answer or not, when revoked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from groupsim.sim import Result
from groupsim.sim.client.incarnation import with_wait
from groupsim.sim.config import Timing
from groupsim.sim.model import Close, Distribution, GcPause, Kill, Processing, Start, StartMembers, Stuck
from groupsim.sim.units import MS, S
from tests.unit.sim.scenes import (
    CLIENT,
    COOPERATIVE,
    FIDELITIES,
    PROCESSING,
    constant,
    delivered,
    entry,
    everybody,
    group,
    lasting,
    member,
    rows,
    scene,
    simulate,
)

both = pytest.mark.parametrize("fidelity", FIDELITIES)
EARLIEST = replace(CLIENT, auto_offset_reset="earliest")
EVERY_4_S = replace(PROCESSING, commit="after_batch", commit_every_us=4 * S)
EACH = replace(PROCESSING, commit="after_batch")
LATE = Start(kind="every", value_us=20 * S)
"""The second member starts 20 s after the first."""
RATE = 40
"""Records a second of all four partitions."""


AHEAD = replace(PROCESSING, commit="before_processing", per_record=lasting(20 * MS))


@both
@pytest.mark.parametrize("data", ["fluid", "exact"])
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_first_batch_of_all_is_committed_before_it_is_processed(fidelity: str, data: str, protocol: str) -> None:
    """What has come in 4 s takes three: a kill meanwhile loses the rest of it, and repeats nothing."""
    client = replace(EARLIEST, group_protocol=protocol)
    kill = entry(5 * S, Kill(target=member(0), down=lasting(S)))
    one = group(client=client, processing=AHEAD, boot=lasting(4 * S))
    made = scene(one, partitions=1, rate=constant(40_000), timeline=(kill,))
    found = delivered(simulate(replace(made, data=data), fidelity))
    assert ("duplicate", "kill") not in found
    assert found["loss", "kill"] > 0


def commits(result: Result) -> int:
    return sum(one["count"] for one in rows(result, "requests", api="OffsetCommit"))


def killed(processing: Processing, at_ms: int, fidelity: str, **more: Any) -> Result:
    """One member, killed and back a second later."""
    kill = entry(at_ms * MS, Kill(target=member(0), down=lasting(S)))
    return simulate(scene(group(client=EARLIEST, processing=processing, **more), timeline=(kill,)), fidelity)


@both
@pytest.mark.parametrize(("at_ms", "since_ms"), [(19_000, 3_000), (23_500, 3_500)])
def test_what_is_read_twice_is_what_was_processed_since_the_clock_last_rang(
    fidelity: str, at_ms: int, since_ms: int
) -> None:
    """It rings at 4 s, 8 s, ... from the first assignment on, and the next poll commits: within 0.2 s each."""
    found = delivered(killed(EVERY_4_S, at_ms, fidelity))
    late = 0.2 * RATE * (at_ms // 4_000)
    assert since_ms / 1000 * RATE - late <= found["duplicate", "kill"] <= since_ms / 1000 * RATE + 0.2 * RATE


@both
def test_a_clock_rings_so_often_whoever_comes_and_goes(fidelity: str) -> None:
    """A rebalance does not set it back, as it does the timer of auto-commit."""
    timeline = tuple(entry(at_s * S, StartMembers(target=everybody())) for at_s in (10, 20, 30, 40)) + tuple(
        entry(at_s * S, Close(target=member(1))) for at_s in (7, 17, 27, 37, 47)
    )
    clocked = replace(EVERY_4_S, commit_every_us=8 * S)
    result = simulate(scene(group(count=2, processing=clocked), timeline=timeline), fidelity)
    assert commits(result) >= 60 // 8 - 1, "of the member that stays"
    silent = replace(CLIENT, auto_commit_interval_us=8 * S)
    auto = simulate(scene(group(count=2, client=silent), timeline=timeline), fidelity)
    assert commits(auto) > commits(result), "auto-commit commits before each rebalance as well"


@both
def test_commits_by_a_clock_are_that_many(fidelity: str) -> None:
    result = simulate(scene(group(processing=EVERY_4_S)), fidelity)
    assert 60 // 4 - 2 <= commits(result) <= 60 // 4
    assert commits(simulate(scene(group(processing=EACH)), fidelity)) > 250


@both
def test_who_waits_for_its_commits_polls_later_by_that(fidelity: str) -> None:
    """100 ms of work a batch, and a round trip of 20 ms in addition."""
    slow = replace(scene().cluster.network, latency=Distribution.constant(10 * MS))
    waits, goes_on = replace(EACH, commit_waits=True), EACH
    rate = {"rate": scene().topics[0].rate}
    found = []
    for processing in (goes_on, waits):
        made = scene(group(processing=processing), **rate)
        found.append(commits(simulate(replace(made, cluster=replace(made.cluster, network=slow)), fidelity)))
    assert found[1] < found[0]


def test_a_wait_is_the_round_trip_at_the_coordinator() -> None:
    timing = Timing()
    waits = with_wait(replace(EACH, commit_waits=True), 1_400, timing)
    assert waits.commit_wait_us == 1_400 + timing.service_us + timing.append_us
    assert with_wait(EACH, 700, timing) is EACH


@both
def test_who_commits_only_when_revoked_repeats_everything_after_a_kill_and_nothing_after_a_move(fidelity: str) -> None:
    silent = replace(PROCESSING, commit="none", commit_on_revoked=True)
    assert delivered(killed(silent, 20_000, fidelity))["duplicate", "kill"] == pytest.approx(20 * RATE, abs=10)
    readers = {"count": 2, "client": replace(COOPERATIVE, auto_offset_reset="earliest"), "start": LATE}
    moves, lost = (
        sum(delivered(simulate(scene(group(processing=one, **readers)), fidelity)).values())
        for one in (silent, replace(silent, commit_on_revoked=False))
    )
    assert moves == 0
    assert lost == pytest.approx(20 * RATE / 2, abs=20), "of the two partitions that the second member is given"


# --- each record ------------------------------------------------------------------------------------------------------

RECORDS = replace(PROCESSING, commit="after_batch", commit_each_record=True)
SLOWLY = Processing(per_record=Distribution.constant(200 * MS), commit="after_batch", commit_each_record=True)
"""Five records a second of the forty that come: batches of a hundred seconds."""


@both
@pytest.mark.parametrize("waits", [False, True])
def test_who_commits_each_record_repeats_none_after_a_kill(fidelity: str, waits: bool) -> None:
    """A batch of 500 records is under way; what is in hand is not processed yet."""
    each = replace(SLOWLY, commit_waits=waits)
    batch = replace(each, commit_each_record=False)
    assert "duplicate" not in {kind for kind, _ in delivered(killed(each, 29_000, fidelity))}
    assert delivered(killed(batch, 29_000, fidelity))["duplicate", "kill"] == pytest.approx(28 * 5, abs=10)


@both
@pytest.mark.parametrize("fault", [GcPause(target=member(0), duration=lasting(20 * S)),
                                   Stuck(target=member(0), duration=lasting(20 * S))])  # fmt: skip
def test_who_stands_still_has_committed_each_record(fidelity: str, fault: Any) -> None:
    """Evicted meanwhile: somebody else goes on with the next record."""
    client = replace(EARLIEST, session_timeout_us=6 * S, max_poll_interval_us=10 * S)
    quick = replace(RECORDS, per_record=Distribution.constant(10 * MS))
    for processing, repeats in ((quick, False), (replace(quick, commit="none", commit_each_record=False), True)):
        made = scene(group(count=2, client=client, processing=processing), timeline=(entry(20_050 * MS, fault),))
        again = delivered(simulate(made, fidelity)).get(("duplicate", "re-read"), 0)
        assert (again > 20 * RATE / 2) if repeats else not again


@both
def test_who_is_too_slow_for_a_batch_loses_nothing_of_it_if_each_record_is_committed(fidelity: str) -> None:
    """max.poll.interval.ms is over after 10 of 15 s of each batch: who commits batches begins the same one for ever."""
    client = replace(EARLIEST, max_poll_interval_us=10 * S)
    found = {}
    for is_each in (True, False):
        work = replace(SLOWLY, per_record=Distribution.constant(30 * MS), commit_each_record=is_each)
        result = simulate(scene(group(client=client, processing=work), rate=constant(25_000)), fidelity)
        found[is_each] = sum(one["duplicates"] for one in rows(result, "partitions"))
    assert found[True] == pytest.approx(3 * 500 / 3, abs=10), "of three batches what is processed as a zombie"
    assert found[False] == pytest.approx(3 * 500, abs=10)


@both
def test_who_waits_after_each_record_processes_fewer(fidelity: str) -> None:
    """10 ms of work and a round trip of 20 ms: a third of what could be done without a wait."""
    slow = replace(scene().cluster.network, latency=Distribution.constant(10 * MS))
    work = replace(RECORDS, per_record=Distribution.constant(10 * MS))
    done = []
    for processing in (
        work,
        replace(work, commit_waits=True),
        replace(work, commit_waits=True, commit_each_record=False),
    ):
        made = scene(group(client=EARLIEST, processing=processing), rate=constant(400_000))
        result = simulate(replace(made, cluster=replace(made.cluster, network=slow)), fidelity)
        done.append(sum(one["records"] for one in rows(result, "members")))
    assert done[1] / done[0] == pytest.approx(1 / 3, rel=0.05)
    assert done[2] / done[0] == pytest.approx(1, rel=0.01)


@both
def test_records_one_by_one_wait_for_their_commits_too(fidelity: str) -> None:
    slow = replace(scene().cluster.network, latency=Distribution.constant(10 * MS))
    each = replace(RECORDS, per_record=Distribution.constant(10 * MS), commit_waits=True)
    made = replace(scene(group(client=EARLIEST, processing=each)), data="exact")
    result = simulate(replace(made, cluster=replace(made.cluster, network=slow)), fidelity)
    records = result.tables["records"]
    done = records[records["delivery"] > 0].sort_values("processed_us")
    timing = Timing()
    assert (done["processed_us"].diff().dropna().min()) >= 30 * MS + timing.service_us + timing.append_us


@both
def test_who_waits_by_a_clock_waits_once_in_an_interval(fidelity: str) -> None:
    """300 ms of network, each second: between batches of 5 s each costs that, and else a share of it."""
    slow = replace(scene().cluster.network, latency=Distribution.constant(150 * MS))
    work = replace(EACH, per_record=Distribution.constant(10 * MS), commit_waits=True)
    done = []
    for every_us in (0, 1 * S, 50 * S):
        made = scene(group(client=EARLIEST, processing=replace(work, commit_every_us=every_us)), rate=constant(400_000))
        result = simulate(replace(made, cluster=replace(made.cluster, network=slow)), fidelity)
        done.append(sum(one["records"] for one in rows(result, "members")))
    assert done[0] == done[1] < done[2]
    assert done[1] / done[2] == pytest.approx(5 / 5.3 * 1.006, rel=0.01)
