"""What the commands print: tables and JSON to standard output; messages and progress to standard error."""

from __future__ import annotations

import json
import re
import sys
import textwrap
import time
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from groupsim.analysis.text.tables import TextTable

WIDTH: Final = 80
_LINE_EVERY_S: Final = 60.0
_OBEYED: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_COMMAND: Final = ": groupsim "
"""In a line that ends with a command."""


def say(message: str) -> None:
    """A message to standard error."""
    print(_obeyed_by_none(encodable(message)), file=sys.stderr)


def encodable(text: str) -> str:
    """A text with bytes escaped that are no UTF-8, as in names of files and arguments."""
    return text.encode(errors="backslashreplace").decode()


def warn(sentence: str) -> None:
    """A warning to standard error, wrapped."""
    say_wrapped(f"warning: {sentence}")


def _obeyed_by_none(text: str) -> str:
    """A text with what a terminal obeys escaped: files, folders and code of others may put anything in a message."""
    return _OBEYED.sub(lambda found: repr(found[0])[1:-1], text)


def say_wrapped(sentence: str) -> None:
    """A message to standard error, wrapped; names that are longer than a line stay whole."""
    say(_wrapped(sentence))


def say_error(message: str) -> None:
    """What went wrong, to standard error: its lines wrapped, but for commands that are to be copied."""
    say("\n".join(line if _COMMAND in line else _wrapped(line) for line in message.splitlines()))


def _wrapped(line: str) -> str:
    """A line as several, further ones indented by two blanks more."""
    if len(line) <= WIDTH:
        return line
    margin = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        line.lstrip(), WIDTH, initial_indent=margin, subsequent_indent=f"{margin}  ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def width() -> int:
    """Characters in a line: of the terminal, and 80 where there is none."""
    return terminal_width() if sys.stdout.isatty() else WIDTH


def terminal_width() -> int:
    """Characters in a line of the terminal, and 80 if it does not say."""
    from shutil import get_terminal_size

    return get_terminal_size((WIDTH, 24)).columns


def print_wrapped(text: str) -> None:
    """A paragraph, wrapped; further lines are indented, and names that are longer than a line stay whole."""
    for line in text.splitlines():
        print(textwrap.fill(line, width(), subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))


def print_table(table: TextTable) -> None:
    """A table with its notes."""
    from rich import box
    from rich.table import Table

    shown = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1))
    for column in table.shown:
        shown.add_column(column.header, justify="right" if column.right else "left")
    for row in table.rows:
        shown.add_row(*row)
    left_out = ", ".join(table.left_out)
    narrow = [f"not shown for want of room: {left_out}"] if left_out else []
    _print(shown, *narrow, *table.notes)


def print_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """Names, and beside each what there is to say of it, wrapped."""
    from rich.table import Table

    shown = Table.grid(padding=(0, 2))
    shown.add_column(no_wrap=True)
    shown.add_column()
    for name, text in pairs:
        shown.add_row(f"  {name}", text)
    _print(shown)


def _print(*parts: Any) -> None:
    """Print texts and tables as they are, without meaning read into them and without blanks at the ends of lines."""
    from rich.console import Console

    console = Console(width=width(), highlight=False, markup=False, emoji=False, no_color=True)
    with console.capture() as told:
        for part in parts:
            console.print(part)
    for line in told.get().splitlines():
        print(_obeyed_by_none(encodable(line.rstrip())))


def print_json(value: Any) -> None:
    """A value as JSON."""
    print(encodable(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)))


def counted(number: int, noun: str) -> str:
    """``1 run``, ``2,000 runs``."""
    return f"{number:,} {noun}{'s' if number != 1 else ''}"


class Progress:
    """Runs done of a total, how fast, and the time left: a bar on a terminal, one line a minute elsewhere.

    Parameters
    ----------
    noun : str
        What is done, such as ``run``.
    total : int
        How many there are.
    """

    def __init__(self, noun: str, total: int) -> None:
        self._noun, self._total = noun, total
        self._bar: Bar | None = None
        self._told_s = self._begin_s = time.monotonic()
        self._begin_done: int | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            columns = (BarColumn(bar_width=24), TextColumn("{task.description}"))
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._bar.add_task(self._text(0, 0), total=self._total)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, failed: int = 0, total: int | None = None) -> None:
        """Take note that ``done`` of the total are done, ``failed`` among them; the total may grow on the way."""
        self._total = total or self._total
        if self._begin_done is None:
            self._begin_done, self._begin_s = done, time.monotonic()  # what was there before says nothing of the rate
        if self._bar is not None:
            text = self._text(done, failed)
            self._bar.update(self._bar.task_ids[0], completed=done, total=self._total, description=text)
        elif time.monotonic() - self._told_s >= _LINE_EVERY_S:
            self._told_s = time.monotonic()
            say(self._text(done, failed))

    def _text(self, done: int, failed: int) -> str:
        parts = [f"{done:,} of {counted(self._total, self._noun)} done"]
        parts += [f"{failed:,} failed"] if failed else []
        rate = (done - (self._begin_done or 0)) / max(time.monotonic() - self._begin_s, 1e-9)
        if self._begin_done is not None and done > self._begin_done:
            left_s = round((self._total - done) / rate)
            parts += [f"{rate:,.3g}/s", f"{left_s // 3600}:{left_s // 60 % 60:02}:{left_s % 60:02} left"]
        return ", ".join(parts)
