"""Pauses of members of which others of their group may notice something."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from groupsim.sim.fastpath.transactions.absences import missed_us
from groupsim.sim.units import FOREVER, S

GROUP: Any = SimpleNamespace(machine=SimpleNamespace(session_timeout_us=45 * S))
BEGAN = (100 + 45 - 10) * S
"""A pause from 100 s on is missed no earlier: what times out after 45 s began no more than 10 s before it."""


def client(*pauses: tuple[int, int], frozen: tuple[int, int] | None = None, timeout_s: int = 60) -> Any:
    """It beats every 3 s, and takes up to a second for a batch."""
    return SimpleNamespace(
        consumer=SimpleNamespace(pauses=_in_us(pauses)),
        frozen=None if frozen is None else _in_us([frozen])[0],
        machine=SimpleNamespace(heartbeat_interval_us=3 * S),
        poll_loop=SimpleNamespace(schedule=SimpleNamespace(longest_us=S)),
        transactions=SimpleNamespace(timeout_us=timeout_s * S),
        config=SimpleNamespace(max_poll_interval_us=300 * S),
    )


def _in_us(pauses: Any) -> list[tuple[int, int]]:
    return [(begin * S, end * S) for begin, end in pauses]


@pytest.mark.parametrize(
    ("one", "now_s", "expected"),
    [
        (client(), 0, FOREVER),
        (client((100, 134)), 0, FOREVER),
        (client((100, 135)), 0, BEGAN),
        (client((20, 30), (100, 120), (125, 135)), 0, BEGAN),  # no heartbeat is sure to come through in between
        (client((100, 120), (130, 150)), 0, FOREVER),
        (client((100, 109), timeout_s=20), 0, FOREVER),
        (client((100, 110), timeout_s=20), 0, 110 * S),
        (client((100, 135)), 120, BEGAN),
        (client((100, 135)), 145, BEGAN),
        (client((100, 135)), 146, FOREVER),  # what came of it has come
        (client((120, 135), frozen=(100, 121)), 110, BEGAN),  # it stood still already, and nobody had known of that
    ],
)
def test_when_others_may_notice(one: Any, now_s: int, expected: int) -> None:
    assert missed_us(GROUP, one, now_s * S) == expected
