"""Tables as plain rows of text that fit a terminal, as Markdown, and as CSV with the numbers behind them."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from groupsim.analysis.data.labels import Labels, heading
from groupsim.analysis.data.metrics import Scale, plus_minus
from groupsim.analysis.stats.statistics import Estimate

WIDTH = 80
LEAST_NAME = 10
"""No name is cut to less."""
WORTH = 3
"""Rank of the columns for which names are cut before they are left out."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column as text, and the data behind it.

    Parameters
    ----------
    header : str
        May have several lines.
    texts : tuple of str, one per row
    data : mapping of name to values, one per row
        Base units, full precision; what CSV and JSON show.
    rank : int
        What does not fit is left out from the highest rank down; rank 0 always stays.
    right : bool
        Numbers are aligned to the right.
    whole : bool
        False for names of the user's, which are cut in their middle where room is scarce.
    """

    header: str
    texts: tuple[str, ...]
    data: Mapping[str, tuple[object, ...]]
    rank: int = 0
    right: bool = True
    whole: bool = True

    @property
    def width(self) -> int:
        """Characters needed."""
        return max(map(len, (*self.header.split("\n"), *self.texts)))

    def shortened(self, length: int) -> Column:
        """The column with texts of at most so many characters, unless they must stay whole."""
        return self if self.whole else replace(self, texts=tuple(shortened(text, length) for text in self.texts))


@dataclass(frozen=True, slots=True)
class TextTable:
    """Columns, of which text shows those that fit ``width`` and data shows all, and notes that belong below."""

    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()
    width: int | None = None

    @property
    def shown(self) -> tuple[Column, ...]:
        """The columns that fit, those of the highest rank left out first; names are cut as far as that saves the best.

        Of all lengths of names at which the most of the best columns fit it is the greatest.
        """
        if self.width is None:
            return self.columns
        longest = max((len(text) for column in self.columns for text in column.texts), default=0)
        kept: tuple[Column, ...] = ()
        for length in range(max(longest, LEAST_NAME), LEAST_NAME - 1, -1):
            tried = _fitting([column.shortened(length) for column in self.columns], self.width)
            if not kept or width_of(kept) > self.width or _worth(tried) > _worth(kept):
                kept = tried
            if width_of(kept) <= self.width and _worth(kept) == _worth(self.columns):
                break
        return kept

    @property
    def headers(self) -> tuple[str, ...]:
        """What stands above the columns that are shown, in one line each."""
        return tuple(column.header.replace("\n", "") for column in self.shown)

    @property
    def left_out(self) -> tuple[str, ...]:
        """What would be shown, too, if the terminal were as wide as others."""
        if self.width is None or self.width >= WIDTH:
            return ()
        shown = set(self.headers)
        return tuple(header for header in replace(self, width=WIDTH).headers if header not in shown)

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The text, row by row."""
        return list(zip(*(column.texts for column in self.shown), strict=True))

    def records(self) -> list[dict[str, object]]:
        """The data, row by row: base units, full precision, None for null."""
        data = {name: values for column in self.columns for name, values in column.data.items()}
        return [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]

    def csv(self) -> str:
        """The data as CSV; null is empty."""
        names = [name for column in self.columns for name in column.data]
        text = io.StringIO()
        writer = csv.DictWriter(text, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.records())
        return text.getvalue()

    def markdown(self) -> str:
        """The text as a Markdown table, notes below."""
        rules = ["---:" if column.right else "---" for column in self.shown]
        lines = [self.headers, tuple(rules), *self.rows]
        escaped = [" | ".join(cell.replace("|", "\\|") for cell in line) for line in lines]
        return "\n".join([*(f"| {line} |" for line in escaped), *(f"\n{note}" for note in self.notes)]) + "\n"


def shortened(text: str, length: int = 32) -> str:
    """A text without its middle where it is too long."""
    return text if len(text) <= length else f"{text[: (length - 1) // 2]}…{text[-(length // 2) :]}"


def _fitting(columns: Sequence[Column], width: int) -> tuple[Column, ...]:
    """The columns without those of the highest rank, as many as do not fit."""
    kept = list(columns)
    while width_of(kept) > width and any(column.rank for column in kept):
        kept.remove(max(kept, key=lambda column: column.rank))
    return tuple(kept)


def _worth(columns: Sequence[Column]) -> int:
    return sum(column.rank <= WORTH for column in columns)


def named(header: str, texts: Sequence[str], name: str, values: Sequence[object] | None = None) -> Column:
    """A column of words that stay whole; its data is ``values``, or the words themselves."""
    return Column(header, tuple(texts), {name: tuple(texts if values is None else values)}, right=False)


def names(header: str, texts: Sequence[str], name: str, rank: int = 0) -> Column:
    """A column of names of the user's, which may be cut; its data is the names."""
    return Column(header, tuple(texts), {name: tuple(texts)}, rank, right=False, whole=False)


def label_columns(apart: Labels, variants: Sequence[str], rank: int = 0) -> list[Column]:
    """A column for each thing that tells variants apart, with the value of each variant; its name in lines."""
    found = []
    if apart.points:
        found.append(names("point", [apart.points.get(one, "") for one in variants], "point", WORTH + 1))
    for name, texts in apart.columns.items():
        shown = [texts[one] for one in variants]
        found.append(names(heading(name, max([LEAST_NAME, *map(len, shown)])), shown, name, rank))
    return found


def width_of(columns: Sequence[Column]) -> int:
    """Characters that columns need beside one another, three apart."""
    return sum(column.width + 3 for column in columns) - 3


def estimate_text(one: Estimate, measure: Scale) -> str:
    """A mean with its interval, in the unit of a scale."""
    return plus_minus(one.mean, one.half_width, measure)


def data_of(name: str, estimates: Sequence[Estimate]) -> dict[str, tuple[object, ...]]:
    """Mean, half-width and n of each estimate, as the data of a column."""
    return {
        name: tuple(None if np.isnan(one.mean) else one.mean for one in estimates),
        f"{name} ±": tuple(one.half_width for one in estimates),
        f"{name} n": tuple(one.n for one in estimates),
    }
