"""Clusters whose transaction.version is 1: who adds partitions, what epochs are worth, and what comes too late."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.sim.config import CoordinatorConfig, Timing, TransactionConfig
from groupsim.sim.model import Cluster, Kill, Network, Scenario
from groupsim.sim.protocol.messages import Error
from groupsim.sim.protocol.producer.batches import RecordBatch
from groupsim.sim.protocol.transactions.messages import TV1, TV2, AddPartitionsToTxn
from groupsim.sim.units import MS, S
from tests.unit.sim.protocol.transaction_scenes import T0, TransactionScene
from tests.unit.sim.scenes import entry, lasting, member, rows
from tests.unit.sim.transactional_scenes import (
    SLOW_LOG,
    Readers,
    answers,
    output,
    played,
    producing,
    total,
    transform,
)

TRIP_US = 10 * MS


def cluster(version: int, *, is_verified: bool = True) -> Cluster:
    return Cluster(
        config=CoordinatorConfig(initial_rebalance_delay_us=0),
        network=Network(latency=lasting(TRIP_US)),
        transactions=TransactionConfig(version=version, is_verified=is_verified),
    )


def scenario(version: int, *timeline: object, **more: object) -> Scenario:
    return transform(*timeline, cluster=cluster(version), **{"horizon_s": 30, "count": 1, **more})  # type: ignore[arg-type]


def took_us(version: int) -> float:
    """From the end of a batch until its transaction is committed, for the application; on average."""
    result = played(scenario(version))
    return total(result, "took_us") / total(result, "committed")


def test_under_tv1_the_producer_adds_what_it_writes_to(monkeypatch: pytest.MonkeyPatch) -> None:
    readers = Readers(monkeypatch)
    result = played(scenario(TV1))
    ended = answers(result, "EndTxn")["NONE"]
    assert answers(result, "AddOffsetsToTxn")["NONE"] - ended in (0, 1)
    assert answers(result, "AddPartitionsToTxn")["NONE"] >= ended
    assert answers(result, "InitProducerId") == {"NONE": 1}
    assert readers.epochs() == {0}
    assert set(readers.counts().values()) == {1}
    assert output(result)["read_committed"] == (0, 0)


def test_under_tv1_it_asks_every_20_ms_for_the_first_partition_while_the_transaction_before_is_ended() -> None:
    """Its decision and its end are written, 400 ms each; a try and its answer take twice 10 ms."""
    made = cluster(TV1)
    slow = replace(made, timing=replace(made.timing, append_us=400 * MS))
    result = played(transform(cluster=slow, horizon_s=30, count=1, partitions=1, rate=1_000))
    added = answers(result, "AddPartitionsToTxn")
    tries = added["CONCURRENT_TRANSACTIONS"] / (added["NONE"] - 1)
    assert tries == pytest.approx(2 * 400 / (20 + 2 * 10), abs=1)


def test_under_tv2_the_brokers_do_and_each_transaction_has_its_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    readers = Readers(monkeypatch)
    result = played(scenario(TV2))
    assert len(readers.epochs()) - total(result, "committed") in (0, 1)
    assert answers(result, "AddOffsetsToTxn") == answers(result, "AddPartitionsToTxn") == {}


def test_what_tv1_costs_an_application() -> None:
    """Two more requests for each transaction: AddOffsetsToTxn, and AddPartitionsToTxn for the other output partition.

    What is logged is as much: the same additions, which brokers ask for under TV2.
    """
    more = took_us(TV1) - took_us(TV2)
    assert more == pytest.approx(2 * (2 * TRIP_US + Timing().service_us), rel=0.02)


@pytest.mark.parametrize("version", [TV1, TV2])
def test_both_fidelities_agree(version: int) -> None:
    killed = entry(9 * S, Kill(target=member(0), down=lasting(S)))
    digests = [
        played(scenario(version, killed, count=2, produces=producing(transaction_timeout_us=6 * S)), one).manifest[
            "digests"
        ]
        for one in ("elided", "message")
    ]
    assert digests[0] == digests[1]


def test_who_has_timed_out_is_fenced_under_tv1_and_not_under_tv2() -> None:
    """The scan raises the epoch, of which nobody tells a producer under TV1."""
    errors = {}
    for version in (TV1, TV2):
        scene = TransactionScene(version)
        mine = scene.init()
        scene.send("X", mine.producer_id, mine.epoch)
        scene.wait_until(80)
        errors[version] = scene.end("X", mine.producer_id, mine.epoch, commit=False).error
    assert errors == {TV1: Error.PRODUCER_FENCED, TV2: Error.NONE}


# --- a batch that comes when its transaction is over ------------------------------------------------------------------


def over(version: int) -> tuple[TransactionScene, RecordBatch]:
    """A transaction that was aborted while a batch of it was on its way."""
    scene = TransactionScene(version)
    mine = scene.init()
    assert scene.send("X", mine.producer_id, mine.epoch).error is Error.NONE
    assert scene.end("X", mine.producer_id, mine.epoch, commit=False).error is Error.NONE
    return scene, RecordBatch(1, mine.producer_id, mine.epoch, 1, True)


def test_a_late_batch_hangs_under_tv1_if_nobody_asks() -> None:
    """Without ``transaction.partition.verification.enable``, as before 3.6: no coordinator knows what it has opened.

    The partition's last stable offset stands still, whatever time passes, and whoever writes behind it is not read.
    """
    scene, late = over(TV1)
    log = scene.logs[T0]
    log.verified(late.producer_id, TV1)
    assert log.append(scene.now, late).error is Error.NONE
    log.advance()
    stable = log.last_stable_offset
    other = scene.init("Y")
    assert scene.send("Y", other.producer_id, other.epoch).error is Error.NONE
    assert scene.end("Y", other.producer_id, other.epoch, commit=True).error is Error.NONE
    scene.wait_until(7 * 24 * 3600)
    assert (stable, log.last_stable_offset, log.end) == (2, 2, 5)
    assert log.read(0, is_committed=True) == ([], 2)


def test_a_late_batch_is_refused_under_tv1_if_its_leader_asks() -> None:
    scene, late = over(TV1)
    assert scene.logs[T0].needs_verification(late) is True
    asked = AddPartitionsToTxn("X", late.producer_id, late.epoch, (T0,), TV1, verify_only=True)
    assert scene.ask(asked).error is Error.TRANSACTION_ABORTABLE
    assert scene.logs[T0].append(scene.now, late).error is Error.INVALID_TXN_STATE


def test_a_late_batch_is_refused_under_tv2_by_its_epoch() -> None:
    scene, late = over(TV2)
    assert scene.logs[T0].needs_verification(late) is Error.INVALID_PRODUCER_EPOCH
    scene.logs[T0].verified(late.producer_id, TV2)
    assert scene.logs[T0].append(scene.now, late).error is Error.INVALID_PRODUCER_EPOCH


def test_without_verification_leaders_do_not_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """One round trip between brokers less for whoever waits for an acknowledgement, and the same output."""
    readers = Readers(monkeypatch)
    asking, silent = (replace(scenario(TV1), cluster=cluster(TV1, is_verified=one)) for one in (True, False))
    took = [total(result, "took_us") / total(result, "committed") for result in (played(asking), played(silent))]
    assert took[1] < took[0]
    assert set(readers.counts().values()) == {1}
    assert rows(played(silent), "output")


def test_a_partition_that_was_added_and_never_written_to_has_a_marker() -> None:
    """The producer dies between the answer to AddPartitionsToTxn and its first batch; its transaction times out."""
    slow = replace(SLOW_LOG, transactions=TransactionConfig(version=TV1))
    dies = entry(3_500 * MS, Kill(target=member(0)))
    more = {"count": 1, "partitions": 1, "produces": producing(transaction_timeout_us=5 * S)}
    result = played(transform(dies, cluster=slow, horizon_s=20, **more))
    (out,) = rows(result, "output")
    assert (out["partition"], out["high_watermark"], out["last_stable_offset"]) == (0, 1, 1)
    assert answers(result, "Produce") == {}
