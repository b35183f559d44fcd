"""Pauses of members of which others of their group may notice something."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from groupsim.sim.fastpath.transactions.absences import missed_us
from groupsim.sim.model import Distribution, Processing
from groupsim.sim.units import FOREVER, MS, S

GROUP: Any = SimpleNamespace(machine=SimpleNamespace(session_timeout_us=45 * S))
MISSED = (100 + 35) * S
"""Of 45 s a member needs no more than ten: so a pause from 100 s on is missed then at the earliest."""


def client(*pauses: tuple[int, int], frozen: tuple[int, int] | None = None, timeout_s: int = 60) -> Any:
    """It beats every 3 s, and takes a second for a whole batch."""
    processing = Processing(per_record=Distribution.constant(2 * MS), poll_timeout_us=0)
    return SimpleNamespace(
        consumer=SimpleNamespace(pauses=_in_us(pauses), slowdown=lambda: 1.0),
        processing=processing,
        frozen=None if frozen is None else _in_us([frozen])[0],
        machine=SimpleNamespace(heartbeat_interval_us=3 * S),
        transactions=SimpleNamespace(timeout_us=timeout_s * S),
        config=SimpleNamespace(max_poll_interval_us=300 * S, max_poll_records=500),
    )


def _in_us(pauses: Any) -> list[tuple[int, int]]:
    return [(begin * S, end * S) for begin, end in pauses]


@pytest.mark.parametrize(
    ("one", "now_s", "expected"),
    [
        (client(), 0, FOREVER),
        (client((100, 134)), 0, FOREVER),
        (client((100, 135)), 0, MISSED),
        (client((20, 40), (100, 120), (121, 140)), 0, 136 * S),
        (client((100, 120), (125, 139)), 0, FOREVER),
        (client((100, 120), (130, 140), (150, 170)), 0, FOREVER),
        (client((100, 109), timeout_s=20), 0, FOREVER),
        (client((100, 110), timeout_s=20), 0, 110 * S),
        (client((100, 135)), 120, MISSED),
        (client((100, 135)), 145, 145 * S),
        (client((100, 135)), 146, FOREVER),  # what came of it has come
        (client((120, 135), frozen=(100, 121)), 110, MISSED),  # it stood still already, and nobody had known of that
    ],
)
def test_when_others_may_notice(one: Any, now_s: int, expected: int) -> None:
    assert missed_us(GROUP, one, now_s * S) == expected
