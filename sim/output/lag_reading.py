"""The log of a group's offsets, read as time passes up to where nothing can be added any more, and then forgotten."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.group_books import GroupBooks
from groupsim.sim.model import Scenario
from groupsim.sim.output.lag_figures import Earlier, JoinedFigures, LagFigures, Span
from groupsim.sim.output.member_work import lives_of, slots_of
from groupsim.sim.output.stretches import Integers, Motion, Stretches
from groupsim.sim.output.traffic import Traffic

_ROWS: Final = 1 << 19
"""So many rows at least are kept until they are read."""


class LagReading:
    """Of one group.

    Parameters
    ----------
    books : GroupBooks
    scenario : Scenario

    Attributes
    ----------
    earlier : Earlier or None
        What has come of the rows that were read; None: none were.
    traffic : Traffic
        Of what was read.
    """

    def __init__(self, books: GroupBooks, scenario: Scenario) -> None:
        self._books = books
        self._origin_us, self._limit = scenario.origin_us, scenario.recovery_lag_records
        self.earlier: Earlier | None = None
        self.traffic = Traffic(books)

    def read_before(self, until: int) -> None:
        """Nothing is added before that time any more, microseconds."""
        ledger, done_us = self._books.ledger, -1 if self.earlier is None else self.earlier.until_us
        if ledger.log.rows <= _ROWS or until <= done_us:
            return
        log, ledger.log = ledger.log.parted(until)
        span = Span(self._origin_us, until, until - 1, self._books.measure)
        figures = JoinedFigures([ledger], [log], span, self.earlier)
        lag = LagFigures(ledger, 0, figures)
        lives = lives_of(self._books.record.lives, slots_of(self._books), lag)
        self.traffic.add(lag, lives)
        self.earlier = self._carried(figures, lag, lives)

    def _carried(self, figures: JoinedFigures, lag: LagFigures, lives: NDArray[np.intp]) -> Earlier:
        motion, work, after = figures.motion, figures.work, figures.reader.after
        services, productions = (np.unique(one[one >= 0]) for one in (after.service, after.production))
        is_over = np.ones(len(lag.slots), np.bool_)
        is_over[lag.over + services] = False
        at_limit_us = figures.at_limit_us(0, self._limit, figures.span.measure[0]) if self._limit else None
        return Earlier(
            figures.span.until_us, _renumbered(after, services, productions), _begun(motion, services, productions),
            work.records[services], work.partition_us[services], _over(lag, lives, is_over), figures.record_peaks,
            figures.age_us, figures.records_end, figures.records_max, at_limit_us,
        )  # fmt: skip


def _renumbered(after: Stretches, services: Integers, productions: Integers) -> Stretches:
    """By their index among those that go on; -1 stays."""
    service, production = after.service.copy(), after.production.copy()
    for column, kept in ((service, services), (production, productions)):
        column[column >= 0] = np.searchsorted(kept, column[column >= 0])
    return replace(after, service=service, production=production)


def _begun(motion: Motion, services: Integers, productions: Integers) -> tuple[Any, ...]:
    """What `OffsetLog.begun_with` takes, of those that go on."""
    kept = np.zeros(len(motion.lengths), np.bool_)
    kept[services] = True
    rows = np.repeat(kept, motion.lengths)
    partitions, offered, mrps = motion.load
    columns = (motion.slot, motion.since, motion.backlog, motion.rate, motion.capacity)
    return (
        [one[services] for one in columns], motion.lengths[services], (partitions[rows], offered[rows], mrps[rows]),
        [one[productions] for one in (motion.produced_since, motion.base, motion.mrps)],
    )  # fmt: skip


def _over(lag: LagFigures, lives: NDArray[np.intp], is_over: NDArray[np.bool_]) -> tuple[Any, ...]:
    """All services of each life that are over, as one: sums are those of one service after the other."""
    which = np.flatnonzero(is_over)
    _, first, row = np.unique(lives[which], return_index=True, return_inverse=True)
    sums = []
    for column in (lag.records, lag.partition_us, lag.busy_us):
        sums.append(np.zeros(len(first), column.dtype))
        np.add.at(sums[-1], row, column[which])
    return lag.slots[which][first], lag.since[which][first], *sums
