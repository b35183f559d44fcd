"""Why records are read twice, or never, in a sentence for each group of which any are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from groupsim.analysis.data.metrics import number
from groupsim.analysis.stats.runs import Row

_KINDS: Final = {"duplicate": "read twice", "loss": "never read"}


def delivery_lines(delivery: Iterable[Row], groups: Iterable[str], runs: int) -> list[str]:
    """Records by cause, most first; means over runs.

    Parameters
    ----------
    delivery : iterable of mapping
        Rows of table ``delivery`` of one variant; what is not of a group's own reading is passed over.
    groups : iterable of str
        Those that are told of, in order.
    runs : int
        How many runs they are of.
    """
    found: dict[str, dict[str, Counter[str]]] = {}
    for row in delivery:
        if row["kind"] in _KINDS:
            causes = found.setdefault(row["group"], {}).setdefault(row["kind"], Counter())
            causes[row["cause"]] += row["records"]
    return [_sentence(group, found[group], runs) for group in groups if group in found]


def _sentence(group: str, kinds: dict[str, Counter[str]], runs: int) -> str:
    parts = [
        f"{words}: " + ", ".join(f"{number(records / runs)} ({cause})" for cause, records in kinds[kind].most_common())
        for kind, words in _KINDS.items()
        if kind in kinds
    ]
    each = "; means of all runs" if runs > 1 else ""
    return f"{group}: records {'; '.join(parts)}{each}"
