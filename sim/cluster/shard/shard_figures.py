"""What a shard's queue comes to: utilisation, queue length, waits, and how many members it would bear.

A metered shard has been measured. Of every other one the waits follow from the requests that were worked on in it,
and the assignors that ran, as if they had come at random (`sim.cluster.shard.waiting_time`): a burst waits longer
than that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import ceil

import numpy as np

from groupsim.sim.books.shard_books import LOADING, ShardBooks, ShardFigures
from groupsim.sim.cluster.shard.event_loop import EVENTS, PARKED
from groupsim.sim.cluster.shard.offered_load import Offered, shard_streams
from groupsim.sim.cluster.shard.waiting_time import Stream, mean_wait_us, utilisation, waiting_time
from groupsim.sim.config import EventTimes
from groupsim.sim.units import S

Waits = tuple[int | None, int | None, int | None]
"""Median, 99 % and longest, microseconds; None: the queue has no end."""


def measured(books: ShardBooks, requests: Counter[str], offered: Mapping[str, Offered], horizon: int) -> ShardFigures:
    """Figures of a metered shard."""
    length_us = max(books.measure[1] - books.measure[0], 1)
    waits = np.sort(np.frombuffer(books.waits_us, np.int64)) if books.waits_us else np.zeros(1, np.int64)
    ranked: Waits = (_rank(waits, 0.5), _rank(waits, 0.99), int(waits[-1]))
    return _figures(
        books, requests, offered, horizon, "queue", books.busy_us / length_us, books.waited_us / length_us,
        books.longest, ranked,
    )  # fmt: skip


def computed(
    books: ShardBooks, requests: Counter[str], offered: Mapping[str, Offered], horizon: int, times: EventTimes
) -> ShardFigures:
    """Figures of a shard that is not metered."""
    length_s = max(books.measure[1] - books.measure[0], 1) / S
    streams = [
        Stream(requests[api.value] / length_s, getattr(times, name) + (times.answer_us if api in PARKED else 0))
        for api, name in EVENTS.items()
    ]
    rare = books.assignors_us + books.changes_us
    streams += [Stream(count / length_s, took_us) for took_us, count in sorted(rare.items())]
    known = tuple(one for one in streams if one.rate_per_s and one.service_us)
    load, waits = utilisation(known), _waits(known)
    rate = sum(one.rate_per_s for one in known)
    length = rate * mean_wait_us(known) / S if load < 1 else None
    return _figures(books, requests, offered, horizon, "formula", load, length, None, waits)


def _waits(streams: tuple[Stream, ...]) -> Waits:
    if utilisation(streams) >= 1:
        return None, None, None
    law = waiting_time(streams)
    if law is None:
        return 0, 0, 0
    values = np.array(law.values)
    return _rank(values, 0.5), _rank(values, 0.99), int(values[-1])


def _rank(ascending: np.ndarray, quantile: float) -> int:
    return int(ascending[max(ceil(quantile * len(ascending)) - 1, 0)])


def _figures(
    books: ShardBooks, requests: Counter[str], offered: Mapping[str, Offered], horizon: int, basis: str, load: float,
    queue_mean: float | None, queue_max: int | None, waits: Waits,
) -> ShardFigures:  # fmt: skip
    saturated, starved = bounds_of(offered.values())
    ends = [*(place.from_us for place in books.places), horizon][1:]
    loads = [end - place.from_us for place, end in zip(books.places, ends, strict=True) if place.state == LOADING]
    return ShardFigures(
        node=books.places[-1].node, groups=len(offered), members=sum(one.members for one in offered.values()),
        requests=sum(requests[api.value] for api in EVENTS), basis=basis, utilisation=load, queue_mean=queue_mean,
        queue_max=queue_max, wait_p50_us=waits[0], wait_p99_us=waits[1], wait_max_us=waits[2],
        saturated_from=saturated, starved_from=starved, loads=len(loads), loading_us=sum(loads),
    )  # fmt: skip


def bounds_of(offered: Iterable[Offered]) -> tuple[int | None, int | None]:
    """From how many members on a shard's queue has no end, and from how many on a heartbeat waits for a session.

    If all groups of the shard grow alike. The first: they offer more than one thread can do. The second is the same
    where heartbeats are sent by the clock, however many are in flight (``AbstractCoordinator``, Kafka 4.4). Members of
    the consumer protocol have one heartbeat and one commit under way at most: these of all together take as long as the
    shortest session.
    """
    groups = [one for one in offered if one.members]
    members = sum(one.members for one in groups)
    load = utilisation(shard_streams(groups))
    waiting_us = sum(
        one.members * sum(stream.service_us for stream in (one.heartbeats, one.commits) if stream.rate_per_s)
        for one in groups
    )
    is_paced = all(one.is_paced for one in groups)
    sessions = [one.session_us for one in groups if one.heartbeats.rate_per_s]
    if not load or not sessions:
        return (ceil(members / load) if load else None), None
    saturated = ceil(members / load)
    return saturated, saturated if not is_paced else max(saturated, ceil(min(sessions) * members / waiting_us))
