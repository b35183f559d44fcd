"""Partitions that a consumer has positions of and cannot read yet."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from groupsim.sim.client.left_behind import left_behind, seek


def test_who_seeks_reads_from_there_on_what_nobody_leads_and_what_is_asked_for() -> None:
    """An aborted transaction whose input cannot be read begins where it began, not after what is undone."""
    fetcher: Any = SimpleNamespace(unreachable={1: 50, 2: 60}, awaited={7: (np.array([3, 4]), np.array([30, 40]))})
    assert left_behind(fetcher) == {1: 50, 2: 60, 3: 30, 4: 40}
    seek(fetcher, {1: 10, 3: 5, 9: 0})
    assert left_behind(fetcher) == {1: 10, 2: 60, 3: 5, 4: 40}
