"""What a coordinator logs of committed offsets (``OffsetCommitKey``, ``OffsetCommitValue``, Kafka 4.4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.protocol.messages import OffsetCommit, Positions, TxnOffsetCommit
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


def committed(now: int, request: OffsetCommit | TxnOffsetCommit) -> CommittedOffsets:
    """The records of a commit that is accepted at ``now`` (``OffsetMetadataManager.commitOffset``, Kafka 4.4)."""
    if isinstance(request, TxnOffsetCommit):
        return CommittedOffsets(request.positions, request.offsets, now, producer_id=request.producer_id)
    expire_us = FOREVER if request.retention_us < 0 else now + request.retention_us
    return CommittedOffsets(request.positions, request.offsets, now, expire_us)
