"""What a coordinator logs of committed offsets (``OffsetCommitKey``, ``OffsetCommitValue``, Kafka 4.4)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.config import CoordinatorConfig
from groupsim.sim.protocol.messages import (
    NO_PARTITIONS,
    Acknowledgement,
    Error,
    OffsetCommit,
    Positions,
    TxnOffsetCommit,
)
from groupsim.sim.units import FOREVER

NOBODY = -1
"""Instead of a producer id: the record belongs to no transaction."""


@dataclass(frozen=True, slots=True, eq=False)
class CommittedOffsets:
    """The ``OffsetCommit`` records of one request: ``offsets[i]`` of partition ``positions[i]``.

    Parameters
    ----------
    positions : int32 array, shape (n,)
    offsets : int64 array, shape (n,)
    commit_us : int, microseconds
        When they were committed.
    expire_us : int, microseconds
        When they expire whatever the broker's retention is (``retention_time`` of requests before v5); `FOREVER`: not
        said.
    producer_id : int
        Whose transaction they belong to; `NOBODY` if to none.
    """

    positions: Positions
    offsets: NDArray[np.int64]
    commit_us: int
    expire_us: int = FOREVER
    producer_id: int = NOBODY


@dataclass(frozen=True, slots=True, eq=False)
class OffsetTombstones:
    """These partitions have no committed offset any more, and no pending one."""

    positions: Positions


OffsetRecord = CommittedOffsets | OffsetTombstones


@dataclass(slots=True, eq=False)
class OffsetCommitResponse(Acknowledgement):
    """``OffsetCommitResponse``; ``too_large``: partitions that hear OFFSET_METADATA_TOO_LARGE instead."""

    too_large: Positions = field(default_factory=lambda: NO_PARTITIONS)


def accept(
    now: int, request: OffsetCommit | TxnOffsetCommit, config: CoordinatorConfig
) -> tuple[CommittedOffsets | None, OffsetCommitResponse]:
    """The records of a commit that its group allows at ``now``, None: there are none; and the answer.

    Source: ``OffsetMetadataManager.commitOffset``, ``commitTransactionalOffset`` (Kafka 4.4).
    """
    response = OffsetCommitResponse(Error.NONE)
    records = _records(now, request)
    if request.metadata_sizes is None:
        return records, response
    is_kept = request.metadata_sizes <= config.offset_metadata_max_size
    response.too_large = request.positions[~is_kept]
    records = replace(records, positions=request.positions[is_kept], offsets=request.offsets[is_kept])
    return records if is_kept.any() else None, response


def _records(now: int, request: OffsetCommit | TxnOffsetCommit) -> CommittedOffsets:
    if isinstance(request, TxnOffsetCommit):
        return CommittedOffsets(request.positions, request.offsets, now, producer_id=request.producer_id)
    expire_us = FOREVER if request.retention_us < 0 else now + request.retention_us
    return CommittedOffsets(request.positions, request.offsets, now, expire_us)
