"""Transactions while brokers fail: coordinators that move, leaders that are gone, offsets that wait meanwhile."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from groupsim.sim.books.producing.output_history import OutputHistory
from groupsim.sim.books.producing.transactions import ProducerLife, TransactionBooks
from groupsim.sim.client.producing.transaction_loop import TransactionLoop
from groupsim.sim.cluster.groups.coordinator import partition_for
from groupsim.sim.cluster.topics.output_log import OutputLog
from groupsim.sim.cluster.transactions.transactions import Transactions
from groupsim.sim.config import TransactionConfig
from groupsim.sim.model import CrashAt, Cut, Kill, Restart, Scenario, Target
from groupsim.sim.protocol.messages import Api, Error
from groupsim.sim.protocol.producer.batches import Origin, RecordBatch
from groupsim.sim.protocol.transactions.messages import TV1, TV2, WriteTxnMarkers
from groupsim.sim.randomness import name_hash
from groupsim.sim.units import MS, S
from tests.unit.sim.scenes import entry, lasting, member, rows
from tests.unit.sim.transactional_scenes import JITTER, SLOW_LOG, Readers, answers, output, played, producing, transform

NODES = 3
FIDELITIES = ("elided", "message")


def broker(node: int | str) -> Target:
    return Target(kind="broker", name=str(node))


def coordinator_of(transactional_id: str) -> int:
    return partition_for(transactional_id, 50) % NODES


OF_GROUP = coordinator_of("g")
LEADER = name_hash("out") % NODES
"""Of the first partition of the output topic."""
APART = next(name for name in "abcdef" if coordinator_of(name) not in (OF_GROUP, LEADER))
"""A transactional id whose coordinator is on another broker than the group's, and than that leader."""


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> Readers:
    return Readers(monkeypatch)


def instants(monkeypatch: pytest.MonkeyPatch, method: str, of: Api | None = None, at: int | None = None) -> list[int]:
    """When a method of the transactions of a cluster is called; ``of``: for requests of this kind, ``at`` a broker."""
    found: list[int] = []
    known = getattr(Transactions, method)

    def spied(host: Transactions, *arguments: Any) -> None:
        is_one = of is None or arguments[0].api is of
        if is_one and (at is None or arguments[0].connection.node == at):
            found.append(host._env.now)
        known(host, *arguments)

    monkeypatch.setattr(Transactions, method, spied)
    return found


def scenario(*timeline: Any, **more: Any) -> Scenario:
    more = {"count": 1, "copies": 3, "horizon_s": 60, **more}
    return transform(*timeline, **more)


def is_once(readers: Readers, at_least: int, partitions: int = 4) -> bool:
    """Whether each input is in the output once, up to somewhere, and that is far enough."""
    counts = readers.counts()
    for position in range(partitions):
        made = sorted(offset for at, offset in counts if at == position)
        if made != [*range(len(made))] or len(made) < at_least:
            return False
    return set(counts.values()) == {1}


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_a_producer_finds_the_coordinator_of_its_id_again(readers: Readers, name: str) -> None:
    """A broker that is restarted hands its coordinators over, those of the group and of transactions alike."""
    restart = Restart(target=broker(coordinator_of(name)), down=lasting(4 * S))
    result = played(scenario(entry(15 * S, restart), produces=producing(transactional_id=name)))
    assert answers(result, "EndTxn").keys() - {"NONE"} <= {"NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS"}
    assert answers(result, "FindCoordinator")["NONE"] > 1
    assert is_once(readers, 450)
    assert output(result)["read_committed"] == (0, 0)


def test_a_transaction_goes_on_at_the_next_coordinator(readers: Readers) -> None:
    """It is Ongoing by the log; who sends EndTxn again after the load commits it."""
    held = Kill(target=broker(coordinator_of(APART)), down=lasting(8 * S))
    result = played(scenario(entry(15 * S, held), produces=producing(transactional_id=APART)))
    (life,) = rows(result, "transactions")
    assert (life["aborted"], life["ended_by"]) == (0, "")
    assert 7 * S < life["took_us_max"] < 16 * S
    assert is_once(readers, 450)


