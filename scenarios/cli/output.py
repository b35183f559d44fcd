"""What the commands print: tables and JSON to standard output; messages and progress to standard error."""

from __future__ import annotations

import json
import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    import pandas as pd
    from rich.progress import Progress as Bar

    from analysis.text import TextTable

WIDTH: Final = 80
_LINE_EVERY_S: Final = 60.0


def say(message: str) -> None:
    """A message to standard error."""
    print(message, file=sys.stderr)


def width() -> int:
    """Characters in a line: of the terminal, and 80 where there is none."""
    if not sys.stdout.isatty():
        return WIDTH
    from shutil import get_terminal_size

    return get_terminal_size((WIDTH, 24)).columns


def print_table(table: TextTable) -> None:
    """A table with its notes."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    shown = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1))
    for column in table.shown:
        shown.add_column(column.header, justify="right" if column.right else "left")
    for row in table.rows:
        shown.add_row(*row)
    console = Console(width=width(), highlight=False, markup=False, emoji=False)
    console.print(shown)
    for note in table.notes:
        console.print(note)


def print_json(value: Any) -> None:
    """A value as JSON."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows as plain data; missing values are None."""
    return frame.astype(object).where(frame.notna(), None).to_dict("records")  # type: ignore[return-value]


class Progress:
    """Runs done of a total: a bar on a terminal, one line a minute elsewhere.

    Parameters
    ----------
    what : str
        What is done, such as ``runs``.
    total : int
        How many there are.
    """

    def __init__(self, what: str, total: int) -> None:
        self._what, self._total = what, total
        self._bar: Bar | None = None
        self._told_s = time.monotonic()

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress as Bar

            self._bar = Bar(console=Console(stderr=True), transient=True)
            self._bar.add_task(self._what, total=self._total)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int) -> None:
        """Take note that ``done`` of the total are done."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done)
        elif time.monotonic() - self._told_s >= _LINE_EVERY_S:
            self._told_s = time.monotonic()
            say(f"{done} of {self._total} {self._what} done")
