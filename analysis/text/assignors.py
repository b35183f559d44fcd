"""What assignors did in trials, as tables; a record is one assignor's outcome of one event."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from groupsim.analysis.data.metrics import number
from groupsim.analysis.text.tables import WIDTH, Column, TextTable, named, names, width_of

Record: TypeAlias = Mapping[str, Any]
GROWING: Final = ("stable", "join one", "join many", "partitions added")
SHRINKING: Final = ("leave one, first", "leave one, middle", "leave one, last", "leave one, mean", "leave many")
TIMED: Final = (("full", "full"), ("join 1", "join one"), ("leave 1: middle", "leave one, middle"))
COSTS: Final = ("rounds", "imbalance_partitions", "imbalance_rate", "cross_rack_share", "cross_rack_rate")
MODES: Final = ("full", "join", "leave")
MILLISECONDS: Final = "times in ms: one answer, best of three"
BRIEF: Final = "* more than necessary; --details shows how many"


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


def costs_tables(records: Sequence[Record], width: int | None = WIDTH) -> list[TextTable]:
    """Rounds, balance, racks and time, an assignor a row: one table, or two where one would not fit.

    Columns of which nothing is known are left out.
    """
    rows = _by_assignor(records)
    assignor = names("assignor", list(rows), "assignor")
    most = {name: _most(events.values()) for name, events in rows.items()}
    balance = _known(
        [
            _each("rounds", most, lambda one: _number(one["rounds"])),
            _each("uneven", most, _uneven),
            _each("cross-rack", most, _across),
        ]
    )
    time = _known([_milliseconds(header, rows, event) for header, event in TIMED])
    note = f"the largest of all events; --details: each event. {_read_as(records)}"
    if width is None or width_of([assignor, *balance, *time]) <= width:
        return [TextTable((assignor, *balance, *time), (note, MILLISECONDS), width)]
    return [
        TextTable((assignor, *balance), (note,), width),
        TextTable((assignor, *time), (MILLISECONDS,), width),
    ]


def event_table(records: Sequence[Record], event: str, width: int | None = WIDTH) -> TextTable:
    """Everything that is known of one event, an assignor a row."""
    rows = {name: events.get(event) for name, events in _by_assignor(records).items()}
    columns = [
        _each("moved", rows, lambda one: _moved(one, briefly=False)),
        _each("rounds", rows, lambda one: _number(one["rounds"])),
        _each("uneven", rows, _uneven),
        _each("cross-rack", rows, _across),
        _each("ms", rows, lambda one: "-" if one["seconds"] is None else _short(one["seconds"] * 1e3)),
    ]
    return TextTable((names("assignor", list(rows), "assignor"), *_known(columns)), (), width)


def how_to_read(records: Sequence[Record]) -> str:
    """What the columns of `event_table` mean."""
    return f"In brackets beside moved: the fewest that had to move. {_read_as(records)} ms: one answer, best of three."


def _read_as(records: Sequence[Record]) -> str:
    """What stands in brackets, as far as it is there."""
    rates = any(one["imbalance_rate"] is not None for one in records)
    told = f"uneven: largest minus smallest share, of partitions{' (of rates)' if rates else ''}."
    if all(one["cross_rack_share"] is None for one in records):
        return told
    return f"{told} cross-rack: read from a leader in another rack{' (rates of that)' if rates else ''}."


def _known(columns: Sequence[Column]) -> list[Column]:
    return [column for column in columns if set(column.texts) != {"-"}]


def _most(records: Iterable[Record]) -> Record:
    """The largest of each number, None where it is not known."""
    found = list(records)
    known = {name: [one[name] for one in found if one[name] is not None] for name in COSTS}
    return {name: max(values, default=None) for name, values in known.items()}


def _each(header: str, rows: Mapping[str, Record | None], told: Callable[[Record], str]) -> Column:
    return Column(header, tuple("-" if one is None else told(one) for one in rows.values()), {})


def _number(value: float | None) -> str:
    return "-" if value is None else number(value)


def _uneven(record: Record) -> str:
    rate = record["imbalance_rate"]
    return _number(record["imbalance_partitions"]) + ("" if rate is None else f" ({number(rate)})")


def _across(record: Record) -> str:
    share, rate = record["cross_rack_share"], record["cross_rack_rate"]
    return "-" if share is None else f"{share:.0%}" + ("" if rate is None else f" ({number(rate)})")


def _milliseconds(header: str, rows: Mapping[str, Mapping[str, Record]], event: str) -> Column:
    values = [events[event]["seconds"] if event in events else None for events in rows.values()]
    return Column(header, tuple("-" if value is None else _short(value * 1e3) for value in values), {})


def promises_table(assignors: Sequence[Record], width: int | None = WIDTH) -> TextTable:
    """Assignors with protocol, side and promises."""
    columns = [named("assignor", [one["assignor"] for one in assignors], "assignor")]
    for header in ("side", "protocol", "promises"):
        columns.append(named(header, [_listed(one[header]) for one in assignors], header))
    return TextTable(tuple(columns), (), width)


def _listed(value: str | Sequence[str]) -> str:
    return value if isinstance(value, str) else ", ".join(value)


def times_table(records: Sequence[Record], width: int | None = WIDTH) -> TextTable:
    """Milliseconds of one assignor over a grid of groups, Kafka's in brackets."""
    modes = [Column(mode, tuple(_beside(one, mode) for one in records), {}) for mode in MODES]
    return TextTable((*_shapes(records), *modes), (), width)


def their_times_table(records: Sequence[Record], width: int | None = WIDTH) -> TextTable | None:
    """kafka-python's milliseconds over the same grid, as far as there are any; None for none."""
    timed = [one for one in records if one["kafka_python_ms"]]
    if not timed:
        return None
    modes = [Column(mode, tuple(_timed(one["kafka_python_ms"].get(mode)) for one in timed), {}) for mode in MODES]
    return TextTable((*_shapes(timed), *modes), (), width)


def lists_table(records: Sequence[Record], width: int | None = WIDTH) -> TextTable:
    """Milliseconds from plain lists and back over a grid of groups."""
    steps = [Column(step, tuple(_short(one["ms"][step]) for one in records), {}) for step in ("in", "assign", "out")]
    return TextTable((*_shapes(records), *steps), (), width)


def _shapes(records: Sequence[Record]) -> list[Column]:
    return [Column(name, tuple(f"{one[name]:,}" for one in records), {}) for name in ("members", "each", "topics")]


def _timed(milliseconds: float | None) -> str:
    return "-" if milliseconds is None else _short(milliseconds)


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
