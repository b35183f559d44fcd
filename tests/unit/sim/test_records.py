"""Every record's fate (``data: exact``): who read it, when, how often, when it was committed, why it was lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from groupsim.sim import RecordBudgetExceeded, Result
from groupsim.sim.books import group_books
from groupsim.sim.books.offsets.exact_ledger import ExactLedger
from groupsim.sim.model import Distribution, GcPause, Group, Kill, Processing, Rate, Slow, Stuck, Topic
from groupsim.sim.units import MS, S
from tests.support.histories import duplicates, history, lost_writes, nonmonotonic_polls, poll_skips, unseen
from tests.unit.sim.scenes import (
    CLIENT,
    FIDELITIES,
    constant,
    delivered,
    entry,
    group,
    lasting,
    member,
    scene,
    simulate,
)

both = pytest.mark.parametrize("fidelity", FIDELITIES)
EARLIEST = replace(CLIENT, auto_offset_reset="earliest")
TEN_MS = Processing(per_record=Distribution.constant(10 * MS))


def exact(*groups: Group, fidelity: str = "elided", **more: Any) -> Result:
    return simulate(replace(scene(*groups, **more), data="exact"), fidelity)


def records(result: Result) -> pd.DataFrame:
    return result.tables["records"]


def killed(processing: Processing, fidelity: str = "elided") -> Result:
    """The first of two members, which has half of the partitions, is killed at 22.5 s."""
    kill = entry(22_500 * MS, Kill(target=member(0)))
    client = replace(EARLIEST, session_timeout_us=6 * S)
    return exact(group(count=2, client=client, processing=processing), timeline=(kill,), fidelity=fidelity)


@both
def test_each_record_has_a_row_and_takes_its_time(fidelity: str) -> None:
    """One partition, ten records a second, 10 ms each: who waits inside poll() gets each record as it comes."""
    found = records(exact(group(client=EARLIEST, processing=TEN_MS), partitions=1, fidelity=fidelity))
    assert found["offset"].tolist() == list(range(len(found)))
    assert len(found) == 600
    assert (found["produced_us"] == 100 * MS * (found["offset"] + 1)).all()
    settled = found[found["produced_us"].between(10 * S, 59 * S)]
    assert (settled["delivery"] == 1).all()
    waited = settled["fetched_us"] - settled["produced_us"]
    assert waited.between(0, 10 * MS + MS).all()
    assert (settled["processed_us"] - settled["fetched_us"] == 10 * MS).all()


def test_an_offset_is_committed_with_the_first_commit_beyond_it() -> None:
    found = records(exact(group(client=EARLIEST, processing=TEN_MS), partitions=1))
    done = found[found["committed_us"] >= 0]
    assert (done["committed_us"] >= done["processed_us"]).all()
    assert done["committed_us"].nunique() == 11, "auto.commit.interval.ms is 5 s, and the last one is at the horizon"
    assert found["committed_us"].iloc[len(done) :].eq(-1).all()


@both
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_what_has_come_while_poll_waits_is_committed_when_the_next_one_begins(protocol: str, fidelity: str) -> None:
    """1.9 records a second, 10 ms each, a poll() every 100 ms: each is committed within that, and two round trips."""
    commits = replace(TEN_MS, commit="after_batch")
    one = group(client=replace(EARLIEST, enable_auto_commit=False, group_protocol=protocol), processing=commits)
    found = records(exact(one, partitions=1, rate=constant(1_900), fidelity=fidelity))
    settled = found[found["produced_us"].between(20 * S, 55 * S)]
    assert len(settled) > 60
    assert (settled["committed_us"] - settled["processed_us"]).between(0, 100 * MS + 4 * MS).all()


@both
def test_what_a_kill_repeats_is_what_the_books_count(fidelity: str) -> None:
    result = killed(TEN_MS, fidelity)
    found = records(result)
    again = found[found["delivery"] > 1]
    assert len(again) == delivered(result)["duplicate", "kill"] > 0
    first = found[found["delivery"] == 1].set_index(["partition", "offset"])
    whose = first.loc[list(zip(again["partition"], again["offset"], strict=True)), "member"]
    assert set(whose) == {"g/0"}
    assert set(again["member"]) == {"g/1"}
    assert (found["lost"] == "").all()


@both
def test_what_was_committed_ahead_is_lost_by_name(fidelity: str) -> None:
    """200 ms a batch, 40 records a second: a batch is eight records or so, committed before the first of them."""
    ahead = Processing(per_record=Distribution.constant(40 * MS), commit="before_processing")
    result = killed(ahead, fidelity)
    found = records(result)
    lost = found[found["lost"] == "kill"]
    assert len(lost) == delivered(result)["loss", "kill"] > 0
    assert (lost["delivery"] == 0).all()
    assert (lost["committed_us"] <= 22_500 * MS + 2 * MS).all()
    assert (found["delivery"] <= 1).all()


def hot_and_cold(client: Any = EARLIEST) -> Result:
    """Partition 0 gets 150 records a second, the others ten each; 10 ms a record: a third is too much."""
    rates = Rate(per_partition_mrps=((150_000, 10_000, 10_000, 10_000),))
    return exact(group(client=client, processing=TEN_MS), topics=(Topic(name="t", partitions=4, rate=rates),))


def test_a_hot_partition_does_not_starve_cold_ones() -> None:
    """A fetch of each partition is handed out in turn: the cold ones wait for a fetch of the hot one, 1,024 records."""
    found = records(hot_and_cold())
    late = found[found["produced_us"] > 20 * S]
    done = late[late["delivery"] > 0].groupby("partition").size()
    cold = late[(late["partition"] > 0) & (late["delivery"] > 0)]
    assert (cold["processed_us"] - cold["produced_us"]).max() < 2 * 1024 * 10 * MS
    assert done.reindex([1, 2, 3]).min() > 0.5 * 400
    hot = found[(found["partition"] == 0) & (found["delivery"] > 0)]
    assert len(hot) < 0.6 * 150 * 60


def test_a_member_that_cannot_keep_up_processes_as_fast_as_it_can() -> None:
    found = records(hot_and_cold())
    done = found[found["delivery"] > 0].sort_values("processed_us")
    assert done["processed_us"].between(20 * S, 50 * S).sum() == pytest.approx(100 * 30, rel=0.01)
    assert done["processed_us"].diff().dropna().min() >= 9 * MS


IDLE = Rate(per_partition_mrps=((500,),))
"""A record each two seconds."""


@both
@pytest.mark.parametrize("cost_us", [300 * MS, 1 * S, 1_900 * MS])
def test_a_record_takes_its_time_however_short_the_passes_are(fidelity: str, cost_us: int) -> None:
    """Who is nearly idle waits 100 ms in each poll(): most records come late in one."""
    slow = Processing(per_record=Distribution.constant(cost_us))
    topics = (Topic(name="t", partitions=1, rate=IDLE),)
    result = exact(group(client=EARLIEST, processing=slow), topics=topics, fidelity=fidelity)
    found = records(result)
    done = found[found["delivery"] > 0]
    settled = done[done["produced_us"] > 12 * S]
    assert len(settled) > 20
    assert (settled["processed_us"] - settled["fetched_us"] == cost_us).all()
    assert (settled["fetched_us"] == settled["produced_us"]).all()
    assert (found["processed_us"] <= 60 * S).all(), "what is not done by the horizon is not done"
    spans = result.tables["latency"].set_index("span")
    assert spans.loc["processed", "p50_us"] == cost_us


@both
def test_records_of_random_cost_wait_for_one_another(fidelity: str) -> None:
    """Half of them take 50 ms, half 1,750 ms, and each second one comes: what comes meanwhile is returned later."""
    slow = Processing(per_record=Distribution("empirical", (50 * MS, 1_750 * MS)), commit="after_batch")
    topics = (Topic(name="t", partitions=1, rate=Rate(per_partition_mrps=((1_000,),))),)
    found = records(exact(group(client=EARLIEST, processing=slow), topics=topics, fidelity=fidelity))
    done = found[found["delivery"] > 0].sort_values("processed_us")
    committed = done[done["committed_us"] >= 0]
    assert (committed["committed_us"] >= committed["processed_us"]).all()
    took = done["processed_us"] - done["fetched_us"].clip(lower=done["processed_us"].shift(fill_value=0))
    assert set(took) == {50 * MS, 1_750 * MS}
    assert (done["fetched_us"] > done["produced_us"]).any()


@both
def test_what_a_kill_finds_in_hand_is_not_done(fidelity: str) -> None:
    """A record each two seconds takes one: killed in the middle of one, it has not processed that, and another does."""
    slow = Processing(per_record=Distribution.constant(1 * S), commit="after_batch")
    client, topics = replace(EARLIEST, session_timeout_us=6 * S), (Topic(name="t", partitions=1, rate=IDLE),)
    timeline = (entry(20_500 * MS, Kill(target=member(1))),)
    two = group(count=2, client=client, processing=slow)
    found = records(exact(two, topics=topics, timeline=timeline, fidelity=fidelity))
    assert (found["delivery"] <= 1).all(), "a commit follows each record"
    interrupted = found[found["produced_us"] == 20 * S]
    assert interrupted["member"].tolist() == ["g/0"]
    assert found[found["member"] == "g/1"]["processed_us"].max() <= 20_500 * MS


@both
@pytest.mark.parametrize(
    ("act", "later_us"),
    [
        (GcPause(target=member(0), duration=lasting(300 * MS)), 300 * MS),
        (GcPause(target=member(0), duration=lasting(3 * S)), 3 * S),
        (Stuck(target=member(0), duration=lasting(2 * S)), 2 * S),
        # From the middle on all takes half as long again.
        (Slow(target=member(0), factor=1.5, duration=lasting(10 * S)), 250 * MS),
    ],
)
def test_the_record_in_hand_takes_that_much_longer(fidelity: str, act: Any, later_us: int) -> None:
    """A record each two seconds takes one; those that follow it wait for it in their order."""
    slow = Processing(per_record=Distribution.constant(1 * S))
    topics = (Topic(name="t", partitions=1, rate=IDLE),)
    timeline = (entry(20_500 * MS, act),)
    result = exact(group(client=EARLIEST, processing=slow), topics=topics, timeline=timeline, fidelity=fidelity)
    found = records(result).set_index("produced_us")
    assert found.loc[20 * S, "processed_us"] == 21 * S + later_us
    assert found.loc[18 * S, "processed_us"] == 19 * S
    rest = found[(found.index > 20 * S) & (found["delivery"] > 0)]
    cost = 1_500 * MS if isinstance(act, Slow) else S
    assert rest["processed_us"].iloc[0] == max(21 * S + later_us, 22 * S) + cost
    assert rest["processed_us"].is_monotonic_increasing
    assert rest["processed_us"].iloc[-1] - rest.index[-1] == S


@both
@pytest.mark.parametrize("length_ms", [300, 2_000])
@pytest.mark.parametrize("cost_ms", [5, 20])
def test_what_is_not_returned_yet_is_returned_after_a_pause(fidelity: str, length_ms: int, cost_ms: int) -> None:
    """Who commits before it processes has committed what its next polls return: a pause puts these off."""
    ahead = Processing(per_record=Distribution.constant(cost_ms * MS), commit="before_processing")
    begins = range(5_003, 17_003, 2_837)
    pauses = tuple(entry(at * MS, GcPause(target=member(0), duration=lasting(length_ms * MS))) for at in begins)
    readers = group(client=EARLIEST, processing=ahead)
    found = records(exact(readers, timeline=pauses, fidelity=fidelity, horizon_us=20 * S))
    for at in begins:
        for column in ("fetched_us", "processed_us"):
            assert not found[column].between(at * MS + 1, (at + length_ms) * MS - 1).any()
    done = found[found["delivery"] > 0]
    for _, offsets in done.groupby("partition")["offset"]:
        assert sorted(offsets) == list(range(len(offsets))), "what was not returned is not skipped"
    in_order = done.sort_values("processed_us")["processed_us"].diff().dropna()
    assert in_order.min() >= cost_ms * MS
    assert (done["delivery"] == 1).all()
    assert not (found["lost"] != "").any()


@both
def test_the_batch_in_hand_goes_on_after_a_pause_and_a_change_of_pace(fidelity: str) -> None:
    """Nothing is lost or repeated by what makes a consumer late, and nothing is processed in a pause or a hang."""
    faults = (
        *(entry(at * MS, GcPause(target=member(0), duration=lasting(100 * MS))) for at in range(10_003, 14_003, 337)),
        entry(20_003 * MS, GcPause(target=member(0), duration=lasting(300 * MS))),
        entry(30_007 * MS, GcPause(target=member(0), duration=lasting(3 * S))),
        entry(40_011 * MS, Stuck(target=member(0), duration=lasting(2 * S))),
        entry(50_013 * MS, Slow(target=member(0), factor=2.0, duration=lasting(3 * S))),
    )
    result = exact(group(client=EARLIEST, processing=TEN_MS), timeline=faults, fidelity=fidelity)
    found = records(result)
    assert (found[found["produced_us"] < 59 * S]["delivery"] == 1).all()
    assert found[found["produced_us"] < 14 * S]["processed_us"].max() < 15 * S, "of what short pauses interrupt"
    assert (found["lost"] == "").all()
    for begin, end in ((20_003, 20_303), (30_007, 33_007), (40_011, 42_011)):
        assert not found["processed_us"].between(begin * MS + 1, end * MS - 1).any()
    done = found[found["delivery"] > 0].sort_values("processed_us", kind="stable")
    assert (done["processed_us"] >= done["fetched_us"]).all()
    assert (done["fetched_us"] >= done["produced_us"]).all()


def test_latency_is_that_of_the_records() -> None:
    result = exact(group(client=EARLIEST, processing=TEN_MS), measure_from_us=10 * S)
    found = records(result)
    spans = result.tables["latency"].set_index("span")
    done = found[found["processed_us"] >= 10 * S]
    took = done["processed_us"] - done["produced_us"]
    assert spans.loc["processed", "records"] == len(took)
    assert spans.loc["processed", "max_us"] == took.max()
    assert spans.loc["processed", "p50_us"] == took.quantile(0.5, interpolation="lower")
    committed = found[found["committed_us"] >= 10 * S]
    assert spans.loc["committed", "max_us"] == (committed["committed_us"] - committed["processed_us"]).max()


def test_a_flow_has_no_records() -> None:
    result = simulate(scene(group()))
    assert not len(result.tables["records"])
    assert not len(result.tables["latency"])


def test_too_many_records_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_books, "RECORDS_MAX", 1_000)
    with pytest.raises(RecordBudgetExceeded, match="more than 1,000 records are read; shorten the run"):
        exact(group(client=EARLIEST), rate=constant(100_000))


# --- as Jepsen's checker sees it --------------------------------------------------------------------------------------


def test_what_is_planned_and_given_back_does_not_count_against_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses break off what readers have planned, again and again: kept is what is read in the end."""
    ledgers: list[ExactLedger] = []
    finish = ExactLedger.finish

    def finished(ledger: ExactLedger, now: int) -> None:
        ledgers.append(ledger)
        finish(ledger, now)

    monkeypatch.setattr(ExactLedger, "finish", finished)
    pause = entry(20 * S, GcPause(target=member(0), duration=Distribution.constant(2 * S)))
    processing = Processing(per_record=Distribution.constant(100 * MS))
    exact(group(count=2, client=EARLIEST, processing=processing), timeline=(pause,), rate=constant(10_000))
    (ledger,) = ledgers
    read = sum(len(records) for reader in ledger.readers for _, _, records in reader.stretches)
    assert ledger._kept == read > 100


