"""What assignors did in trials, as tables; a record is one assignor's outcome of one event."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from analysis.metrics import number
from analysis.text import WIDTH, Column, TextTable, named, names, width_of

Record: TypeAlias = Mapping[str, Any]
GROWING: Final = ("stable", "join one", "join many", "partitions added")
SHRINKING: Final = ("leave one, first", "leave one, middle", "leave one, last", "leave one, mean", "leave many")
BRIEF: Final = "* more than had to; --json tells how many that were"


def moves_tables(records: Sequence[Record], many: int, width: int | None = WIDTH) -> list[TextTable]:
    """Partitions that moved, an assignor a row: when nobody leaves, and when somebody does (if anybody can)."""
    headers = {"join one": "join 1", "join many": f"join {many}", "partitions added": "added"}
    growing = [(headers.get(event, event), event) for event in GROWING]
    short = {event: event.removeprefix("leave one, ") for event in SHRINKING} | {"leave many": f"leave {many}"}
    shrinking = [(f"leave 1: {short[event]}" if event == SHRINKING[0] else short[event], event) for event in SHRINKING]
    tables = [_moves(records, growing, width), _moves(records, shrinking, width)]
    return [table for table in tables if len(table.columns) > 1]


def _moves(records: Sequence[Record], events: Sequence[tuple[str, str]], width: int | None) -> TextTable:
    rows = _by_assignor(records)
    told = [one for one in events if any(one[1] in row for row in rows.values())]
    for briefly in (False, True):
        moved = {header: [_moved(row.get(event), briefly) for row in rows.values()] for header, event in told}
        columns = [Column(header, tuple(texts), {}) for header, texts in moved.items()]
        table = TextTable((names("assignor", list(rows), "assignor"), *columns), (BRIEF,) if briefly else (), width)
        if width is None or width_of(table.columns) <= width:
            break
    return table


def _by_assignor(records: Iterable[Record]) -> dict[str, dict[str, Record]]:
    found: dict[str, dict[str, Record]] = {}
    for record in records:
        found.setdefault(record["assignor"], {})[record["event"]] = record
    return found


def _moved(record: Record | None, briefly: bool) -> str:
    if record is None or record["moved"] is None:
        return "fails" if record is not None and record["failure"] else "-"
    text, least = number(record["moved"]), record["least"]
    if record["moved"] == least:
        return text
    return f"{text} *" if briefly else f"{text} ({number(least)})"


def costs_table(records: Sequence[Record], width: int | None = WIDTH) -> TextTable:
    """Rounds, balance, racks and time, an assignor a row; columns of which nothing is known are left out."""
    rows = _by_assignor(records)
    columns = [
        _worst("rounds", rows, "rounds"),
        _worst("uneven", rows, "imbalance_partitions"),
        _worst("uneven rate", rows, "imbalance_rate"),
        _one("cross-rack", rows, "full", "cross_rack_share", lambda share: f"{share:.0%}"),
        _one("full [ms]", rows, "full", "seconds", _milliseconds),
        _one("leave [ms]", rows, "leave one, middle", "seconds", _milliseconds, rank=8),
        _one("join [ms]", rows, "join one", "seconds", _milliseconds, rank=9),
    ]
    known = [column for column in columns if set(column.texts) != {"-"}]
    notes = ("rounds, uneven (largest minus smallest share): the most of all events; ms: one answer, best of three",)
    return TextTable((names("assignor", list(rows), "assignor"), *known), notes, width)


def _worst(header: str, rows: Mapping[str, Mapping[str, Record]], name: str) -> Column:
    values = [[one[name] for one in events.values() if one[name] is not None] for events in rows.values()]
    return Column(header, tuple(number(max(some)) if some else "-" for some in values), {})


def _one(
    header: str,
    rows: Mapping[str, Mapping[str, Record]],
    event: str,
    name: str,
    told: Callable[[float], str],
    rank: int = 0,
) -> Column:
    values = [events[event][name] if event in events else None for events in rows.values()]
    return Column(header, tuple("-" if value is None else told(value) for value in values), {}, rank)


def _milliseconds(seconds: float) -> str:
    return number(seconds * 1e3)


def promises_table(assignors: Sequence[Record], width: int | None = WIDTH) -> TextTable:
    """Assignors with protocol, side and promises."""
    columns = [named("assignor", [one["assignor"] for one in assignors], "assignor")]
    for header in ("side", "protocol", "promises"):
        columns.append(named(header, [_listed(one[header]) for one in assignors], header))
    return TextTable(tuple(columns), (), width)


def _listed(value: str | Sequence[str]) -> str:
    return value if isinstance(value, str) else ", ".join(value)


def times_table(records: Sequence[Record], width: int | None = WIDTH) -> TextTable:
    """Milliseconds of one assignor over a grid of groups, Kafka's in brackets, kafka-python's beside them."""
    shapes = [Column(name, tuple(f"{one[name]:,}" for one in records), {}) for name in ("members", "each", "topics")]
    modes = [Column(mode, tuple(_beside(one, mode) for one in records), {}) for mode in ("full", "join", "leave")]
    theirs = ["-" if one["kafka_python_ms"] is None else _short(one["kafka_python_ms"]) for one in records]
    return TextTable((*shapes, *modes, Column("kafka-python", tuple(theirs), {})), (), width)


def _beside(record: Record, mode: str) -> str:
    java = record["java_ms"].get(mode)
    return _short(record["ms"][mode]) + (f" ({_short(java)})" if java is not None else "")


def _short(milliseconds: float) -> str:
    """Two digits are as many as repeat."""
    return number(milliseconds, 2 if milliseconds < 1 else 1 if milliseconds < 10 else 0)


def failures(records: Iterable[Record]) -> list[str]:
    """What went wrong, a sentence for each assignor and failure."""
    told = {f"{one['assignor']} fails: {one['failure']}": None for one in records if one["failure"]}
    return list(told)
