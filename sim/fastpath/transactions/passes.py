"""Passes through the poll loop of many members whose thread is back from a commit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.client.polling.drawn_schedule import busy_us
from groupsim.sim.client.polling.pace import Load
from groupsim.sim.client.polling.poll_events import are_found
from groupsim.sim.client.polling.poll_schedule import PollSchedule
from groupsim.sim.fastpath.transactions.beats import Pass
from groupsim.sim.fastpath.transactions.columns import Column, Held, Members, Standing
from groupsim.sim.randomness import draws


class Passes:
    """Those of some members, one after the other.

    Parameters
    ----------
    members : Members
    held : Held
    standing : Standing

    Attributes
    ----------
    begin_us : int64 array, shape (n,), microseconds
        When each begins its first pass.
    are_plain : bool array, shape (n,)
        Who has less to do than one poll() can return.
    """

    def __init__(self, members: Members, held: Held, standing: Standing) -> None:
        self._schedule = PollSchedule(standing.back_us, members.pace, Load(held.rate, standing.waiting))
        self._pace, self._costs, self._batches = members.pace, members.costs, standing.batches
        self._rate = held.rate
        self.begin_us = standing.back_us
        self.are_plain: NDArray[np.bool_] = self._schedule.full_passes == 0

    def of_number(self, number: int, begin_us: Column) -> tuple[Column, Column]:
        """The wait inside poll() and the length of the passes of that number, from 0 on; microseconds.

        ``begin_us``: when they begin. Of members that are plain.
        """
        if self._costs is None:
            _, wait_us, length = self._schedule.pass_at(begin_us)
            return wait_us, length
        settling, records, wait_us = self._schedule.settling, self._pace.steady_records, self._pace.steady_wait_us
        if settling is not None and number < len(settling.lengths):
            is_settling = settling.lengths[number] > 0
            records = np.where(is_settling, settling.records[number], records)
            wait_us = np.where(is_settling, settling.waits[number], wait_us)
        law, key, fixed_us, record_wait_us = self._costs
        costs = draws(law, key, self._batches + number)
        return wait_us, wait_us + busy_us(costs, records, self._pace.slowdown, record_wait_us, fixed_us)

    def batches(self, passes: Sequence[Pass]) -> Column:
        """Number of the batch after these passes; it stays where each record costs the same."""
        if self._costs is None:
            return self._batches
        batches: Column = self._batches + np.sum([one.is_on for one in passes], axis=0)
        return batches

    def refers(self, before: NDArray[np.bool_], passes: Sequence[Pass], poll_us: int) -> NDArray[np.bool_]:
        """Whether the last pass has submitted an event, from whether the one before these has (`PollEvents`)."""
        settling, refers = self._schedule.settling, before
        spacing_us = 1 / np.where(self._rate > 0, self._rate, 1.0)
        for number, one in enumerate(passes):
            is_settled = np.full(len(before), True) if settling is None else number >= settling.count
            wait_us = one.leaves_us - one.begin_us
            found = are_found(wait_us, poll_us, self._pace.steady_us, spacing_us, is_settled=is_settled)
            refers = np.where(one.is_on, np.where(found, ~refers, True), refers)
        return refers
