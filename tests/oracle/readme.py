"""The README's table: one line a scenario, real beside simulated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.oracle.comparison import Row
from tests.oracle.equivalence import NOT_SHOWN
from tests.oracle.study import Studied
from tests.oracle.wording import spread

README: Final = Path(__file__).parents[2] / "README.md"
_BEGIN, _END = "<!-- made by make oracle-report -->\n", "<!-- until here -->"
_TOLD: Final = ("unread, worst", "stable again", "balanced again")
"""The figure that stands for a scenario: the first that it has."""


def with_table(text: str, found: Sequence[Studied]) -> str:
    """The README with its table made anew."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return before + _BEGIN + "\n".join(_lines(found)) + "\n" + _END + after


def _lines(found: Sequence[Studied]) -> Iterator[str]:
    yield "| scenario | seconds | real broker | groupsim | agreement | repetitions replayed without difference |"
    yield "|---|---|---|---|---|---|"
    for one in found:
        row = _telling(one.rows)
        if row is not None:
            clean = sum(not each.differences for each in one.replays)
            real, mine = spread(row.figure, row.real), spread(row.figure, row.simulated)
            verdict = next((each.verdict for each in one.verdicts if each.figure == row.figure), NOT_SHOWN)
            yield f"| {one.name} | {row.figure} | {real} | {mine} | {verdict} | {clean} of {len(one.replays)} |"


def _telling(rows: Sequence[Row]) -> Row | None:
    told = [row for name in _TOLD for row in rows if row.figure == name and max(row.real) > 0]
    return told[0] if told else None
