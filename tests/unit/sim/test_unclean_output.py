"""An unclean election of the output topic: what was committed is gone, transactions that nobody decides, sequences."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import pytest

from groupsim.sim.books.producing.output_history import OutputHistory
from groupsim.sim.books.producing.transactions import ProducerLife, TransactionBooks
from groupsim.sim.cluster.topics.output_log import OutputLog
from groupsim.sim.cluster.topics.output_partitions import OutputPartitions
from groupsim.sim.model import ElectLeaders, Scenario
from groupsim.sim.protocol.messages import Api, Error
from groupsim.sim.protocol.producer.batches import Origin, Produce, RecordBatch
from groupsim.sim.protocol.transactions.messages import WriteTxnMarkers
from groupsim.sim.units import MS, S
from tests.support.fidelity import differences
from tests.unit.sim.scenes import delivered, entry, rows, simulate
from tests.unit.sim.test_transactional_outages import instants
from tests.unit.sim.test_transactional_records import LEVELS, counted, fates
from tests.unit.sim.transactional_scenes import Readers, answers, played, total
from tests.unit.sim.unclean_scenes import DEAD_S, accident, five_brokers, holes, replicas

LOST = 2 * 10 * 15
"""Two input partitions go to one of the output; ten records a second of each; for 15 seconds the follower was away."""


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> Readers:
    return Readers(monkeypatch)


def the_one_behind_leads(dead_s: float = DEAD_S, **more: object) -> Scenario:
    made = five_brokers(**more)
    return five_brokers(*accident(*replicas(made, "out", 0), dead_s), **more)


def test_what_was_committed_is_lost_by_its_name(readers: Readers) -> None:
    result = played(the_one_behind_leads())
    found = delivered(result)
    missing = sum(len(holes(readers, position)) for position in range(4))
    assert missing == pytest.approx(LOST, abs=10)
    for level in ("read_committed", "read_uncommitted"):
        assert found["output loss", level] == found["output loss (unclean)", level] == missing
    assert not [one for one in found if one[0].startswith("output duplicate")]
    assert total(result, "aborted") == 0, "no producer has heard of it"
    assert [at for at in range(4) if holes(readers, at)] == [0, 2], "partitions that go to the first one of the output"
    # At the horizon the markers of some may be on their way.
    in_log = sum(readers.counts(is_committed=False).values())
    assert total(result, "records_committed") + total(result, "records_open") - missing == in_log


def test_the_ends_of_the_log_go_back() -> None:
    made = five_brokers()
    ends = {one["partition"]: one["high_watermark"] for one in rows(played(the_one_behind_leads()), "output")}
    before = {one["partition"]: one["high_watermark"] for one in rows(played(made), "output")}
    assert before[0] - ends[0] > LOST > before[1] - ends[1]


def test_nothing_is_lost_while_nobody_may_lead_who_lacks_something(readers: Readers) -> None:
    made = five_brokers(unclean=("none",))
    assert len(replicas(made, "out", 0)) == 2
    played(five_brokers(*accident(*replicas(made, "out", 0)), unclean=("none",)))
    assert [holes(readers, position) for position in range(4)] == [[]] * 4


def test_both_fidelities_agree() -> None:
    assert not differences(the_one_behind_leads(), 1, check=False)


def test_an_unclean_election_can_be_asked_for(readers: Readers) -> None:
    asked = entry(45 * S, ElectLeaders(topics=("out",), election="unclean"))
    made = five_brokers(*accident(*replicas(five_brokers(), "out", 0)), asked)
    made = replace(made, topics=tuple(replace(one, unclean_leader_election=False) for one in made.topics))
    found = delivered(played(made))
    assert found["output loss (unclean)", "read_committed"] == pytest.approx(LOST, abs=10)
    assert sum(len(holes(readers, position)) for position in range(4)) == found["output loss", "read_committed"]


def test_a_batch_whose_predecessor_is_gone_is_out_of_order(readers: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader dies between the first record of a transaction and the others: it is aborted, and read again."""
    sent = instants(monkeypatch, "receive", Api.PRODUCE)
    more = {"count": 1, "rate": 100_000, "partitions": 1}
    played(five_brokers(**more))
    later = [at for at in sent if at > DEAD_S * S]
    first, rest = next(pair for pair in pairwise(later) if pair[1] - pair[0] > 50 * MS)
    result = played(the_one_behind_leads((first + rest) / 2 / S, **more))
    assert answers(result, "Produce")["OUT_OF_ORDER_SEQUENCE_NUMBER"] == 1
    assert total(result, "aborted") == 1
    found = delivered(result)
    assert found["output loss", "read_committed"] == found["output loss (unclean)", "read_committed"]
    assert len(holes(readers, 0)) == found["output loss", "read_committed"]


