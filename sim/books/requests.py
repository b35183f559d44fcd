"""Requests of one group that were answered, by API and error code; those count that were sent within ``measure``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from groupsim.sim.books.record import GroupRecord
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.protocol.interface import Reply
from groupsim.sim.protocol.messages import Api, Error


class RequestCounts:
    """Counts of one group.

    Parameters
    ----------
    record : GroupRecord
        Where they are kept.
    measure : (int, int), microseconds
    """

    def __init__(self, record: GroupRecord, measure: tuple[int, int]) -> None:
        self._record = record
        self._measure = measure

    def count(self, exchange: Exchange, error: Enum) -> None:
        """A request was answered."""
        low, high = self._measure
        if low <= exchange.sent_us <= high:
            self._record.requests[exchange.api.value, error.value] += 1

    def count_busy(self, sent_us: Sequence[int]) -> None:
        """Heartbeats that were sent then have changed something."""
        low, high = self._measure
        self._record.counts["busy_heartbeats"] += sum(low <= sent <= high for sent in sent_us)

    def count_answers(self, replies: Iterable[Reply]) -> None:
        """`count` for many, most of which are like the one before."""
        (low, high), requests = self._measure, self._record.requests
        api: Any = None
        error: Any = None
        number = 0
        for reply in replies:
            exchange: Any = reply.waiter
            if exchange.api is not api or reply.response.error is not error:
                if api is not None:
                    requests[api.value, error.value] += number
                api, error, number = exchange.api, reply.response.error, 0
            number += low <= exchange.sent_us <= high
        if api is not None:
            requests[api.value, error.value] += number

    def count_measured(self, api: Api, number: int) -> None:
        """So many requests were sent within ``measure``, and there was nothing wrong with them."""
        self._record.requests[api.value, Error.NONE.value] += number

    def count_quietly(self, api: Api, error: Error, sent_us: ArrayLike, number: int) -> None:
        """Requests that were answered like this, so many for each time of sending."""
        sent, (low, high) = np.asarray(sent_us), self._measure
        self._record.requests[api.value, error.value] += number * int(np.count_nonzero((low <= sent) & (sent <= high)))
