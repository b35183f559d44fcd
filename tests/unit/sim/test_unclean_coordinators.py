"""Unclean elections of the topics of coordinators: offsets that transactions had committed, and what was decided."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from groupsim.sim.books.producing.transactions import Output, ProducerLife, TransactionBooks
from groupsim.sim.cluster.groups.coordinator import Coordinator
from groupsim.sim.cluster.shard.log import GroupLog
from groupsim.sim.cluster.shard.watermark import Watermark
from groupsim.sim.cluster.transactions.transaction_markers import TransactionMarkers
from groupsim.sim.config import BrokerConfig, TransactionConfig
from groupsim.sim.model import ElectLeaders, Entry, Kill, Scenario, StartMembers
from groupsim.sim.protocol.offsets.records import CommittedOffsets
from groupsim.sim.protocol.offsets.table import OffsetTable
from groupsim.sim.protocol.offsets.transactions import PendingOffsets
from groupsim.sim.protocol.producer.batches import Origin, RecordBatch
from groupsim.sim.protocol.transactions.messages import WriteTxnMarkers
from groupsim.sim.units import FOREVER, S
from tests.support.fidelity import differences
from tests.unit.sim.scenes import delivered, entry, everybody, lasting, rows
from tests.unit.sim.transactional_scenes import JITTER, Readers, answers, output, played
from tests.unit.sim.unclean_scenes import BEHIND_S, DEAD_S, accident, five_brokers, holes, shard_replicas

QUIET = BrokerConfig(leader_imbalance_check_us=FOREVER)
MADE_AGAIN = 4 * 10 * (DEAD_S - BEHIND_S)
"""Of four partitions, ten records a second, while the follower was away."""


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> Readers:
    return Readers(monkeypatch)


def killed_at(at_s: int, down_s: int) -> Entry:
    return entry(at_s * S, Kill(target=everybody(), down=lasting(down_s * S)))


def offsets_cut_back(*more: Entry, is_asked_for: bool = False) -> Scenario:
    """The one behind leads the partition of the group's offsets, by its configuration or because it is asked for."""
    config = replace(QUIET, unclean_leader_election=not is_asked_for, offsets_replication_factor=2)
    cluster = replace(JITTER, broker_config=config)
    leader, follower, *_ = shard_replicas(five_brokers(), "g")
    asked = entry(44 * S, ElectLeaders(topics=("__consumer_offsets",), election="unclean"))
    timeline = (*accident(leader, follower), *([asked] if is_asked_for else []), *more)
    return five_brokers(*timeline, unclean=(), cluster=cluster)


def decisions_cut_back(*more: Entry, elect: tuple[str, ...] = ("__transaction_state",)) -> Scenario:
    """The one behind leads the partition of the first member's transactional id."""
    log = TransactionConfig(replication_factor=2, min_insync=1)
    cluster = replace(JITTER, transactions=log, broker_config=QUIET)
    leader, follower, *_ = shard_replicas(five_brokers(), "g/0")
    asked = entry(44 * S, ElectLeaders(topics=elect, election="unclean"))
    return five_brokers(*accident(leader, follower), asked, *more, unclean=(), cluster=cluster)


@pytest.mark.parametrize("is_asked_for", [False, True])
def test_who_begins_at_offsets_that_went_back_makes_output_again_by_its_name(
    readers: Readers, is_asked_for: bool
) -> None:
    result = played(offsets_cut_back(killed_at(29, 21), is_asked_for=is_asked_for))
    found = delivered(result)
    again = found["output duplicate", "read_committed"]
    assert again == found["output duplicate (unclean)", "read_committed"] == pytest.approx(MADE_AGAIN, abs=60)
    assert again == sum(count - 1 for count in readers.counts().values())
    assert [holes(readers, position) for position in range(4)] == [[]] * 4


def test_who_goes_on_reads_nothing_again(readers: Readers) -> None:
    """Its position is its own, and what it commits next is ahead of what was lost."""
    assert output(played(offsets_cut_back()))["read_committed"] == (0, 0)
    assert set(readers.counts().values()) == {1}


def test_an_id_that_has_lost_its_epochs_is_of_no_use_any_more(readers: Readers) -> None:
    """The coordinator aborts what was committed, with an epoch that logs know to be old: it never is complete.

    Readers of the output wait for the transaction that was open, for good.
    """
    result = played(decisions_cut_back(entry(56 * S, StartMembers(target=everybody()))))
    assert {one["ended_by"] for one in rows(result, "transactions", member="g/0")} == {"INVALID_PRODUCER_EPOCH"}
    assert answers(result, "InitProducerId")["CONCURRENT_TRANSACTIONS"] > 100
    assert min(one["high_watermark"] - one["last_stable_offset"] for one in rows(result, "output")) > 300
    assert output(result)["read_committed"] == (0, 0)
    assert set(readers.counts().values()) == {1}


def test_a_broker_wide_setting_does_not_concern_what_transactions_have_decided(readers: Readers) -> None:
    """``TransactionStateManager.transactionTopicConfigs`` forbids unclean elections of this topic."""
    made = decisions_cut_back(elect=("t",))
    config = replace(QUIET, unclean_leader_election=True)
    played(replace(made, cluster=replace(made.cluster, broker_config=config)))
    assert [holes(readers, position) for position in range(4)] == [[]] * 4
    assert set(readers.counts().values()) == {1}


