"""What connections make of requests, for many members at once: arrivals, the broker's work, answers, in order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.units import FOREVER

Matrix = NDArray[np.int64]
"""A row a member, a column a request in order of sending. Shape (n, k)."""


class Requests(NamedTuple):
    """Requests of many members, in order of sending; rows can have gaps.

    Parameters
    ----------
    sent, there, back, work : int64 arrays, shape (n, k), microseconds
        When each is sent, its latencies, and how long the broker works on it.
    is_sent : bool array, shape (n, k)
        Where there is no gap.
    """

    sent: Matrix
    there: Matrix
    back: Matrix
    work: Matrix
    is_sent: NDArray[np.bool_]

    def sorted(self, ranks: Matrix) -> Requests:
        """In order of sending, within an instant by rank (0 to 3)."""
        order = np.argsort(4 * self.sent + ranks, axis=1, kind="stable")
        sent, there, back, work = (np.take_along_axis(one, order, axis=1) for one in self[:4])
        return Requests(sent, there, back, work, np.take_along_axis(self.is_sent, order, axis=1))


class Flights(NamedTuple):
    """When requests arrive, when their answers leave, and when those arrive. Each of shape (n, k), microseconds."""

    arrived: Matrix
    left: Matrix
    answered: Matrix


def fly(requests: Requests, order: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]) -> Flights:
    """`sim.kernel.network.Connection`, and `SteadyState.beats`, as running maxima.

    Parameters
    ----------
    requests : Requests
    order : (n,) arrays
        Arrival of the last request, departure and arrival of the last answer before these.
    """
    is_sent, (up, free, down) = requests.is_sent, (one[:, None] for one in order)
    rank = np.cumsum(is_sent, axis=1) - 1
    arrived = _latest(requests.sent + requests.there - rank, up + 1, is_sent) + rank
    done = np.cumsum(np.where(is_sent, requests.work, 0), axis=1)
    left = _latest(arrived - done + requests.work, free, is_sent) + done
    answered = _latest(left + requests.back - rank, down + 1, is_sent) + rank
    return Flights(arrived, left, answered)


def _latest(times: Matrix, least: Matrix, is_sent: NDArray[np.bool_]) -> Matrix:
    """The latest so far, and ``least`` at least."""
    return np.maximum(np.maximum.accumulate(np.where(is_sent, times, -FOREVER), axis=1), least)
