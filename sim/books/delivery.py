"""What is read twice or never: counted when somebody begins to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from groupsim.sim.books.availability import Times
from groupsim.sim.books.production import Offsets
from groupsim.sim.books.record import EXPIRED, KILLED, LOST, OUT_OF_RANGE
from groupsim.sim.protocol.messages import Positions

if TYPE_CHECKING:
    from groupsim.sim.cluster.group_host import GroupHost


_CAUSES = {KILLED: "kill", LOST: "zombie", EXPIRED: "expired offset", OUT_OF_RANGE: "reset"}


def account_starts(group: GroupHost, frontier: Offsets, at: Times, partitions: Positions, offsets: Offsets) -> None:
    """Count what starts repeat or skip, by why the last one to read a partition stopped; they count within ``measure``.

    Parameters
    ----------
    frontier : int64 array, shape (n_partitions,)
        Read so far, -1: never; from now on at least ``offsets``.
    at : int, or int64 array of shape (n,), microseconds
        When each partition is read again.
    partitions, offsets : arrays, shape (n,)
        Each is read from ``offsets`` on.
    """
    before = frontier[partitions]
    frontier[partitions] = np.maximum(before, offsets)
    low, high = group.measure
    measured = (low <= at) & (at <= high)
    late = measured & (before < 0) & (group.partitions.created_us[partitions] > group.availability.first_join_us)
    deleted = np.minimum(offsets, group.ledger.log_start[partitions])
    group.record.add_delivery("loss", "retention", int(deleted[late].sum()))
    group.record.add_delivery("loss", "reset", int((offsets - deleted)[late].sum()))
    counts = measured & (before >= 0) & (before != offsets)
    if not counts.any():
        return
    ahead, codes = (before - offsets)[counts], group.ended_by[partitions[counts]]
    for code in np.unique(codes):
        records, cause = ahead[codes == code], _cause(group, int(code))
        group.record.add_delivery("duplicate", cause, int(np.maximum(records, 0).sum()))
        group.record.add_delivery("loss", cause, int(np.maximum(-records, 0).sum()))


def _cause(group: GroupHost, code: int) -> str:
    return "broadcast overwrite" if group.is_broadcast else _CAUSES.get(code, "re-read")
