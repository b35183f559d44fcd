"""Tables as plain columns: the one place where a DataFrame's values become Python's or numpy's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows as plain data by column; missing values are None."""
    return frame.astype(object).where(frame.notna(), None).to_dict("records")  # type: ignore[return-value]


def rows(frame: pd.DataFrame, *columns: str) -> Iterator[tuple[Any, ...]]:
    """The values of some columns, row by row, as Python objects."""
    return zip(*(frame[column].tolist() for column in columns), strict=True)


def floats(frame: pd.DataFrame, column: str) -> NDArray[np.float64]:
    """A column as floats, NaN for null, shape (n,)."""
    return frame[column].to_numpy(dtype=np.float64, na_value=np.nan)


def integers(frame: pd.DataFrame, column: str) -> NDArray[np.int64]:
    """A column without nulls as integers, shape (n,)."""
    return frame[column].to_numpy(dtype=np.int64)


def names(column: pd.Series[Any]) -> list[str]:
    """The distinct values of a text column, in order of appearance."""
    return [str(value) for value in column.unique()]