def test_at_least_once_loses_nothing() -> None:
    operations = history(killed(TEN_MS))
    assert not lost_writes(operations)
    assert not duplicates(operations)
    assert not nonmonotonic_polls(operations)
    assert not poll_skips(operations)
    last = {}
    for one in operations:
        if one["f"] == "send":
            ((_, place, (offset, _)),) = one["value"]
            last[place] = max(last.get(place, 0), offset)
    assert all(offset > last[place] - 20 for place, offset in unseen(operations)), "what is still on its way"


def test_at_most_once_loses_writes_and_the_checker_says_which() -> None:
    ahead = Processing(per_record=Distribution.constant(40 * MS), commit="before_processing")
    result = killed(ahead)
    found = records(result)
    lost = found[found["lost"] != ""]
    why = set(lost["lost"])
    assert "kill" in why, "the batch in hand was committed"
    assert why <= {"kill", "re-read"}, "the survivor commits ahead, too: what it has in hand when it is revoked is lost"
    named = {((row.topic, row.partition), row.offset) for row in lost.itertuples()}
    assert lost_writes(history(result)) == named != set()


PLACE, OTHER = ("t", 0), ("t", 1)


def send(*log: tuple[int, int]) -> list[dict[str, Any]]:
    """Offset and value of each record of a partition."""
    told = {"process": "p", "type": "ok", "f": "send", "time": 0}
    return [{**told, "value": [("send", PLACE, pair)]} for pair in log]


