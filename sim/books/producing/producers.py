"""What becomes of the records that producers send: acknowledged, given up, lost, repeated, out of order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.protocol.messages import Error
from groupsim.sim.protocol.producer.producer_batch import Delivery
from groupsim.sim.protocol.producer.replicated_log import Appended
from groupsim.sim.protocol.transactions.messages import TopicPartition

_NOBODY, _LEADER, _UNCLEAN = 0, 1, 2
"""Why a record is in no log: it never was; only a leader that died had it; who leads was not in sync."""


@dataclass(slots=True)
class Sent:
    """Records of one producer for one partition. Spans are (first, records).

    ``took_us`` is from when the application sent the first record of a batch until that was acknowledged.
    """

    records: int = 0
    batches: int = 0
    retries: int = 0
    acknowledged: list[tuple[int, int]] = field(default_factory=list)
    failed: list[tuple[int, int]] = field(default_factory=list)
    gone: list[tuple[int, int, int]] = field(default_factory=list)
    """First, records, and why they are in the log no more."""
    took_us_max: int = 0


class ProducerBooks:
    """Of all producers.

    Attributes
    ----------
    sent : dict of (producer, partition) to Sent
    rows : list of dict
        Of table ``producers``, once the run is over.
    """

    def __init__(self) -> None:
        self.sent: defaultdict[tuple[str, TopicPartition], Sent] = defaultdict(Sent)
        self.rows: list[dict[str, str | int]] = []

    def of(self, producer: str, partition: TopicPartition) -> Sent:
        """What is known of one producer and partition."""
        return self.sent[producer, partition]

    def told(self, now: int, producer: str, delivery: Delivery) -> None:
        """The application has been told what has become of a batch."""
        batch = delivery.batch
        one = self.of(producer, batch.partition)
        one.batches += 1
        one.retries += max(batch.attempts - 1, 0)
        if delivery.error is Error.NONE:
            one.acknowledged.append((batch.first, batch.records))
            one.took_us_max = max(one.took_us_max, now - batch.created_us)
        else:
            one.failed.append((batch.first, batch.records))

    def cut(self, partition: TopicPartition, gone: Iterable[Appended], *, is_unclean: bool) -> None:
        """A new leader lacks these."""
        for one in gone:
            why = _UNCLEAN if is_unclean else _LEADER
            self.of(one.source.producer, partition).gone.append((one.source.first, one.batch.records, why))

    def finish(self, appended: Callable[[TopicPartition], Iterable[Appended]]) -> None:
        """The horizon: count what has become of everything that was sent; ``appended``: a partition's log."""
        found: dict[tuple[str, TopicPartition], list[Appended]] = {}
        for partition in {where for _, where in self.sent}:
            for row in appended(partition):
                found.setdefault((row.source.producer, partition), []).append(row)
        for (producer, where), one in sorted(self.sent.items()):
            fates = _fates(one, found.get((producer, where), []))
            self.rows.append({"producer": producer, "topic": where[0], "partition": where[1], **fates})


def _fates(one: Sent, appended: list[Appended]) -> dict[str, int]:
    times, first = np.zeros(one.records, np.int64), np.full(one.records, -1, np.int64)
    for row in appended:
        span = slice(row.source.first, row.source.first + row.batch.records)
        offsets = np.arange(row.offset, row.end)
        first[span] = np.where(times[span] == 0, offsets, first[span])
        times[span] += 1
    acknowledged, failed = _mask(one.records, one.acknowledged), _mask(one.records, one.failed)
    why = np.full(one.records, _NOBODY)
    for begin, records, cause in one.gone:
        why[begin : begin + records] = cause
    lost = why[np.logical_and(acknowledged, times == 0)]
    return {
        "records": one.records, "acknowledged": int(acknowledged.sum()), "failed": int(failed.sum()),
        "open": one.records - int(np.logical_or(acknowledged, failed).sum()),
        "batches": one.batches, "retries": one.retries, "in_log": int((times > 0).sum()),
        "truncated_leader": int((lost == _LEADER).sum()), "truncated_unclean": int((lost == _UNCLEAN).sum()),
        "lost_unsent": int((lost == _NOBODY).sum()),
        "failed_in_log": int(np.logical_and(failed, times > 0).sum()),
        "duplicated": int(np.maximum(times - 1, 0).sum()), "reordered": _reordered(first[first >= 0]),
        "took_us_max": one.took_us_max,
    }  # fmt: skip


def _mask(records: int, spans: list[tuple[int, int]]) -> NDArray[np.bool_]:
    mask = np.zeros(records, np.bool_)
    for first, count in spans:
        mask[first : first + count] = True
    return mask


def _reordered(offsets: NDArray[np.int64]) -> int:
    """How many records stand behind one that was sent after them. ``offsets``: in the order of sending."""
    least_later = np.minimum.accumulate(offsets[::-1])[::-1]
    return int((offsets[:-1] > least_later[1:]).sum())
