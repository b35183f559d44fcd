"""An unclean election of what a group reads that produces: output of records that are gone stays, others get none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from groupsim.sim.books.truncation import Truncation
from groupsim.sim.catalog import Catalog, Partitions
from groupsim.sim.client.producing.transaction_input import TransactionInput
from groupsim.sim.client.producing.transaction_output import TransactionOutput
from groupsim.sim.model import Entry, Kill, Scenario, Slow, StartMembers
from groupsim.sim.protocol.messages import Positions
from groupsim.sim.protocol.offsets.records import CommittedOffsets
from groupsim.sim.protocol.offsets.transactions import PendingOffsets
from groupsim.sim.units import S
from tests.support.fidelity import differences
from tests.unit.sim.scenes import delivered, entry, everybody, lasting, simulate
from tests.unit.sim.test_transactional_records import LEVELS, counted, fates
from tests.unit.sim.transactional_scenes import Readers, output, played, total
from tests.unit.sim.unclean_scenes import (
    BEHIND_S,
    BROKERS,
    DEAD_S,
    accident,
    broker,
    five_brokers,
    holes,
    replicas,
)

GONE = 10 * (DEAD_S - BEHIND_S)
"""Ten records a second of the first partition, while its follower was away."""


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> Readers:
    return Readers(monkeypatch)


def input_cut_back(*more: Entry) -> Scenario:
    """The one behind leads the first partition of the input."""
    made = five_brokers(unclean=("t",))
    return five_brokers(*accident(*replicas(made, "t", 0)), *more, unclean=("t",))


def killed_from(at_s: float, down_s: float) -> Entry:
    return entry(round(at_s * S), Kill(target=everybody(), down=lasting(round(down_s * S))))


SLOW = entry(5 * S, Slow(target=everybody(), factor=12.0, duration=lasting(40 * S)))
"""Members are far behind when the leader dies, and always in the middle of a transaction."""
NO_COORDINATOR = (
    entry(round(31.5 * S), Kill(target=broker(3))),
    entry(60 * S, StartMembers(target=broker(3))),
)  # fmt: skip
"""Nobody can end a transaction when somebody else leads the input."""


def test_output_of_records_that_are_gone_stays_and_nobody_makes_it_again(readers: Readers) -> None:
    """Everybody has read it; the offsets of new records are others here, as in other groups."""
    result = played(input_cut_back())
    assert holes(readers, 0) == []
    assert set(readers.counts().values()) == {1}
    assert output(result)["read_committed"] == (0, 0)


def test_of_records_that_nobody_had_read_there_is_no_output(readers: Readers) -> None:
    found = delivered(played(input_cut_back(killed_from(25, 15))))
    assert found["loss", "truncated log"] == pytest.approx(GONE, abs=2)
    for level in ("read_committed", "read_uncommitted"):
        assert found["output loss", level] == found["output loss (truncated input)", level] == len(holes(readers, 0))
    assert len(holes(readers, 0)) == found["loss", "truncated log"]


@pytest.mark.parametrize("faults", [(SLOW,), (SLOW, *NO_COORDINATOR)])
def test_a_transaction_that_is_open_meanwhile_is_committed_with_what_it_has(
    readers: Readers, faults: tuple[Entry, ...]
) -> None:
    result = played(input_cut_back(*faults))
    assert total(result, "aborted") == 0
    found = delivered(result)
    gone = [one for position in range(4) for one in holes(readers, position)]
    assert len(gone) > 100
    assert found["output loss (truncated input)", "read_committed"] == len(gone) == found["loss", "truncated log"]
    assert set(readers.counts().values()) == {1}


def test_a_transaction_that_is_aborted_is_read_again_as_far_as_it_is_there(readers: Readers) -> None:
    """All that is gone has no output: some of it had been read, and its transaction was not committed."""
    result = played(input_cut_back(SLOW, *NO_COORDINATOR, killed_from(39.8, 2)))
    found = delivered(result)
    assert total(result, "aborted") > 0
    gone = sum(len(holes(readers, position)) for position in range(4))
    assert len(holes(readers, 0)) == pytest.approx(GONE, abs=2)
    assert found["output loss (truncated input)", "read_committed"] == gone > found["loss", "truncated log"]
    assert set(readers.counts().values()) == {1}


@pytest.mark.parametrize("faults", [(), (SLOW, *NO_COORDINATOR, killed_from(39.8, 2))])
def test_both_fidelities_agree(faults: tuple[Entry, ...]) -> None:
    assert not differences(input_cut_back(*faults), 1, check=False)


def test_the_coordinator_of_the_group_is_told_what_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A marker that comes late commits what is pending behind that."""
    told, skip = list[list[int]](), PendingOffsets.skip

    def spied(pending: PendingOffsets, positions: Positions, records: Callable[[int, int], int]) -> None:
        told.append(positions.tolist())
        skip(pending, positions, records)

    monkeypatch.setattr(PendingOffsets, "skip", spied)
    played(input_cut_back())
    assert told == [[0]]