def test_each_record_is_told_as_the_logs_have_it(readers: Readers) -> None:
    """``data: exact``, under the watch over invariants."""
    found = fates(simulate(replace(the_one_behind_leads(), data="exact")))
    for level, is_committed in LEVELS.items():
        assert counted(found, level) == readers.counts(is_committed=is_committed)


# --- one log ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def books() -> TransactionBooks:
    found = TransactionBooks()
    found.begin(ProducerLife("m", 1, "x"))
    return found


def new_log(books: TransactionBooks) -> OutputLog:
    return OutputLog("g", books, 2, partial(OutputHistory(lambda: 0).note, ("out", 0)))


def write(log: OutputLog, now: int, epoch: int, first: int, sequence: int = 0) -> Error:
    """Two records, made of two of the input."""
    batch = RecordBatch(2, 7, epoch, sequence, True)
    if log.log.needs_verification(batch) is True:
        log.log.verified(7)
    error, _ = log.append(now, batch, "x", (Origin(0, first, first + 2),))
    log.commit((now, 0))
    return error


def decide(log: OutputLog, books: TransactionBooks, now: int, epoch: int, *, is_committed: bool) -> None:
    markers = WriteTxnMarkers("x", 7, epoch + 1, is_committed, ())
    books.decided(markers)
    log.mark(now, markers)
    log.commit((now, 0))


def seen(books: TransactionBooks, level: str = "read_committed") -> dict[str, int]:
    one = books.coverage.get((level, 0))
    names = ("twice", "repeated", "missing", "taken_back")
    return {name: getattr(one, name) for name in names if one is not None and getattr(one, name)}


def test_a_transaction_whose_marker_is_gone_stays_open(books: TransactionBooks) -> None:
    """KAFKA-20716: the coordinator is done with it, and nobody sends a marker again."""
    log = new_log(books)
    write(log, 10, 0, 0)
    decide(log, books, 20, 0, is_committed=True)
    assert log.cut(15, is_unclean=True)
    assert (log.log.end, log.log.high_watermark, log.log.last_stable_offset) == (2, 2, 0)
    assert seen(books) == {"missing": 2, "taken_back": 2}
    assert seen(books, "read_uncommitted") == {}


def test_the_marker_of_the_next_transaction_decides_it(books: TransactionBooks) -> None:
    """``ProducerAppendInfo.appendDataBatch``: what is open goes on, of whatever epoch."""
    log = new_log(books)
    write(log, 10, 0, 0)
    decide(log, books, 20, 0, is_committed=True)
    log.cut(15, is_unclean=True)
    assert write(log, 30, 1, 2) is Error.NONE
    decide(log, books, 40, 1, is_committed=True)
    assert log.log.read(0, is_committed=True)[0] == [0, 1, 2, 3]
    assert seen(books) == {}


def test_the_marker_of_the_next_transaction_takes_what_was_committed(books: TransactionBooks) -> None:
    log = new_log(books)
    write(log, 10, 0, 0)
    decide(log, books, 20, 0, is_committed=True)
    log.cut(15, is_unclean=True)
    write(log, 30, 1, 2)
    decide(log, books, 40, 1, is_committed=False)
    assert log.log.read(0, is_committed=True)[0] == []
    assert seen(books) == {"missing": 2, "taken_back": 2}


def test_the_marker_of_the_next_transaction_shows_what_was_aborted(books: TransactionBooks) -> None:
    """It was made again meanwhile, so that readers get it twice."""
    log = new_log(books)
    write(log, 10, 0, 0)
    decide(log, books, 20, 0, is_committed=False)
    log.cut(15, is_unclean=True)
    write(log, 30, 1, 0)
    decide(log, books, 40, 1, is_committed=True)
    assert log.log.read(0, is_committed=True)[0] == [0, 1, 2, 3]
    assert seen(books) == {"twice": 2, "repeated": 2}


