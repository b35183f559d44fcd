"""Tables in their declared form, and digests over what they say."""

from __future__ import annotations

import json

import numpy as np
import pytest

from groupsim.analysis.data.columns import records
from groupsim.sim.books.record import Rows
from groupsim.sim.output import result
from groupsim.sim.output.result import Tables, digest, frame, manifest_text
from groupsim.sim.tables import DELIVERY, TABLES

DELIVERED = {"group": ["b", "a"], "kind": ["loss", "duplicate"], "cause": ["kill", "zombie"], "records": [1, 2]}


def test_a_frame_is_sorted_typed_and_in_order() -> None:
    table = frame("delivery", dict(reversed(DELIVERED.items())))
    assert list(table.columns) == list(DELIVERY)
    assert table["group"].tolist() == ["a", "b"]
    assert [str(dtype) for dtype in table.dtypes] == ["string", "string", "string", "int64"]


def test_a_frame_may_be_empty() -> None:
    for name, declared in TABLES.items():
        assert len(frame(name, {column: [] for column in declared})) == 0


def test_a_table_that_is_not_there_is_answered_with_those_that_are() -> None:
    tables = Tables({"delivery": DELIVERED})
    with pytest.raises(KeyError, match="there is no table 'deliveries'; tables: delivery"):
        tables["deliveries"]
    assert "deliveries" not in tables


def test_a_digest_is_of_values_not_of_where_they_came_from() -> None:
    table = frame("delivery", DELIVERED)
    shuffled = frame("delivery", {column: values[::-1] for column, values in DELIVERED.items()})
    assert digest(table) == digest(shuffled) == digest(table.copy())
    assert len(digest(table)) == 64


def test_a_digest_is_the_same_in_blocks_of_any_length(monkeypatch: pytest.MonkeyPatch) -> None:
    table = frame("delivery", DELIVERED)
    whole = digest(table)
    monkeypatch.setattr(result, "_BLOCK", 1)
    assert digest(table) == whole


@pytest.mark.parametrize("column", list(DELIVERED))
def test_any_value_shows_in_the_digest(column: str) -> None:
    changed = {name: list(values) for name, values in DELIVERED.items()}
    changed[column][0] = 7 if column == "records" else f"{changed[column][0]}x"
    assert digest(frame("delivery", changed)) != digest(frame("delivery", DELIVERED))


def test_values_that_run_into_one_another_do_not_look_alike() -> None:
    one = frame("delivery", DELIVERED | {"kind": ["ab", "c"]})
    other = frame("delivery", DELIVERED | {"kind": ["a", "bc"]})
    assert digest(one) != digest(other)
    few = frame("lag", {"group": ["g"], "time_us": [1], "lag_records": [2], "lag_us": [3]})
    swapped = frame("lag", {"group": ["g"], "time_us": [1], "lag_records": [3], "lag_us": [2]})
    assert digest(few) != digest(swapped)


def test_a_null_is_not_a_nought() -> None:
    columns = {column: ["x"] if dtype == "string" else [0] for column, dtype in TABLES["summary"].items()}
    nought = frame("summary", columns)
    for column in ("partitions_moved", "recovery_s"):
        null = frame("summary", columns | {column: np.array([None], dtype=object)})
        assert null[column].isna().all()
        assert digest(null) != digest(nought)


def test_every_table_has_a_digest() -> None:
    tables = Tables({name: {column: [] for column in declared} for name, declared in TABLES.items()})
    assert list(tables.digests()) == list(tables) == list(TABLES)


def test_a_digest_is_the_same_before_and_after_there_is_a_frame() -> None:
    columns = {column: ["x", "a"] if dtype == "string" else [3, 4] for column, dtype in TABLES["summary"].items()}
    nulls = {name: np.array([None, 5], dtype=object) for name in ("partitions_moved", "recovery_s")}
    tables = Tables({"summary": columns | nulls, "delivery": DELIVERED})
    assert tables.digests() == {name: digest(frame) for name, frame in tables.items()}


def test_rows_are_plain_and_say_what_the_frame_says() -> None:
    columns = {column: ["x", "a"] if dtype == "string" else [3, 4] for column, dtype in TABLES["summary"].items()}
    nulls = {name: np.array([None, 5], dtype=object) for name in ("partitions_moved", "recovery_s")}
    tables = Tables({"summary": columns | nulls})
    rows = tables.rows("summary")
    assert rows == records(tables["summary"])
    assert [row["partitions_moved"] for row in rows] == [5, None]
    assert {type(value) for row in rows for value in row.values()} <= {str, int, float, type(None)}


def test_a_manifest_is_sorted_json() -> None:
    text = manifest_text({"b": 1, "a": {"d": 2, "c": None}})
    assert json.loads(text) == {"a": {"c": None, "d": 2}, "b": 1}
    assert text.index('"a"') < text.index('"b"')
    assert text.endswith("\n")


def test_rows_are_blocks_of_integers() -> None:
    rows = Rows(3)
    assert rows.array().shape == (0, 3)
    rows.add(np.array([1, 2], np.int32), 7, np.array([3, 4]))
    rows.add(np.array([5]), 6, 8)
    assert rows.array().tolist() == [[1, 7, 3], [2, 7, 4], [5, 6, 8]]


def test_the_least_of_a_column_counts_what_was_added_since_it_was_asked_for() -> None:
    rows = Rows(2)
    assert rows.least(1) is None
    for values, least in ((np.array([7, 9]), 7), (8, 7), (3, 3), (np.array([5, 4]), 3)):
        rows.add(np.array([1, 2], np.int32), values)
        assert (rows.least(1), rows.least(0)) == (least, 1)
