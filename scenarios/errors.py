"""What is wrong with a scenario file: everything at once, each with its place, value and remedy."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from groupsim.sim.errors import ConfigError

WIDTH: Final = 80
_VALUE_WIDTH: Final = 60
_PLACE_WIDTH: Final = 300
"""A path can be copied; one that is longer is no path that anybody has written."""
PROBLEMS_MAX: Final = 1_000
"""So many are looked for where each takes time to describe."""
_PROBLEMS_SHOWN: Final = 100
_NAMES_LISTED: Final = 40
_NAME_LENGTH: Final = 250
_NAMES_COMPARED: Final = 2_000


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong.

    Parameters
    ----------
    path : str
        Place inside the file, such as ``groups.billing.members.count``; empty for the file as a whole.
    message : str
        What is wrong, what is allowed, and the nearest known name.
    value : str
        The offending value as the user may recognise it; empty if there is none to show.
    line : int
        Line in the file, counted from 1; 0 where it is not known.
    """

    path: str
    message: str
    value: str = ""
    line: int = 0

    def __str__(self) -> str:
        place = _printable(self.path) or "the file"
        if self.line:
            place += f" (line {self.line})"
        value = f" = {_obeyed_by_none(self.value)}" if self.value else ""
        message = _obeyed_by_none(self.message)
        return "\n".join([*_wrapped(f"{place}{value}", "  ", "      "), *_wrapped(message, "    ", "    ")])


def _printable(path: str) -> str:
    """A path as one line of characters that a terminal shows, of a length that it can show."""
    text = _obeyed_by_none(path)
    return text if len(text) <= _PLACE_WIDTH else f"{text[: _PLACE_WIDTH - 3]}..."


def _obeyed_by_none(text: str) -> str:
    """A text of characters that a terminal shows and does not obey: names in it may be anything."""
    return text if text.isprintable() else "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


def _wrapped(text: str, first: str, further: str) -> list[str]:
    """Lines of a text; a word that is longer than a line stays whole, so that a path can be copied, up to a bound."""
    words = re.sub(rf"(\S{{{_PLACE_WIDTH}}})\S+", r"\1...", text)
    return textwrap.wrap(
        words, WIDTH, initial_indent=first, subsequent_indent=further, break_long_words=False, break_on_hyphens=False
    )


class ScenarioFileError(ConfigError):
    """A scenario that cannot be used, with all problems that were found.

    Parameters
    ----------
    file : str
        Path or name of what was read.
    problems : sequence of Problem
        At least one.
    """

    def __init__(self, file: str, problems: Sequence[Problem]) -> None:
        super().__init__(file, tuple(problems))
        self.file = file
        self.problems = tuple(problems)

    def __str__(self) -> str:
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        shown, left = self.problems[:_PROBLEMS_SHOWN], len(self.problems) - _PROBLEMS_SHOWN
        more = [f"  and {left} more"] if left > 0 else []
        return "\n".join([f"{_printable(self.file)}: {count}", *map(str, shown), *more])


def nearest(name: object, known: Iterable[str]) -> str:
    """A hint that names the known name nearest to ``name``, or the empty string when none is near."""
    found = nearest_name(name, known)
    return f"did you mean {found!r}? " if found else ""


def nearest_name(name: object, known: Iterable[str], likeness: float = 0.6) -> str:
    """The known name nearest to ``name``, or the empty string when none is near: less alike than ``likeness``, of 1.

    No name is longer than a topic's may be; and of thousands nobody has mistyped one.
    """
    text, candidates = str(name), list(known)
    if len(text) > _NAME_LENGTH or len(candidates) > _NAMES_COMPARED:
        return ""
    return next(iter(get_close_matches(text, candidates, n=1, cutoff=likeness)), "")


def listed(names: Iterable[str]) -> str:
    """Names with commas between them, the first of many."""
    some = list(names)
    more = f" and {len(some) - _NAMES_LISTED} more" if len(some) > _NAMES_LISTED else ""
    return ", ".join(some[:_NAMES_LISTED]) + more


def shown(value: object) -> str:
    """A value as one short line."""
    text = repr(value)
    return text if len(text) <= _VALUE_WIDTH else text[: _VALUE_WIDTH - 3] + "..."
