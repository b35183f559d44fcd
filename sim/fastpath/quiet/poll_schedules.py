"""The poll loops of many members at once: closed forms as columns, and drawn schedules, which are asked alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.client.polling.drawn_schedule import DrawnPollSchedule
from groupsim.sim.client.polling.poll_schedule import PollSchedule
from groupsim.sim.client.polling.settling import Settling, SettlingColumns
from groupsim.sim.units import FOREVER

Times = NDArray[np.int64]
Floats = NDArray[np.float64]
Which = NDArray[np.intp]
"""Indices of the members that are meant."""


class PollSchedules:
    """Poll schedules as columns, as they are when this is made.

    Parameters
    ----------
    table : int64 array, shape (7, n)
        In closed form: start, held_until, full passes; a full pass and the wait in it; a steady pass and its wait.
    drawn : mapping of int to DrawnPollSchedule
        Those that have to be asked themselves, by index.
    settling : SettlingColumns or None
        Passes between full ones and steady ones, if anybody has any.
    """

    def __init__(
        self, table: Times, drawn: Mapping[int, DrawnPollSchedule], settling: SettlingColumns | None = None
    ) -> None:
        self._table, self._drawn, self._settling = table, drawn, settling
        # A backlog that never ends has a billion passes; no instant is as late as this.
        table[2] = np.minimum(table[2], FOREVER // 2 // table[3])
        self._closed = self._closed_form(settling, *table)
        self._is_drawn = np.zeros(table.shape[1], np.bool_)
        self._is_drawn[list(drawn)] = True

    @classmethod
    def of(cls, schedules: Sequence[PollSchedule]) -> PollSchedules:
        """Columns of these."""
        columns = [
            (
                one.start, one.held_until, one.full_passes,
                one.full_us, one.full_wait_us, one.steady_us, one.steady_wait_us,
            )
            for one in schedules
        ]  # fmt: skip
        drawn = {index: one for index, one in enumerate(schedules) if isinstance(one, DrawnPollSchedule)}
        settling = SettlingColumns.of([None if index in drawn else one.settling for index, one in enumerate(schedules)])
        return cls(np.array(columns, np.int64).reshape(-1, 7).T.copy(), drawn, settling)

    def followed_by(self, other: PollSchedules) -> PollSchedules:
        """These, and then others."""
        n = self._table.shape[1]
        drawn = {**self._drawn, **{n + index: one for index, one in other._drawn.items()}}
        settling = SettlingColumns.of_both(self._settling, n, other._settling, other._table.shape[1])
        return PollSchedules(np.concatenate([self._table, other._table], axis=1), drawn, settling)

    @staticmethod
    def _closed_form(
        settling: Any, start: Any, held_until: Any, passes: Any, full: Any, full_wait: Any, steady: Any,
        steady_wait: Any,
    ) -> PollSchedule:  # fmt: skip
        return PollSchedule.of_columns(
            start, passes, full, full_wait, steady, steady_wait, 1.0, None, held_until, settling=settling
        )

    def each(self, which: Which) -> list[PollSchedule]:
        """Some of them, one by one."""
        rows = zip(which.tolist(), self._table[:, which].T.tolist(), strict=True)
        return [
            self._drawn[index] if index in self._drawn else self._closed_form(self._settling_of(index), *row)
            for index, row in rows
        ]

    def _settling_of(self, index: int) -> Settling | None:
        return self._settling.of_one(index) if self._settling is not None else None

    def next_poll(self, times: Times) -> Times:
        """`PollSchedule.next_poll`, each at its own time."""
        polls: Times = self._closed.next_poll(times)
        for index, one in self._drawn.items():
            polls[index] = one.next_poll(int(times[index]))
        return polls

    def reaction(self, times: Times) -> Times:
        """`PollSchedule.reaction`, each at its own time."""
        polls: Times = self._closed.reaction(times)
        for index, one in self._drawn.items():
            polls[index] = one.reaction(int(times[index]))
        return polls

    def train(self, polls: Times, intervals: Times, before: Times) -> tuple[Times, Times]:
        """`PollSchedule.train`, of each."""
        more, strides = self._closed.train(polls, intervals, before)
        return np.where(self._is_drawn, 0, more), np.where(self._is_drawn, intervals, strides)

    # --- in closed form only ------------------------------------------------------------------------------------------

    @property
    def is_drawn(self) -> NDArray[np.bool_]:
        """Who has to be asked itself: what follows is not for these."""
        return self._is_drawn

    def some(self, which: Which) -> PollSchedules:
        """Some of them."""
        settling = self._settling.some(which) if self._settling is not None else None
        return PollSchedules(self._table[:, which], {}, settling)

    def end_of_wait(self, times: Times) -> Times:
        """`PollSchedule.end_of_wait`, each at its own time."""
        ends: Times = self._closed.end_of_wait(times)
        return ends

    def steps_between_polls(self, times: Times, steps_us: Times) -> Times:
        """`PollSchedule.steps_between_polls`, each at its own time."""
        steps: Times = self._closed.steps_between_polls(times, steps_us)
        return steps

    def passes_from(self, times: Times) -> tuple[Times, Times, Times, Times]:
        """`PollSchedule.passes_from`, each at its own time; an end of 0: they are not alike, or have not begun."""
        start, _, passes, full, full_wait, steady, steady_wait = self._table
        switch = start + passes * full
        settled = switch if self._settling is None else switch + self._settling.span_us
        is_full = times < switch
        end = np.where(is_full, switch, np.where(times >= settled, FOREVER, 0))
        return (
            np.where(is_full, start, settled), np.where(times >= start, end, 0), np.where(is_full, full, steady),
            np.where(is_full, full_wait, steady_wait),
        )  # fmt: skip

    def hand_over(self, times: Times, before: Times, fetch_us: int) -> tuple[Times, Times, Times]:
        """`PollSchedule.hand_over`, each at its own time, of applications that stay as fast as they are."""
        start, held_until, passes, full, full_wait, steady, steady_wait = self._table
        given = PollSchedule.of_columns(
            start, passes, full, full_wait, steady, steady_wait, 1.0, before, held_until, fetch_us, self._settling
        )
        taken: tuple[Times, Times, Times] = given.hand_over(times, 1.0, times)
        return taken

    @property
    def start(self) -> Times:
        """The first polls."""
        start: Times = self._table[0]
        return start

    @property
    def shortest_us(self) -> Times:
        """`PollSchedule.shortest_us`."""
        shortest: Times = self._closed.shortest_us
        return shortest

    def count_before(self, times: Times) -> Times:
        """How many polls each has had before its time."""
        start, _, passes, full, _, steady, _ = self._table
        switch, settling = start + passes * full, self._settling
        in_full = -(-(times - start) // full)
        if settling is None:
            in_steady = passes - (switch - times) // steady
        else:
            in_steady = passes + settling.count_before(times - switch)
            since = times - switch - settling.span_us
            in_steady += (since > 0) * -(-since // steady)
        count: Times = np.maximum(np.where(times <= switch, in_full, in_steady), 0)
        return count

    def polls(self, numbers: Times, which: Which) -> Times:
        """When the polls of these numbers are, from 0 on. Shape (n, k), like ``numbers``."""
        start, _, passes, full, _, steady, _ = self._table[:, which, None]
        settling, past = self._settling, numbers - passes
        switch = start + passes * full
        if settling is None:
            later = switch + past * steady
        else:
            settled, count = settling.span_us[which, None], settling.count[which, None]
            in_steady = settled + (past - count) * steady
            later = switch + np.where(past < count, settling.begins(past, which), in_steady)
        polls: Times = np.where(past < 0, start + numbers * full, later)
        return polls