@pytest.mark.parametrize("faults", [(SLOW,), (SLOW, *NO_COORDINATOR, killed_from(39.8, 2))])
def test_each_record_is_told_as_the_logs_have_it(readers: Readers, faults: tuple[Entry, ...]) -> None:
    """``data: exact``, under the watch over invariants."""
    found = fates(simulate(replace(input_cut_back(*faults), data="exact")))
    for level, is_committed in LEVELS.items():
        assert counted(found, level) == readers.counts(is_committed=is_committed)


def test_input_and_output_may_go_back_together(readers: Readers) -> None:
    made = five_brokers(unclean=("t", "out"))
    both = (*accident(*replicas(made, "t", 0)), *accident(*replicas(made, "out", 0)))
    timeline = {(one.at_us, one.verb): one for one in (*both, SLOW)}
    timeline = tuple(  # brokers may be the same
        entry(at, verb, f"{number}") for number, (at, verb) in enumerate(timeline)
    )  # fmt: skip
    found = delivered(played(five_brokers(*timeline, unclean=("t", "out"))))
    named = [found.get((f"output loss ({why})", "read_committed"), 0) for why in ("unclean", "truncated input")]
    assert min(named) > 0
    assert found["output loss", "read_committed"] == sum(named)


# --- one partition ----------------------------------------------------------------------------------------------------


def gone(records: int, end: int) -> Truncation:
    positions = np.array([0], np.int32)
    return Truncation(positions, *(np.array([one], np.int64) for one in (records, end, end)))


def reading(begun: int, sent: int) -> tuple[TransactionInput, TransactionOutput]:
    inputs = Partitions(Catalog(five_brokers().topics, [*BROKERS]))
    inputs.cover(["t"])
    made_of, made_to = TransactionInput(), TransactionOutput("out", 1, "x", S, inputs)
    made_to.adopt(7, 0)
    made_of.begun[0] = begun
    made_to.sent[0] = sent
    return made_of, made_to


def taken(made_to: TransactionOutput, to: int) -> list[tuple[int, int]]:
    body = made_to.take({0: to})
    return [] if body is None else [(one.first, one.last) for _, _, origins in body.batches for one in origins]


def test_what_is_processed_and_not_sent_is_sent_and_what_is_gone_is_passed_over() -> None:
    """100 to 110 are processed, five of them sent; fifty of those that follow are gone."""
    made_of, made_to = reading(begun=100, sent=105)
    made_of.skip(gone(50, 200), {0: 110}, made_to)
    assert taken(made_to, 165) == [(105, 110), (160, 165)]
    assert taken(made_to, 170) == [(165, 170)]
    made_of.rewind()
    assert made_of.begun == {0: 150}, "sixty wait, and fifty of them are gone"


def test_what_is_gone_and_was_processed_is_sent_and_committed() -> None:
    made_of, made_to = reading(begun=140, sent=150)
    made_of.end_at({0: 200})
    made_of.skip(gone(70, 200), {0: 200}, made_to)
    assert taken(made_to, 200) == [(150, 200)]
    made_of.commit()
    assert made_of.begun == {0: 200}


def test_between_two_transactions_the_next_one_begins_behind_what_is_gone() -> None:
    made_of, made_to = reading(begun=100, sent=100)
    made_of.skip(gone(50, 200), {0: 100}, made_to)
    assert (made_of.begun, made_to.sent) == ({0: 150}, {0: 150})
    assert made_of.drop(0) == 150


def test_what_is_on_its_way_to_the_coordinator_gets_past_what_is_gone() -> None:
    made_of, made_to = reading(begun=100, sent=110)
    made_of.end_at({0: 110})
    positions, offsets = made_of.offsets()
    made_of.skip(gone(50, 200), {0: 110}, made_to)
    assert (positions.tolist(), offsets.tolist()) == ([0], [160])
    made_of.commit()
    assert made_of.begun == {0: 160}


def test_what_is_pending_gets_past_what_is_gone() -> None:
    pending = PendingOffsets()
    pending.add(CommittedOffsets(np.array([0, 1], np.int32), np.array([110, 7], np.int64), 0, producer_id=7), 1)
    pending.skip(np.array([0], np.int32), gone(50, 130).skipped_from)
    assert {at: one.offset for at, one in pending.by_producer[7].items()} == {0: 130, 1: 7}
