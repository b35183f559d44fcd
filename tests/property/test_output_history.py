"""Figures of output partitions, against a partition's log that is asked after each change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.sim.books.producing import output_history
from groupsim.sim.books.producing.output_history import MARKER, NOTHING_WRITTEN, OutputFigures, OutputHistory
from groupsim.sim.protocol.producer.batches import RecordBatch
from groupsim.sim.protocol.producer.log import PartitionLog
from groupsim.sim.protocol.transactions.messages import TV2, WriteTxnMarkers

pytestmark = pytest.mark.property

STEPS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 2), st.integers(0, 1)), min_size=20, max_size=60
)
"""Place, producer id, records (0: a marker), microseconds since the last one."""


class Watched:
    """One log, and what a reader that looks after each commit has seen."""

    def __init__(self) -> None:
        self.log = PartitionLog()
        self.epochs: dict[int, int] = {}
        self.waiting: dict[int, int] = {}
        self.blocked = self.waited = self.lag = self.markers = self.since = 0
        self.was_blocked = False

    def write(self, now: int, producer: int, records: int) -> None:
        epoch = self.epochs.setdefault(producer, 0)
        if records:
            self.log.verified(producer)
            state = self.log.states.get(producer)
            known = state.batches if state is not None and state.epoch == epoch else ()
            first = known[-1].last_sequence + 1 if known else 0
            answer = self.log.append(now, RecordBatch(records, producer, epoch, first, True))
            self.waiting[answer.offset] = now
        else:
            self.epochs[producer] += 1
            self.log.mark(now, WriteTxnMarkers("id", producer, epoch + 1, True, (), 0, TV2))
            self.markers += 1
        self.log.advance()
        self._look(now)

    def _look(self, now: int) -> None:
        stable = self.log.last_stable_offset
        self.lag = max(self.lag, self.log.end - stable)
        for offset in [one for one in self.waiting if one < stable]:
            self.waited = max(self.waited, now - self.waiting.pop(offset))
        self.blocked += (now - self.since) * self.was_blocked
        self.was_blocked, self.since = bool(self.waiting), now

    def figures(self, horizon: int) -> OutputFigures:
        end, stable = self.log.high_watermark, self.log.last_stable_offset
        waited = max([self.waited, *(horizon - at for at in self.waiting.values())])
        blocked = self.blocked + (horizon - self.since) * self.was_blocked
        return OutputFigures(end, stable, self.markers, self.lag, blocked, waited)


@given(STEPS, st.booleans(), st.sampled_from([1, 8, 1 << 15]), st.sampled_from([1, 3, 7, 99]), st.integers(0, 3))
def test_figures_are_those_of_a_reader_that_looks_all_the_time(
    steps: Any, in_columns: bool, at_once: int, every: int, behind: int
) -> None:
    """Whatever is told late, in any order, and whenever what is sure by then is worked out."""
    logs, now = [Watched() for _ in range(2)], 10
    blocks: list[list[tuple[int, ...]]] = [[], []]
    history = OutputHistory(lambda: max(now - behind, 0))
    assert [history.place_of(("t", place)) for place in range(2)] == [0, 1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(output_history, "_AT_ONCE", at_once)
        for number, (place, producer, records, after) in enumerate(steps):
            now += after
            logs[place].write(now, producer, records)
            if in_columns and number % 3:
                blocks[number % 3 - 1].append((place, now, number, producer, records))
            else:
                history.note(("t", place), (now, number), now, producer, records or MARKER)
            if number % every == 0:
                tell(history, blocks, now - behind)
                patch.setattr(output_history, "_KEPT", -1)
                history.settle()
                patch.setattr(output_history, "_KEPT", 1 << 20)
        tell(history, blocks, now + 1)
        found = history.figures(now + 5)
    for place, one in enumerate(logs):
        assert found.get(("t", place), NOTHING_WRITTEN) == one.figures(now + 5)


def tell(history: OutputHistory, blocks: list[list[tuple[int, ...]]], until: int) -> None:
    """Rows of each block before a time, the last one first; all others are told later."""
    for rows in blocks:
        if told := [row for row in reversed(rows) if row[1] < until]:
            history.note_all(*np.array(told, np.int64).T)
        rows[:] = [row for row in rows if row[1] >= until]


def test_what_is_over_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A producer writes a batch and a marker in turn, another one's transaction is open: that, and what follows it."""
    monkeypatch.setattr(output_history, "_KEPT", 10)
    now = 0
    history = OutputHistory(lambda: now)
    for now in range(1000):
        history.note(("t", 0), (now, 0), now, 1, MARKER if now % 2 else 5)
        assert history.kept <= 12
    history.note(("t", 0), (now, 1), now, 2, 1)
    for now in range(1000, 2000):
        history.note(("t", 0), (now, 0), now, 1, MARKER if now % 2 else 5)
    assert 500 < history.kept <= 513
    assert history.figures(2000)["t", 0] == OutputFigures(6001, 3000, 1000, 3001, 1501, 1001)


@given(STEPS, st.lists(st.integers(0, 59), max_size=3))
def test_logs_that_begin_anew_have_the_same_figures_however_often_they_are_worked_on(steps: Any, anew: Any) -> None:
    """What readers were shown before is over at that time, also if part of it has been worked on."""
    often, once = (worked_on(steps, anew, kept) for kept in (-1, 1 << 20))
    assert often == once


def worked_on(steps: Any, anew: Any, kept: int) -> dict[Any, OutputFigures]:
    """Figures, if no more rows than that are kept."""
    now = 10
    history = OutputHistory(lambda: now)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(output_history, "_KEPT", kept)
        for number, (place, producer, records, after) in enumerate(steps):
            now += after
            history.place_of(("t", place))
            if number in anew:
                history.begin_anew(("t", place), now)
            history.note(("t", place), (now, number), now, producer, records or MARKER)
            history.settle()
        return history.figures(now + 5)
