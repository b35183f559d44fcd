"""Produced records of a group's topics, as vectors over its partitions: log end and log start, now and in the past.

Production is piecewise constant, so an offset is a closed form from the last change of a rate, and every former rate is
remembered: what was produced by any time, and when any record was produced, can be worked out exactly. The partitions
of a topic take turns: of n with one rate the first record comes after one n-th of the time between two records of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.arrivals import Arrivals
from groupsim.sim.catalog import Catalog, Partitions
from groupsim.sim.protocol.messages import NO_PARTITIONS, Positions
from groupsim.sim.units import FOREVER, S

Offsets = NDArray[np.int64]
NOWHERE: Offsets = np.empty(0, np.int64)
Step = tuple[int, tuple[int, ...]]
"""From when on a topic is produced to with which row of rates (`sim.model.Rate`)."""


class Production:
    """What is in the logs.

    Parameters
    ----------
    catalog : Catalog
    partitions : Partitions

    Attributes
    ----------
    rate_mrps : int64 array, shape (n_partitions,), milli-records per second
        Of what comes as a flow.
    sent_mrps : int64 array, shape (n_partitions,), milli-records per second
        What is sent to each, be it that it comes as a flow or in jumps.
    log_start : int64 array, shape (n_partitions,)
        Records before these offsets are deleted.
    begins_us : int, microseconds
        What was produced before this is in no log.
    isolation : str
        ``isolation.level`` of who reads: it decides what is there of topics that are written in transactions.
    """

    def __init__(self, catalog: Catalog, partitions: Partitions) -> None:
        self.begins_us = 0
        self.isolation = "read_uncommitted"
        self._catalog = catalog
        self._partitions = partitions
        self.rate_mrps: Offsets = NOWHERE
        self.sent_mrps: Offsets = NOWHERE
        self.log_start: Offsets = NOWHERE
        self._segment_us: Offsets = NOWHERE
        self._segment_base: Offsets = NOWHERE
        self._steps: dict[str, list[Step]] = {}
        """Every rate that a topic has had, in order: what makes the production of the past computable."""

    def cover(self, now: int) -> None:
        """Make room for partitions that have got positions since the last call."""
        begin = len(self.rate_mrps)
        new = len(self._partitions) - begin
        if new <= 0:
            return
        self.rate_mrps = np.concatenate([self.rate_mrps, np.zeros(new, np.int64)])
        self.sent_mrps = np.concatenate([self.sent_mrps, np.zeros(new, np.int64)])
        self.log_start = np.concatenate([self.log_start, np.zeros(new, np.int64)])
        self._segment_us = np.concatenate([self._segment_us, np.full(new, now, np.int64)])
        self._segment_base = np.concatenate([self._segment_base, np.zeros(new, np.int64)])
        for topic in sorted(set(self._partitions.topic[begin:])):
            positions = self._partitions.of(topic)
            self._begin(now, topic, positions[positions >= begin])

    def _begin(self, now: int, topic: str, positions: Positions) -> None:
        """Production of new positions, from their creation until ``now``, whoever was there to see it."""
        self._segment_us[positions] = self._partitions.created_us[positions]
        self._segment_base[positions] = self._head_start(topic, positions)
        if topic in self._catalog.arrivals:
            (row, *_) = self._catalog.rates[topic][1].per_partition_mrps
            self.sent_mrps[positions] = rates_of(row, self._partitions.number[positions])
            self._arrive(topic, positions)
        else:
            for time, row in self._steps_by(now, topic):
                self._step(np.maximum(self._segment_us[positions], time), row, positions)
        self.delete(topic)

    def _steps_by(self, now: int, topic: str) -> list[Step]:
        """Every rate that a topic has had by now."""
        steps = self._steps.setdefault(topic, [])
        if not steps:
            rates = [*self._catalog.former_rates.get(topic, ()), self._catalog.rates[topic]]
            ends = [*(since for since, _ in rates[1:]), now + 1]
            for (since, rate), until in zip(rates, ends, strict=True):
                for offset, row in zip(rate.times_us, rate.per_partition_mrps, strict=True):
                    if since + offset < until and (not steps or row != steps[-1][1]):
                        steps.append((since + offset, row))
        return steps

    def _head_start(self, topic: str, positions: Positions) -> Offsets:
        """Milli-records that partitions begin with, less than a record: so partitions of one rate take turns."""
        created = self._partitions.created_us[positions]
        alike = np.searchsorted(np.array(self._catalog.created_us[topic]), created, side="right")
        return (alike - 1 - self._partitions.number[positions]) * 1000 // alike

    def _step(self, time: int | Offsets, row: tuple[int, ...], positions: Positions) -> None:
        """Produce with another rate from ``time`` on."""
        self._segment_base[positions] = self._produced_milli(time, positions)
        self._segment_us[positions] = time
        self.sent_mrps[positions] = rates_of(row, self._partitions.number[positions])
        self.rate_mrps[positions] = self.sent_mrps[positions]

    def set_rate(self, now: int, topic: str) -> Positions:
        """Take over the rate that the catalog has for ``topic`` from now on; the partitions whose rate changes."""
        positions = self._partitions.of(topic)
        since, rate = self._catalog.rates[topic]
        step = int(np.searchsorted(np.array(rate.times_us), now - since, side="right")) - 1
        row = rate.per_partition_mrps[max(step, 0)]
        changed: Positions = positions[self.rate_mrps[positions] != rates_of(row, self._partitions.number[positions])]
        if row != self._steps[topic][-1][1]:
            self._steps[topic].append((now, row))
            self._step(now, row, positions)
        return changed

    def _arrivals(self, topic: str) -> Arrivals:
        """What has come to a topic without a rate, for who reads here."""
        return self._catalog.arrivals[topic][self.isolation]

    def _numbers(self, positions: NDArray[np.integer[Any]]) -> list[int]:
        numbers: list[int] = self._partitions.number[positions].tolist()
        return numbers

    def shown(self) -> tuple[Positions, Offsets]:
        """Partitions of topics without a rate, and log end offsets that readers see, taken over or not. Shapes (n,)."""
        read = [topic for topic in self._partitions.topics if topic in self._catalog.arrivals]
        if not read:
            return NO_PARTITIONS, NOWHERE
        positions = [self._partitions.of(topic) for topic in read]
        ends = [self._arrivals(topic).ends(self._numbers(some)) for topic, some in zip(read, positions, strict=True)]
        return np.concatenate(positions), np.concatenate(ends)

    def arrive(self, topic: str) -> Positions:
        """Take over what has come to a topic without a rate; the partitions to which it has come."""
        positions = self._partitions.of(topic)
        ends = self._arrivals(topic).ends(self._numbers(positions))
        news: Positions = positions[ends > self._segment_base[positions] // 1000]
        self._arrive(topic, news)
        return news

    def _arrive(self, topic: str, positions: Positions) -> None:
        """A jump is a step whose rate is 0, and that begins with more than the last one ended with."""
        arrivals, numbers = self._arrivals(topic), self._numbers(positions)
        self._segment_base[positions] = np.maximum(self._segment_base[positions], arrivals.ends(numbers) * 1000)
        self._segment_us[positions] = np.maximum(self._segment_us[positions], arrivals.shown_us(numbers))

    def _produced_milli(self, now: int | Offsets, positions: Positions) -> Offsets:
        elapsed = now - self._segment_us[positions]
        return self._segment_base[positions] + self.rate_mrps[positions] * elapsed // S

    def produced(self, now: int | Offsets, positions: Positions) -> Offsets:
        """Log end offsets at ``now`` (one instant, or one for each), whole records. Shape (n,)."""
        return self._produced_milli(now, positions) // 1000

    def first_record_us(self, now: int) -> Offsets:
        """When the first record of each partition was produced, `FOREVER` where there is none by ``now``."""
        positions = np.arange(len(self._partitions))
        born = np.full(len(positions), FOREVER, np.int64)
        filled = positions[self.produced(now, positions.astype(np.int32)) > 0]
        born[filled] = now - self.age(now, filled, np.zeros(len(filled), np.int64))
        return born

    def rate_of(self, positions: Positions) -> float:
        """Production of some partitions, records per microsecond."""
        return float(np.add.reduce(self.rate_mrps[positions])) / 1e9

    def loads_of(
        self, at: Offsets, positions: Positions, offsets: Offsets, begins: NDArray[np.intp]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """`rate_of` some shares of partitions, and how many records each has from ``offsets`` on.

        Parameters
        ----------
        at : int64 array, shape (k,), microseconds
        positions, offsets : arrays, shape (k,)
            Of one share after the other.
        begins : intp array, shape (n,)
            Where each share begins.

        Returns
        -------
        rates, backlogs : float64 arrays, shape (n,)
            Records per microsecond, and records.
        """
        backlogs = np.add.reduceat(np.maximum(self.produced(at, positions) - offsets, 0), begins)
        return np.add.reduceat(self.rate_mrps[positions], begins) / 1e9, backlogs.astype(np.float64)

    def around(self, at: NDArray[np.int64], positions: NDArray[np.int32]) -> tuple[Offsets, Offsets]:
        """When the last record up to ``at`` was produced (0: none was), and when the next one is at the rate of now.

        Parameters
        ----------
        at : int64 array, shape (n,), microseconds
            Not before the last change of the rate.
        positions : int32 array, shape (n,)

        Returns
        -------
        last, following : int64 arrays, shape (n,), microseconds
            ``following`` is later than ``at``; `FOREVER`: nothing is produced.
        """
        rate, begun = self.rate_mrps[positions], self._segment_us[positions]
        whole = self._produced_milli(at, positions) // 1000
        since = whole * 1000 - self._segment_base[positions]
        last = np.where(whole > 0, begun + _needed_us(since, rate), 0)
        older = (since <= 0) & (whole > 0)
        if self._catalog.arrivals:
            # Since when readers see it, not since when it is in the log.
            topics = [self._partitions.topic[position] for position in positions.tolist()]
            older &= np.array([topic not in self._catalog.arrivals for topic in topics], np.bool_)
        if older.any():
            last[older] = self._born_earlier(positions[older].astype(np.intp), whole[older] * 1000)
        return last, np.where(rate > 0, begun + _needed_us(since + 1000, rate), FOREVER)

    def flow(self, positions: Positions) -> tuple[Offsets, Offsets]:
        """Milli-records a second, -1 where they come in jumps, and since when that is so. Shapes (n,)."""
        jumps = np.array([self.comes_in_jumps(one) for one in positions.tolist()], np.bool_)
        return np.where(jumps, -1, self.rate_mrps[positions]), self._segment_us[positions]

    # --- what is deleted ----------------------------------------------------------------------------------------------

    @property
    def keeps_everything(self) -> bool:
        """Whether no topic here deletes records."""
        deleting = self._catalog.deleted_before_us
        return not deleting or deleting.keys().isdisjoint(self._partitions.topics)

    def delete(self, topic: str) -> None:
        """Take over from the catalog what is deleted of a topic: the log start offsets rise."""
        time = max(self._catalog.deleted_before_us.get(topic, 0), self.begins_us)
        positions = self._partitions.of(topic)
        if time > 0:
            self.log_start[positions] = np.maximum(self.log_start[positions], self._produced_by(time, topic, positions))

    def produced_by(self, time: int | Offsets, positions: Positions) -> Offsets:
        """Log end offsets at any time of the past (one, or one for each). Shape (n,)."""
        times, found = np.broadcast_to(time, positions.shape), np.empty(len(positions), np.int64)
        topics = np.array([self._partitions.topic[position] for position in positions.tolist()])
        for topic in np.unique(topics):
            which = topics == topic
            found[which] = self._produced_by(times[which], str(topic), positions[which])
        return found

    def comes_in_jumps(self, position: int) -> bool:
        """Whether a partition has no rate, and records come to it with somebody's requests."""
        return self._partitions.topic[position] in self._catalog.arrivals

    def history(self, times: Offsets, position: int) -> Offsets:
        """Log end offsets of one partition that readers saw at times of the past. Shape (n,)."""
        topic = self._partitions.topic[position]
        if self.comes_in_jumps(position):
            return self._arrivals(topic).shown_by(times, int(self._partitions.number[position]))
        return self._produced_by(times, topic, np.full(len(times), position, np.int32))

    def seen_us(self, positions: NDArray[np.intp], offset: Offsets) -> Offsets:
        """Since when readers see records at these offsets, which have come. Shape (n,), microseconds."""
        seen = -self.age(0, positions, offset)
        for arrivals, which in self._in_jumps(positions):
            seen[which] = arrivals.seen_us(self._numbers(positions[which]), offset[which])
        return seen

    def _produced_by(self, time: int | Offsets, topic: str, positions: Positions) -> Offsets:
        """Log end offsets of partitions of one topic at any time of the past."""
        if topic in self._catalog.arrivals:
            return self._arrivals(topic).produced_by(np.broadcast_to(time, positions.shape), self._numbers(positions))
        end = self._segment_us[positions]
        milli = np.where(time >= end, self._produced_milli(time, positions), 0)
        for begin, base, rate in self._earlier(topic, positions):
            milli = np.where((begin <= time) & (time < end), base + rate * (time - begin) // S, milli)
            end = begin
        return milli // 1000

    # --- the past -----------------------------------------------------------------------------------------------------

    def _earlier(
        self, topic: str, positions: Positions | NDArray[np.intp]
    ) -> Iterator[tuple[Offsets, Offsets, Offsets]]:
        """Stretches of production before the current ones, the latest first: begin, milli-records at it, rate."""
        created, number = self._partitions.created_us[positions], self._partitions.number[positions]
        base, end = self._segment_base[positions], self._segment_us[positions]
        for time, row in reversed(self._steps[topic][:-1]):
            begin, rate = np.minimum(np.maximum(time, created), end), rates_of(row, number)
            base = base - rate * (end - begin) // S
            yield begin, base, rate
            end = begin

    def age_at_most(self, now: Offsets, positions: NDArray[np.intp], offset: Offsets) -> Offsets:
        """How old at ``now`` a record from ``offset`` on can be, in whatever order a log is. Shape (n,), us."""
        ages = self.age(now, positions, offset)
        for arrivals, which in self._in_jumps(positions):
            oldest_us = arrivals.oldest_us(self._numbers(positions[which]), offset[which])
            ages[which] = now[which] - oldest_us
        return ages

    def _in_jumps(self, positions: NDArray[np.intp]) -> Iterator[tuple[Arrivals, NDArray[np.intp]]]:
        """What has come to topics without a rate, and which of ``positions`` are of each."""
        for topic in self._partitions.topics:
            if topic in self._catalog.arrivals:
                yield self._arrivals(topic), np.flatnonzero(np.isin(positions, self._partitions.of(topic)))

    def age(self, now: int | Offsets, positions: NDArray[np.intp], offset: Offsets) -> Offsets:
        """How long before ``now`` the record at ``offset`` was produced, exactly. Shape (n,), microseconds."""
        target = (offset + 1) * 1000
        older = target <= self._segment_base[positions]
        born = np.zeros(len(positions), np.int64)
        fresh = positions[~older]
        missing = target[~older] - self._segment_base[fresh]
        born[~older] = self._segment_us[fresh] + _needed_us(missing, self.rate_mrps[fresh])
        if older.any():
            born[older] = self._born_earlier(positions[older], target[older])
        return now - born

    def _born_earlier(self, positions: NDArray[np.intp], target: Offsets) -> Offsets:
        """When production reached ``target`` milli-records, before the current segments: back step by step."""
        born = np.zeros(len(positions), np.int64)
        for topic in sorted({self._partitions.topic[position] for position in np.unique(positions).tolist()}):
            which = np.flatnonzero(np.isin(positions, self._partitions.of(topic)))
            if topic in self._catalog.arrivals:
                offsets = target[which] // 1000 - 1
                born[which] = self._arrivals(topic).produced_us(self._numbers(positions[which]), offsets)
                continue
            later = self._segment_base[positions[which]]
            for begin, base, rate in self._earlier(topic, positions[which]):
                here = (base < target[which]) & (target[which] <= later)
                born[which[here]] = begin[here] + _needed_us(target[which[here]] - base[here], rate[here])
                later = base
        return born


def rates_of(row: tuple[int, ...], numbers: NDArray[np.int32]) -> Offsets:
    """A step's rates of partitions, milli-records per second: partitions beyond the row get its mean (`Rate`)."""
    known = np.array([*row, sum(row) // len(row)], np.int64)
    rates: Offsets = known[np.minimum(numbers, len(row))]
    return rates


def _needed_us(milli: Offsets, rate_mrps: Offsets) -> Offsets:
    """How long it takes to produce so many milli-records, microseconds, rounded up."""
    return -(-milli * S // np.maximum(rate_mrps, 1))
