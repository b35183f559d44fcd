"""Recorded production rates: a CSV file with the columns ``time_s,rate`` or ``time_s,partition,rate``."""

from __future__ import annotations

import math
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Final

from groupsim.scenarios.files.base_model import VALUES_MAX, checked, refusal
from groupsim.scenarios.files.text_files import plain_number, read_csv
from groupsim.scenarios.schema.durations import LONGEST_US, format_duration
from groupsim.sim.units import S

PARTITION_MAX: Final = 1_000_000


def read_rate_csv(path: Path) -> list[list[object]]:
    """Steps (instant, records per second) as a scenario's ``steps`` has them.

    Without a column ``partition`` a rate holds for every partition. With one it holds for that partition until its next
    row; a partition that the file never names gets nothing.

    Raises
    ------
    PydanticCustomError
        The file cannot be read, or a row is wrong: with file and row.
    """
    rows = checked(read_csv)(path)
    header = rows[0] if rows else []
    if header not in (["time_s", "rate"], ["time_s", "partition", "rate"]) or len(rows) < 2:
        raise refusal(f"{path}: needs the columns time_s,rate or time_s,partition,rate and at least one row")
    points = [_point(row, len(header), f"{path}: row {line}") for line, row in enumerate(rows[1:], start=2)]
    return _steps(points, path)


def _point(row: list[str], columns: int, where: str) -> tuple[int, int, float]:
    """(microseconds, partition, records per second) of one row; without partitions there is only partition 0."""
    try:
        time_us, rate = plain_number(row[0]) * S, plain_number(row[-1])
        partition = _whole(row[1]) if columns == 3 else 0
    except (ValueError, IndexError):
        raise refusal(f"{where}: must be numbers") from None
    fine = 0 <= time_us <= LONGEST_US and math.isfinite(rate) and rate >= 0 and 0 <= partition <= PARTITION_MAX
    if len(row) != columns or not fine:
        raise refusal(f"{where}: must be an instant, {'a partition, ' if columns == 3 else ''}and a rate from 0 on")
    return round(time_us), partition, rate


def _whole(text: str) -> int:
    """The whole number that a text is, in digits alone."""
    plain_number(text)
    return int(text)


def _steps(points: list[tuple[int, int, float]], path: Path) -> list[list[object]]:
    current = [0.0] * (max(partition for _, partition, _ in points) + 1)
    instants = len({time_us for time_us, _, _ in points})
    if instants * len(current) > VALUES_MAX:
        raise refusal(
            f"{path}: {instants:,} instants of {len(current):,} partitions are more than {VALUES_MAX:,} rates"
        )
    steps: list[list[object]] = []
    for time_us, rows in groupby(points, key=itemgetter(0)):
        for _, partition, rate in rows:
            current[partition] = rate
        steps.append([format_duration(time_us), list(current)])
    return steps
