"""Consume, transform, produce in transactions: what readers of the output see when members die, freeze and hang."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.sim import Result
from groupsim.sim.model import CrashAt, CrashPoint, GcPause, Kill, Scale, StartMembers
from groupsim.sim.units import MS, S
from tests.unit.sim.scenes import FIDELITIES, entry, everybody, lasting, member, rows
from tests.unit.sim.transactional_scenes import (
    EARLIEST,
    JITTER,
    WORK,
    answers,
    output,
    played,
    producing,
    total,
    transform,
)

ONCE = (0, 0)
POINTS = {
    "after_poll": False, "after_send": True, "before_commit": True, "before_end_txn": True, "after_end_txn": False,
    "after_commit": False,
}  # fmt: skip
"""Whether who dies there leaves output that is made again."""
SESSIONS = {"classic": 25, "consumer": 65}
"""How long a run is in which a dead member's session ends, seconds."""
protocols = pytest.mark.parametrize("protocol", ["classic", "consumer"])


@protocols
@pytest.mark.parametrize("point", list(POINTS))
def test_wherever_a_member_dies_readers_of_committed_records_see_each_input_once(point: str, protocol: str) -> None:
    """The table of crash points; a decided transaction is finished by the coordinator, and not made again."""
    crash = entry(12 * S, CrashAt(target=member(0), point=point, down=lasting(S)))  # type: ignore[arg-type]
    result = played(transform(crash, protocol=protocol, horizon_s=SESSIONS[protocol]))
    (life, *_) = rows(result, "transactions", member="g/0")
    assert rows(result, "members", member="g/0")[0]["ended_by"] == "killed"
    seen = output(result)
    assert seen["read_committed"] == ONCE
    assert (seen["read_uncommitted"][0] > 0) == (life["aborted"] == 1) == POINTS[point]
    assert seen["read_uncommitted"][0] == life["records_aborted"]


@protocols
def test_a_kill_in_mid_batch_aborts_what_was_sent_of_it(protocol: str) -> None:
    kill = entry(12_070 * MS, Kill(target=member(0), down=lasting(S)))
    result = played(transform(kill, protocol=protocol, horizon_s=SESSIONS[protocol]))
    assert output(result)["read_committed"] == ONCE
    assert total(result, "records_open") <= 20, "of the batches at the horizon"
    assert answers(result, "InitProducerId").get("CONCURRENT_TRANSACTIONS", 0) <= 1


def test_both_fidelities_agree() -> None:
    timeline = (
        entry(8 * S, CrashAt(target=member(0), point="before_end_txn", down=lasting(3 * S))),
        entry(11_130 * MS, GcPause(target=member(1), duration=lasting(12 * S))),
    )
    digests = [played(transform(*timeline, horizon_s=30), fidelity).tables.digests() for fidelity in FIDELITIES]
    assert digests[0] == digests[1]


def test_a_successor_with_the_same_id_fences_and_nobody_waits() -> None:
    crash = entry(12 * S, CrashAt(target=member(0), point="before_end_txn", down=lasting(S)))
    result = played(transform(crash, horizon_s=30))
    assert answers(result, "OffsetFetch").keys() == {"NONE"}
    assert max(one["blocked_us_max"] for one in rows(result, "output")) < 2 * S