@pytest.mark.parametrize(
    "made", [offsets_cut_back(killed_at(29, 21)), offsets_cut_back(is_asked_for=True), decisions_cut_back()]
)
def test_both_fidelities_agree(made: Scenario) -> None:
    assert not differences(made, 1, check=False)


def test_offsets_that_were_pending_when_a_replica_fell_behind_are_pending_again() -> None:
    """Their marker is gone with the former leader, and so is what was pending since."""
    pending = PendingOffsets()
    pending.add(CommittedOffsets(np.array([0], np.int32), np.array([5], np.int64), 0, producer_id=7), 1)
    pending.mark(2)
    pending.by_producer.clear()
    pending.add(CommittedOffsets(np.array([1], np.int32), np.array([9], np.int64), 0, producer_id=8), 2)
    assert pending.ends() == {1: 9}
    pending.cut_back(2)
    assert (pending.ends(), sorted(pending.by_producer)) == ({0: 5}, [7])
    pending.mark(2)
    pending.catch_up(2)
    pending.by_producer.clear()
    pending.cut_back(2)
    assert pending.ends() == {}


def test_a_replica_has_the_offsets_and_the_epochs_that_there_were_when_it_fell_behind() -> None:
    pending, offsets, told = PendingOffsets(), OffsetTable(), list[tuple[dict[int, int], list[int]]]()
    books: Any = SimpleNamespace(ledger=SimpleNamespace(offsets=offsets))
    books.transactions = SimpleNamespace(commits_lost=lambda *what: told.append(what))
    log = GroupLog(S, Watermark(0), offsets)
    group = SimpleNamespace(log=log, books=books, offsets=SimpleNamespace(pending=pending))
    shard: Any = SimpleNamespace(_marks={}, fenced={7: 1}, groups={"g": group})
    offsets.cover(2)
    positions, at = np.array([0, 1], np.int32), np.array([5, 5], np.int64)
    pending.add(CommittedOffsets(positions[:1], at[:1], 0, producer_id=7), 1)
    Coordinator.fall_behind(shard, 2)
    shard.fenced[7] = 2
    pending.end(7, offsets, is_committed=True)
    pending.add(CommittedOffsets(positions[1:], at[1:], 0, producer_id=8), 2)
    Coordinator.cut_back(shard, 2)
    assert (shard.fenced, pending.ends(), offsets.offset.tolist()) == ({7: 1}, {0: 5}, [-1, -1])
    assert told == [({0: 5, 1: 5}, [-1, -1])]
    Coordinator.fall_behind(shard, 2)
    Coordinator.catch_up(shard, 2)
    shard.fenced[7] = 3
    pending.by_producer.clear()
    Coordinator.cut_back(shard, 2)
    assert (shard.fenced, pending.ends()) == ({7: 3}, {})


def test_an_offsets_partition_refuses_markers_of_an_epoch_that_is_over() -> None:
    shard: Any = SimpleNamespace(fenced={7: 5}, groups={})
    markers: Any = SimpleNamespace(_coordinators={3: shard})
    written = [
        TransactionMarkers._end_offsets(markers, 3, WriteTxnMarkers("x", 7, epoch, True, ())) for epoch in (4, 5, 6)
    ]
    assert (written, shard.fenced) == ([False, True, True], {7: 6})


# --- the books --------------------------------------------------------------------------------------------------------


def decided_once(*, is_committed: bool) -> tuple[TransactionBooks, Output]:
    """A batch of two records, the decision on it, and that the coordinator has lost that."""
    books = TransactionBooks()
    life = ProducerLife("m", 1, "x")
    books.begin(life)
    one = Output(life, (Origin(0, 0, 2),))
    books.shown(one, RecordBatch(2, 7, 4, 0, True))
    books.decided(WriteTxnMarkers("x", 7, 5, is_committed, ()))
    books.decisions_lost(7, 4)
    return books, one


def test_what_is_decided_the_same_way_again_is_nothing_new() -> None:
    books, one = decided_once(is_committed=True)
    books.decisions_lost(7, 5)
    books.decided(WriteTxnMarkers("x", 7, 4, True, ()))
    books.mark(one, is_committed=True)
    (life,) = books.lives
    assert (life.committed, life.records_committed) == (1, 2)
    assert books.coverage["read_committed", 0].twice == 0


def test_what_was_committed_and_is_aborted_is_lost_where_no_marker_was() -> None:
    books, one = decided_once(is_committed=True)
    books.decided(WriteTxnMarkers("x", 7, 5, False, ()))
    books.mark(one, is_committed=False)
    coverage = books.coverage["read_committed", 0]
    assert (coverage.missing, coverage.taken_back) == (2, 2)


def test_what_was_committed_and_is_aborted_is_twice_where_it_had_its_marker() -> None:
    books, one = decided_once(is_committed=True)
    books.mark(one, is_committed=True)
    books.decided(WriteTxnMarkers("x", 7, 5, False, ()))
    again = Output(one.life, one.origins)
    books.shown(again, RecordBatch(2, 7, 5, 0, True))
    books.decided(WriteTxnMarkers("x", 7, 6, True, ()))
    coverage = books.coverage["read_committed", 0]
    assert (coverage.twice, coverage.repeated, coverage.missing) == (2, 2, 0)