def test_a_batch_that_is_gone_is_in_no_transaction(books: TransactionBooks) -> None:
    """Its producer goes on with the next sequence, is refused, aborts, and makes it again."""
    log = new_log(books)
    write(log, 10, 0, 0)
    log.cut(5, is_unclean=True)
    assert write(log, 20, 0, 2, sequence=2) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    decide(log, books, 30, 0, is_committed=False)
    assert seen(books) == {}
    write(log, 40, 1, 0)
    decide(log, books, 50, 1, is_committed=True)
    assert seen(books) == {}


def test_a_batch_that_is_gone_before_its_transaction_is_committed_is_lost(books: TransactionBooks) -> None:
    log = new_log(books)
    write(log, 10, 0, 0)
    log.cut(5, is_unclean=True)
    decide(log, books, 30, 0, is_committed=True)
    assert seen(books) == {"missing": 2, "taken_back": 2}
    assert log.log.end == 1, "a marker that ends nothing"


def test_a_marker_of_an_epoch_that_is_over_is_refused(books: TransactionBooks) -> None:
    log = new_log(books)
    write(log, 10, 4, 0)
    assert not log.mark(20, WriteTxnMarkers("x", 7, 3, True, ()))
    assert log.mark(20, WriteTxnMarkers("x", 7, 5, True, ()))


def test_a_clean_election_takes_back_nothing_that_is_committed(books: TransactionBooks) -> None:
    log = new_log(books)
    write(log, 10, 0, 0)
    assert not log.cut(5, is_unclean=False)
    assert log.log.end == 2


def test_figures_go_on_at_the_log_that_lacks_something() -> None:
    """A transaction is open from 10 on, decided at 20, and open again from 30 on, when that is gone."""
    history = OutputHistory(lambda: 0)
    books = TransactionBooks()
    books.begin(ProducerLife("m", 1, "x"))
    log = OutputLog("g", books, 2, partial(history.note, ("out", 0)))
    write(log, 10, 0, 0)
    decide(log, books, 20, 0, is_committed=True)
    log.cut(15, is_unclean=True)
    history.begin_anew(("out", 0), 30)
    log.show_again((30, 0))
    figures = history.figures(100)["out", 0]
    assert figures[:3] == (2, 0, 0)
    assert (figures.blocked_us, figures.blocked_us_max) == (10 + 70, 70)


def test_who_waits_for_a_transaction_goes_on_waiting_at_a_log_that_lacks_something_else() -> None:
    history, books = OutputHistory(lambda: 0), TransactionBooks()
    books.begin(ProducerLife("m", 1, "x"))
    log = OutputLog("g", books, 2, partial(history.note, ("out", 0)))
    write(log, 10, 0, 0)
    write(log, 20, 0, 2, sequence=2)
    log.cut(15, is_unclean=True)
    history.begin_anew(("out", 0), 30)
    log.show_again((30, 0))
    assert history.figures(100)["out", 0][4:] == (90, 90)


def test_a_request_for_several_leaders_hears_that_one_of_them_lacks_its_batch(books: TransactionBooks) -> None:
    """It is not taken for acknowledged when the log is as long again, with what another producer has written."""
    told, moment = list[Error](), SimpleNamespace(now=10, moment=(10, 0), at=lambda *_: SimpleNamespace(drop=list))
    catalog: Any = SimpleNamespace(leader_of=lambda _, number: number, unreadable={("out", 1)})
    groups: Any = {"g": SimpleNamespace(books=SimpleNamespace(transactions=books))}
    up: Any = {node: SimpleNamespace(is_up=True) for node in (0, 1)}
    env, readers = cast(Any, moment), cast(Any, SimpleNamespace(arrivals={}, hidden=dict))
    logs = OutputPartitions(env, catalog, groups, up, 2, 0, lambda _, error, __: told.append(error), readers)
    batches = [(("out", number), RecordBatch(2, 7, 0, 0, True), (Origin(number, 0, 2),)) for number in (0, 1)]
    exchange: Any = SimpleNamespace(connection=SimpleNamespace(node=0), body=Produce("x", tuple(batches), S))
    for partition, _, _ in batches:
        logs.of(partition, "g").log.verified(7)
    logs.append(exchange)
    assert told == [], "the second partition has followers that do not follow"
    logs.cut(("out", 1), 5, is_unclean=False)
    catalog.unreadable.clear()
    logs.logs["out", 1].log.verified(8)
    logs.logs["out", 1].append(20, RecordBatch(2, 8, 0, 0, True), "x", (Origin(1, 2, 4),))
    logs.changed([("out", 1)])
    assert told == [Error.NOT_LEADER_OR_FOLLOWER]