@pytest.mark.parametrize("version", [TV1, TV2])
def test_a_batch_that_is_given_up_is_aborted_and_read_again(
    readers: Readers, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    """``delivery.timeout.ms`` is over before somebody leads: of TV1 the producer needs another epoch to go on."""
    produces = producing(delivery_timeout_us=2 * S, transactional_id=APART)
    cluster = replace(SLOW_LOG, transactions=TransactionConfig(version=version))
    sent = instants(monkeypatch, "receive", Api.PRODUCE, LEADER)
    played(scenario(produces=produces, cluster=cluster, horizon_s=20))
    at = next(time for time in sent if time > 15 * S)
    dead = entry(at - MS, Kill(target=broker(LEADER), down=lasting(8 * S)))
    result = played(scenario(dead, produces=produces, cluster=cluster))
    (life,) = rows(result, "transactions")
    assert answers(result, "EndTxn")["NONE"] > life["committed"]
    assert life["ended_by"] == ""
    assert (answers(result, "InitProducerId")["NONE"] > 1) == (version == TV1)
    assert is_once(readers, 450)


def test_both_fidelities_agree() -> None:
    faults = entry(9 * S, Kill(target=broker(0), down=lasting(4 * S))), entry(22 * S, Restart(target=broker(1)))
    digests = [played(scenario(*faults, count=2, horizon_s=40), one).manifest["digests"] for one in FIDELITIES]
    assert digests[0] == digests[1]


def test_markers_wait_for_a_leader(readers: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transaction is decided, and readers wait until somebody leads the partition; nothing is sent in vain."""
    sent = instants(monkeypatch, "_send_markers")
    produces = producing(transactional_id=APART)
    played(scenario(cluster=SLOW_LOG, produces=produces, horizon_s=20))
    at = next(time for time in sent if time > 15 * S)
    dead = Kill(target=broker(LEADER), down=lasting(30 * S))
    result = played(scenario(entry(at + MS, dead), cluster=SLOW_LOG, produces=produces, horizon_s=70))
    blocked = max(one["blocked_us_max"] for one in rows(result, "output"))
    assert 7 * S < blocked < 20 * S
    assert is_once(readers, 500)


def test_offsets_that_are_pending_survive_their_coordinator(readers: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    """The application dies when it has sent EndTxn, the group's broker before the marker is there.

    The next owner waits for the marker, and goes on after what the transaction has made.
    """
    ends = instants(monkeypatch, "receive", Api.END_TXN)
    produces = producing(transactional_id=APART)
    played(scenario(cluster=SLOW_LOG, produces=produces, horizon_s=20))
    at = next(time for time in ends if time > 15 * S)
    crash = entry(at - 500 * MS, CrashAt(target=member(0), point="after_end_txn", down=lasting(2 * S)))
    dead = entry(at + 10 * MS, Kill(target=broker(OF_GROUP), down=lasting(30 * S)))
    result = played(scenario(crash, dead, cluster=SLOW_LOG, produces=produces, horizon_s=90))
    assert [one["committed"] > 0 for one in rows(result, "transactions")] == [True, True]
    assert is_once(readers, 700)


# --- the log of an output partition -----------------------------------------------------------------------------------


def batch(first: int, records: int = 2, epoch: int = 0) -> RecordBatch:
    return RecordBatch(records, 7, epoch, first, True)


@pytest.fixture
def books() -> TransactionBooks:
    found = TransactionBooks()
    found.begin(ProducerLife("m", 1, "x"))
    return found


def opened(books: TransactionBooks) -> OutputLog:
    """A log with a batch that all in sync have, and one that only the leader has."""
    log = OutputLog("g", books, 2, partial(OutputHistory(lambda: 0).note, 0))
    log.log.verified(7)
    assert log.append(0, batch(0), "x", (Origin(0, 0, 2),)) == (Error.NONE, 2)
    log.commit((0, 0))
    assert log.append(10, batch(2), "x", (Origin(0, 2, 4),)) == (Error.NONE, 4)
    return log


def test_what_only_a_leader_had_is_gone_with_it_and_is_taken_again(books: TransactionBooks) -> None:
    log = opened(books)
    log.cut(5, is_unclean=False)
    assert (log.log.end, log.log.high_watermark, log.log.last_stable_offset) == (2, 2, 0)
    assert log.append(20, batch(2), "x", (Origin(0, 2, 4),)) == (Error.NONE, 4)
    log.commit((20, 0))
    log.mark(30, WriteTxnMarkers("x", 7, 1, True, ()))
    log.commit((30, 0))
    assert log.log.read(0, is_committed=True) == ([0, 1, 2, 3], 5)
    assert sum(origin.last - origin.first for one in books.open for origin in one.origins) == 4


def test_what_followers_have_is_there_and_its_repetition_is_none(books: TransactionBooks) -> None:
    log = opened(books)
    log.cut(10, is_unclean=False)
    assert log.append(20, batch(2), "x", (Origin(0, 2, 4),)) == (Error.NONE, 4)
    log.commit((20, 0))
    assert log.log.end == 4
    assert sum(origin.last - origin.first for one in books.open for origin in one.origins) == 4


def test_readers_see_what_all_in_sync_have_and_nothing_else(books: TransactionBooks) -> None:
    log = opened(books)
    assert log.log.high_watermark == 2
    assert [origin for one in books.open for origin in one.origins] == [Origin(0, 0, 2)]


def test_what_is_replicated_after_the_decision_is_of_that_transaction(books: TransactionBooks) -> None:
    """It had no acknowledgement; the next transaction of the id has nothing to do with it."""
    log = opened(books)
    books.decided(WriteTxnMarkers("x", 7, 1, False, ()))
    log.commit((20, 0))
    (life,) = books.lives
    assert (life.aborted, life.records_aborted, books.open) == (1, 4, [])


def test_what_is_committed_is_processed_though_a_member_is_cut_off_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the record that is sent first a flow may lack a part, if all leaders are gone then: it is processed."""
    ahead, transaction = list[int](), TransactionLoop._transaction

    def spied(loop: TransactionLoop, now: int) -> Any:
        frontier = loop._client.books.ledger.frontier
        ahead.append(max(offset - int(frontier[one]) for one, offset in loop._positions(now).items()))
        return transaction(loop, now)

    sent = instants(monkeypatch, "receive", Api.PRODUCE)
    played(scenario(cluster=JITTER, horizon_s=16, rate=20_000), "message")
    monkeypatch.setattr(TransactionLoop, "_transaction", spied)
    for at in [time for time in sent if time > 15 * S][:4]:
        cut = entry(at, Cut(between=(member(0), Target("broker", "all")), duration=lasting(8 * S)))
        played(scenario(cut, cluster=JITTER, horizon_s=16, rate=20_000))
    assert len(ahead) > 40
    assert max(ahead) == 0