def poll(*pairs: tuple[int, int]) -> dict[str, Any]:
    return {"process": "c", "type": "ok", "f": "poll", "value": [("poll", {PLACE: list(pairs)})], "time": 9}


def assign(*places: tuple[str, int]) -> dict[str, Any]:
    return {"process": "c", "type": "ok", "f": "assign", "value": [*places], "time": 9}


def test_a_value_at_two_offsets_is_a_duplicate_and_says_nothing_of_what_stands_between() -> None:
    """``lost-write-cases``: who has read 7 has got to its first offset at least, and need not have read 8."""
    operations = [*send((0, 7), (1, 8), (2, 7)), poll((2, 7))]
    assert duplicates(operations) == {7}
    assert lost_writes(operations) == set()
    assert unseen(operations) == {(PLACE, 1)}


def test_a_value_that_nobody_reads_is_lost_once_a_later_one_is_read() -> None:
    log = send((0, 7), (1, 8), (2, 9), (3, 10))
    assert lost_writes([*log, poll((0, 7)), poll((2, 9))]) == {(PLACE, 1)}
    assert unseen([*log, poll((0, 7)), poll((2, 9))]) == {(PLACE, 1), (PLACE, 3)}


def test_a_process_that_goes_back_or_passes_over_is_found_unless_it_read_something_else_meanwhile() -> None:
    """``poll-skip+nonmonotonic-cases``: an assign keeps what is known of partitions that are still in it."""
    log = send((0, 7), (1, 8), (5, 9), (6, 10))
    back, over = [poll((1, 8)), poll((0, 7))], [poll((0, 7)), poll((5, 9))]
    assert nonmonotonic_polls([*log, *back]) == [("c", PLACE, 1, 0)]
    assert poll_skips([*log, *over]) == [("c", PLACE, 0, 5)]
    assert not poll_skips([*log, poll((1, 8)), poll((5, 9))]), "markers and what is compacted take offsets"
    for pair, rule in ((back, nonmonotonic_polls), (over, poll_skips)):
        assert rule([*log, pair[0], assign(PLACE, OTHER), pair[1]])
        assert not rule([*log, pair[0], assign(OTHER), assign(PLACE, OTHER), pair[1]])
    assert nonmonotonic_polls([*log, poll((1, 8), (1, 8))]) == [("c", PLACE, 1, 1)]
