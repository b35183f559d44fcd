"""What a coordinator knows of committed offsets, and what a replica of its log lacks that leads one day."""

from __future__ import annotations

import numpy as np

from groupsim.sim.protocol.offsets.table import OffsetTable
from groupsim.sim.units import FOREVER, S

FIRST, BOTH = np.array([0], np.int32), np.array([0, 1], np.int32)


def committed() -> OffsetTable:
    """Partition 0 at 7, partition 1 at 8."""
    table = OffsetTable()
    table.cover(2)
    table.commit(BOTH, np.array([7, 8]), S)
    return table


def test_records_that_are_gone_count_as_read() -> None:
    table = committed()
    table.shift(FIRST, np.array([5]))
    assert table.offset.tolist() == [12, 8]


def test_a_replica_that_leads_without_the_last_commits_has_none_of_them() -> None:
    table = committed()
    table.mark(1)
    table.commit(FIRST, np.array([9]), 2 * S, 3 * S, 4)
    table.mark(1)  # it lacks what it has lacked since the first time
    table.cover(3)
    table.cut_back(2)
    assert table.offset.tolist() == [9, 8, -1], "who follows has everything"
    table.cut_back(1)
    assert table.offset.tolist() == [7, 8, -1]
    assert (table.commit_us[0], table.expire_us[0], table.written[0]) == (S, FOREVER, 0)


def test_a_replica_that_has_caught_up_lacks_nothing() -> None:
    table = committed()
    table.mark(1)
    table.commit(FIRST, np.array([9]), 2 * S)
    table.catch_up(1)
    table.cut_back(1)
    assert table.offset.tolist() == [9, 8]


def test_what_is_forgotten_is_not_known() -> None:
    table = committed()
    table.commit(FIRST, np.array([0]), S)
    assert table.known().tolist() == [0, 1]
    table.forget(FIRST)
    assert table.known().tolist() == [1]
