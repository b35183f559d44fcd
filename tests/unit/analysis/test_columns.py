"""Tables as plain data."""

from __future__ import annotations

import pandas as pd

from groupsim.analysis.data.columns import records


def test_records_are_plain_and_know_null() -> None:
    frame = pd.DataFrame(
        {
            "t": pd.array(["a", None], dtype="string"),
            "i": pd.array([1, None], dtype="Int64"),
            "f": [0.5, float("nan")],
            "n": [1, 2],
        }
    )
    told = records(frame)
    assert told == [{"t": "a", "i": 1, "f": 0.5, "n": 1}, {"t": None, "i": None, "f": None, "n": 2}]
    assert {type(value) for row in told for value in row.values()} <= {str, int, float, type(None)}
