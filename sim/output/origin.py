"""Times of the tables, told from 0: what was before is not in them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.output.result import Text

_SPANS: Final = MappingProxyType(
    {
        "rebalances": ("start_us", "end_us"), "ownership": ("from_us", "to_us"), "unavailability": ("from_us", "to_us"),
        "members": ("started_us", "ended_us"), "states": ("from_us", "to_us"), "brokers": ("from_us", "to_us"),
        "shards": ("from_us", "to_us"), "queues": ("from_us", "to_us"),
    }
)  # fmt: skip
"""Begin and end of what a row is about: a row that has ended before 0 is left out, and one that goes on begins at 0."""
_INSTANTS: Final = MappingProxyType(
    {"rebalances": "reported_us", "members": "stable_us", "lag": "time_us", "events": "time_us"}
)
"""None, or negative: it never happened."""


def counted(name: str, columns: dict[str, Any], origin_us: int) -> dict[str, Any]:
    """The rows of a table from ``origin_us`` on, which is 0 in them.

    Parameters
    ----------
    name : str
    columns : dict
        As `sim.output.result.Tables` takes them.
    origin_us : int, microseconds
    """
    if not origin_us:
        return columns
    if name in _SPANS:
        end = np.asarray(columns[_SPANS[name][1]], np.int64)
        columns = _rows(columns, np.flatnonzero(end > origin_us))
    told = {column: _since(columns[column], origin_us) for column in _SPANS.get(name, ())}
    if name in _INSTANTS:
        told[_INSTANTS[name]] = _since(columns[_INSTANTS[name]], origin_us)
    return columns | told


def _rows(columns: Mapping[str, Any], which: NDArray[np.intp]) -> dict[str, Any]:
    return {
        column: (values if isinstance(values, Text) else np.asarray(values))[which] if len(values) else values
        for column, values in columns.items()
    }


def _since(values: Any, origin_us: int) -> NDArray[Any]:
    column = np.asarray(values)
    if column.dtype.kind == "O":
        return np.array([None if one is None else int(_since(one, origin_us)) for one in values], object)
    return np.where(column < 0, column, np.maximum(column - origin_us, 0))
