"""The README's tables: totals of each protocol; then a scenario of each kind, real beside simulated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.oracle.comparison import Row
from tests.oracle.equivalence import DIFFERS, NOT_SHOWN, SHOWN
from tests.oracle.study import Studied
from tests.oracle.wording import spread

README: Final = Path(__file__).parents[2] / "README.md"
_BEGIN, _END = "<!-- made by make oracle-report -->\n", "<!-- until here -->"
_TOLD: Final = ("unread, worst", "stable again", "balanced again")
"""The figure that stands for a scenario: the first that it has."""
_CONSUMER: Final = "consumer-"
_ONE_OF_A_KIND: Final = (
    "start-3-delay-3", "join-range", "join-cooperative", "leave-cooperative", "kill-range", "kill-cooperative",
    "kill-under-load", "three-brokers-kill", "aged-idle", "freeze-long", "stall-range", "roll-eager",
    "roll-cooperative", "roll-static", "idle-join", "fifty-members",
    "consumer-start-3", "consumer-join", "consumer-leave", "consumer-kill", "consumer-freeze-long",
    "consumer-stall-static", "consumer-roll", "consumer-roll-static", "consumer-upgrade", "consumer-fifty-members",
)  # fmt: skip
"""Chosen by what happens in them, whatever became of the comparison; the report has all."""


def with_table(text: str, found: Sequence[Studied]) -> str:
    """The README with its table made anew."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return before + _BEGIN + "\n".join(_lines(found)) + "\n" + _END + after


def _lines(found: Sequence[Studied]) -> Iterator[str]:
    yield "| protocol | durations: shown | not shown | differ | repetitions replayed without difference |"
    yield "|---|---|---|---|---|"
    yield _totals("classic", [one for one in found if not one.name.startswith(_CONSUMER)])
    yield _totals("consumer", [one for one in found if one.name.startswith(_CONSUMER)])
    yield "\n| scenario | seconds | real broker | groupsim | agreement | replayed without difference |"
    yield "|---|---|---|---|---|---|"
    by_name = {one.name: one for one in found}
    yield from (_line(by_name[name]) for name in _ONE_OF_A_KIND)


def _totals(protocol: str, found: Sequence[Studied]) -> str:
    verdicts = Counter(each.verdict for one in found for each in one.verdicts if each.kind != "count")
    counts = " | ".join(f"{verdicts[verdict]}" for verdict in (SHOWN, NOT_SHOWN, DIFFERS))
    return f"| {protocol} | {counts} | {_clean(found)} |"


def _line(one: Studied) -> str:
    row = _telling(one.rows)
    real, mine = spread(row.figure, row.real), spread(row.figure, row.simulated)
    verdict = next((each.verdict for each in one.verdicts if each.figure == row.figure), NOT_SHOWN)
    return f"| {one.name} | {row.figure} | {real} | {mine} | {verdict} | {_clean([one])} |"


def _clean(found: Sequence[Studied]) -> str:
    replays = [each for one in found for each in one.replays]
    return f"{sum(not each.differences for each in replays)} of {len(replays)}"


def _telling(rows: Sequence[Row]) -> Row:
    return next(row for name in _TOLD for row in rows if row.figure == name and max(row.real) > 0)
