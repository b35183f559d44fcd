"""Tables with the columns and dtypes that ``sim.tables`` declares, or the reason why they have not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pandas as pd
from pandas.api import types as dtypes

from groupsim.analysis.errors import SchemaMismatch
from groupsim.sim.tables import FLOAT, INT, TABLES, TEXT

NULLABLE: Final = frozenset(
    {
        "rscore", "recovery_s", "partitions_moved", "partitions_moved_min", "first_service_s", "moved", "reported_us",
        "read_bytes", "cross_rack_bytes", "cross_rack_cost_per_month", "aborted_share",
    }
)  # fmt: skip
"""Columns that may be null; an integer one is ``Int64`` then, with ``<NA>`` for null."""


def conform(frame: pd.DataFrame, name: str, where: str = "", columns: Sequence[str] | None = None) -> pd.DataFrame:
    """The table with the declared columns first, in their order and with their dtypes; further columns stay.

    Parameters
    ----------
    where : str, optional
        What an error calls the table.
    columns : sequence of str, optional
        Those that must be there; all by default.

    Raises
    ------
    SchemaMismatch
        A column is missing, or its values are not of the declared kind.
    """
    schema = {column: kind for column, kind in TABLES[name].items() if columns is None or column in columns}
    where = where or f"table {name!r}"
    missing = [column for column in schema if column not in frame.columns]
    if missing:
        found = ", ".join(map(str, frame.columns)) or "no columns"
        raise SchemaMismatch(f"{where}: missing column(s) {', '.join(missing)}; found {found}")
    declared = {column: _cast(frame[column], kind, where) for column, kind in schema.items()}
    further = {column: frame[column] for column in frame.columns if column not in schema}
    return pd.DataFrame(declared | further, index=frame.index, copy=False)


def _cast(column: pd.Series[Any], kind: str, where: str) -> pd.Series[Any]:
    accepts, convert = _KINDS[kind]
    nullable = column.name in NULLABLE
    if column.empty or (kind == FLOAT and nullable and column.isna().all()):
        return convert(column)
    if not accepts(column) and not (nullable and kind == INT and _whole(column)):
        raise SchemaMismatch(f"{where}: column {column.name} is {column.dtype}, declared as {kind}")
    if kind != FLOAT and column.isna().any():
        if not nullable:
            raise SchemaMismatch(f"{where}: column {column.name} ({kind}) has {int(column.isna().sum())} null value(s)")
        return column.astype("Int64")
    return convert(column)


def _is_text(column: pd.Series[Any]) -> bool:
    categories = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else column
    return dtypes.is_string_dtype(categories)


def _text(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column as text; of categories each is converted once."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return column.astype("string")
    texts = pd.Series(column.cat.categories, dtype="string").array
    return pd.Series(texts.take(column.cat.codes, allow_fill=True), index=column.index, name=column.name)


def _is_integer(column: pd.Series[Any]) -> bool:
    return dtypes.is_integer_dtype(column.dtype)


def _is_number(column: pd.Series[Any]) -> bool:
    return dtypes.is_numeric_dtype(column.dtype) and not dtypes.is_bool_dtype(column.dtype)


def _whole(column: pd.Series[Any]) -> bool:
    known = column.dropna()
    return known.empty or (_is_number(column) and bool((known % 1 == 0).all()))


_KINDS: Final[Mapping[str, tuple[Callable[[pd.Series[Any]], bool], Callable[[pd.Series[Any]], pd.Series[Any]]]]] = {
    TEXT: (_is_text, _text),
    INT: (_is_integer, lambda column: column.astype("int64")),
    FLOAT: (_is_number, lambda column: column.astype("float64")),
}
"""What a column of each kind accepts, and how it becomes the declared dtype."""