def test_offsets_that_hang_keep_the_whole_consumer_waiting_until_the_transaction_times_out() -> None:
    """The dead member's offsets are pending: its heir waits with all that it has, for the scan after 10 + 10 s.

    The session of 10 s ends first; scans are every 10 s, so the transaction that begins at 12 s ends at 30 s.
    """
    crash = entry(12 * S, CrashAt(target=member(0), point="before_end_txn"))
    hanging = producing(transaction_timeout_us=15 * S)
    result = played(transform(crash, horizon_s=45, produces=hanging))
    assert answers(result, "OffsetFetch")["UNSTABLE_OFFSET_COMMIT"] >= 5
    waiting = [one for one in rows(result, "unavailability", cause="resume") if one["to_us"] > 29 * S]
    assert {one["partition"] for one in waiting} == {0, 1, 2, 3}
    assert {one["to_us"] // S for one in waiting} == {30}
    assert output(result)["read_committed"] == ONCE
    assert max(one["blocked_us_max"] for one in rows(result, "output")) > 17 * S
    assert total(result, "records_open") <= 20


def test_a_new_id_after_each_start_fences_nobody() -> None:
    """``{member}-{incarnation}``: the same crash, and the group waits although the member is back at once."""
    crash = entry(12 * S, CrashAt(target=member(0), point="before_end_txn", down=lasting(S)))
    shared = {"horizon_s": 45, "count": 1}
    kept = played(transform(crash, produces=producing(transaction_timeout_us=15 * S), **shared))  # type: ignore[arg-type]
    lost = producing(transaction_timeout_us=15 * S, transactional_id="{member}-{incarnation}")
    renewed = played(transform(crash, produces=lost, **shared))  # type: ignore[arg-type]
    assert "UNSTABLE_OFFSET_COMMIT" not in answers(kept, "OffsetFetch")
    assert answers(renewed, "OffsetFetch")["UNSTABLE_OFFSET_COMMIT"] > 0
    assert output(kept)["read_committed"] == output(renewed)["read_committed"] == ONCE


def test_a_zombie_is_refused_by_its_group_and_aborts() -> None:
    """Group metadata (KIP-447): its transaction is its own, but the partitions are not."""
    pause = entry(12_130 * MS, GcPause(target=member(0), duration=lasting(15 * S)))
    result = played(transform(pause, horizon_s=45))
    assert answers(result, "TxnOffsetCommit")["UNKNOWN_MEMBER_ID"] >= 1
    seen = output(result)
    assert seen["read_committed"] == ONCE
    assert seen["read_uncommitted"][0] > 0
    (life,) = rows(result, "transactions", member="g/0")
    assert life["aborted"] >= 1
    assert life["ended_by"] == ""


def frozen(at_us: int) -> Result:
    """A member that is frozen for 25 s from then on; its transactions may take 5 s."""
    pause = entry(at_us, GcPause(target=member(0), duration=lasting(25 * S)))
    return played(transform(pause, horizon_s=42, produces=producing(transaction_timeout_us=5 * S)))


def test_a_zombie_whose_transaction_timed_out_hears_it_from_the_partition_and_goes_on() -> None:
    """TV2: INVALID_PRODUCER_EPOCH on produce is abortable; EndTxn(abort) of the old epoch counts as a repetition."""
    result = frozen(12_212_000)
    assert answers(result, "Produce")["INVALID_PRODUCER_EPOCH"] == 1
    assert answers(result, "EndTxn").keys() == {"NONE"}
    (life,) = rows(result, "transactions", member="g/0")
    assert (life["aborted"], life["ended_by"]) == (2, ""), "by the coordinator, and once more: its group is without it"
    assert output(result)["read_committed"] == ONCE
    assert output(result)["read_uncommitted"][0] == life["records_aborted"] > 0


def test_a_commit_after_a_time_out_ends_the_application() -> None:
    """TV2: EndTxn(commit) of a transaction that the coordinator has aborted is INVALID_TXN_STATE: fatal."""
    result = frozen(12_195_000)
    assert answers(result, "EndTxn")["INVALID_TXN_STATE"] == 1
    assert rows(result, "members", member="g/0")[0]["ended_by"] == "failed: INVALID_TXN_STATE"
    assert rows(result, "transactions", member="g/0")[0]["ended_by"] == "INVALID_TXN_STATE"
    assert output(result)["read_committed"] == ONCE


@protocols
def test_members_that_come_and_go_share_nothing(protocol: str) -> None:
    timeline = (
        entry(8 * S, Scale(target=everybody(), to=4, every_us=700 * MS)),
        entry(18 * S, Scale(target=everybody(), to=1, every_us=900 * MS)),
        entry(26 * S, StartMembers(target=everybody())),
    )
    result = played(transform(*timeline, protocol=protocol, horizon_s=40))
    assert output(result) == {"read_committed": ONCE, "read_uncommitted": ONCE}
    assert total(result, "aborted") == 0


def test_markers_take_offsets() -> None:
    """k transactions of n records take k (n + 1) offsets of a partition, if each writes to it."""
    result = played(transform(horizon_s=20))
    records = total(result, "records_committed") + total(result, "records_open")
    written = rows(result, "output")
    assert sum(one["high_watermark"] - one["markers"] for one in written) == records
    assert sum(one["markers"] for one in written) > total(result, "committed")


def test_nothing_comes_between_the_steps_of_a_transaction() -> None:
    """What is fetched or acknowledged while a transaction is being ended waits for the next poll(), or is waited for.

    Batches of single records: members end transactions most of the time, and partitions come while they do.
    """
    timeline = (
        entry(6 * S, Kill(target=member(0), down=lasting(S))),
        entry(13 * S, Kill(target=member(1), down=lasting(S))),
        entry(20 * S, Scale(target=everybody(), to=3)),
    )
    busy = replace(WORK, per_poll_us=0, per_record=lasting(4 * MS))
    load = {"partitions": 12, "rate": 20_000, "processing": busy}
    scenario = transform(*timeline, protocol="cooperative", horizon_s=28, cluster=JITTER, count=3, **load)  # type: ignore[arg-type]
    for seed in (1,):
        result = played(scenario, seed=seed)
        assert output(result)["read_committed"] == ONCE
        assert answers(result, "Produce").keys() == {"NONE"}
        assert answers(result, "EndTxn").keys() == {"NONE"}


def test_the_aborted_share_is_of_all_transactions_and_empty_in_groups_that_produce_nothing() -> None:
    """One of a member's transactions is aborted, by its successor."""
    crash = entry(6 * S, CrashAt(target=member(0), point="before_end_txn", down=lasting(S)))
    result = played(transform(crash, horizon_s=12))
    decided = total(result, "committed") + total(result, "aborted")
    (summary,) = result.tables.rows("summary")
    assert total(result, "aborted") == 1
    assert summary["aborted_share"] == 1 / decided
    (idle,) = played(transform(horizon_s=5, produces=None)).tables.rows("summary")
    assert idle["aborted_share"] is None


@pytest.mark.parametrize("most", [1, 2, 6, 500])
def test_a_transaction_has_all_records_of_a_full_batch(most: int) -> None:
    """Four partitions share it: what each has of a record is put together, and not cut off with the batch."""
    client = replace(EARLIEST, max_poll_records=most)
    result = played(transform(count=1, client=client, rate=100_000, horizon_s=20))
    assert total(result, "records_committed") == most * total(result, "committed") > 0


def died_us(at_us: int, point: CrashPoint, rate: int) -> int:
    """When the only member dies, if it is to at this point."""
    result = played(
        transform(entry(at_us, CrashAt(target=member(0), point=point)), count=1, partitions=1, rate=rate, horizon_s=15)
    )
    (row,) = rows(result, "members")
    assert row["ended_by"] == "killed"
    return int(row["ended_us"])


@pytest.mark.parametrize("rate", [1_000, 10_000, 100_000])
def test_the_first_record_of_a_batch_is_sent_when_it_is_processed(rate: int) -> None:
    """Whatever else is in the batch: poll() takes 1 ms and the record 5 ms. At 1 or 10 a second poll() waits for it.

    6.6 ms to the leader, from there to the coordinator, and back: four latencies, two appends, two times 0.3 ms.
    """
    polled_us = died_us(12 * S, "after_poll", rate)
    every_us = S * 1_000 // rate
    there_us = -(-polled_us // every_us) * every_us if rate <= 10_000 else polled_us
    assert died_us(polled_us + 1, "after_send", rate) == max(polled_us + MS, there_us) + 5 * MS + 6_600
