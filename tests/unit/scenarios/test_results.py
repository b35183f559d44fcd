"""Result folders: complete or absent, typed, and known by what they hold rather than by their bytes."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scenarios.results import (
    OccupiedFolder,
    complete_or_absent,
    digest,
    manifest,
    parquet,
    run_files,
    schema,
    to_arrow,
    write_files,
)
from sim.tables import TABLES
from tests.support import fake_simulation as fake

ROOT = Path(__file__).parents[3]


@pytest.fixture
def result() -> fake.FakeResult:
    return fake.simulate(fake.scenario(), seed=7, replication=2)


def requests(**columns: list[object]) -> pd.DataFrame:
    base = {"group": ["a", "b"], "api": ["Join", "Join"], "error": ["", "X"], "count": [1, 2]}
    return pd.DataFrame({**base, **columns})


def raise_after(error: type[BaseException], work: Callable[..., None], *arguments: object) -> None:
    work(*arguments)
    raise error


class TestFolder:
    def test_appears_whole_and_alone(self, tmp_path: Path) -> None:
        target = tmp_path / "deep" / "result"
        with complete_or_absent(target) as partial:
            write_files(partial, {"a": b"1"})
            assert not target.exists()
        assert [path.name for path in target.parent.iterdir()] == ["result"]
        assert (target / "a").read_bytes() == b"1"

    def test_has_the_permissions_of_any_new_folder(self, tmp_path: Path) -> None:
        (tmp_path / "plain").mkdir()
        with complete_or_absent(tmp_path / "result"):
            pass
        assert (tmp_path / "result").stat().st_mode == (tmp_path / "plain").stat().st_mode

    @pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
    def test_is_absent_after_an_error(self, tmp_path: Path, error: type[BaseException]) -> None:
        with pytest.raises(error), complete_or_absent(tmp_path / "result") as partial:
            raise_after(error, write_files, partial, {"a": b"1"})
        assert list(tmp_path.iterdir()) == []

    def test_is_absent_after_a_kill(self, tmp_path: Path) -> None:
        program = (
            "import os, sys; from pathlib import Path; from scenarios.results import *\n"
            "with complete_or_absent(Path(sys.argv[1])) as partial:\n"
            "    write_files(partial, {'a': b'1'}); os.kill(os.getpid(), 9)"
        )
        killed = subprocess.run([sys.executable, "-c", program, str(tmp_path / "result")], cwd=ROOT)
        assert killed.returncode == -9
        assert [path.name[:8] for path in tmp_path.iterdir()] == [".result."]

    def test_takes_an_empty_folder(self, tmp_path: Path) -> None:
        (tmp_path / "result").mkdir()
        with complete_or_absent(tmp_path / "result") as partial:
            write_files(partial, {"a": b"1"})
        assert (tmp_path / "result" / "a").exists()

    def test_never_overwrites(self, tmp_path: Path) -> None:
        (tmp_path / "result").mkdir()
        (tmp_path / "result" / "mine").touch()
        with pytest.raises(OccupiedFolder, match="not empty"), complete_or_absent(tmp_path / "result"):
            pytest.fail("nothing may be computed for a folder that is taken")
        assert [path.name for path in tmp_path.rglob("*")] == ["result", "mine"]

    def test_never_overwrites_what_came_meanwhile(self, tmp_path: Path) -> None:
        with pytest.raises(OccupiedFolder), complete_or_absent(tmp_path / "result"):
            write_files(tmp_path / "result", {"mine": b"1"})
        assert [path.name for path in tmp_path.rglob("*")] == ["result", "mine"]

    def test_refuses_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "result").touch()
        with pytest.raises(OccupiedFolder, match="is a file"), complete_or_absent(tmp_path / "result"):
            pass

    def test_refuses_a_place_below_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(OccupiedFolder, match="cannot be made"), complete_or_absent(tmp_path / "file" / "result"):
            pass


class TestTables:
    @pytest.mark.parametrize("name", TABLES)
    def test_have_the_declared_columns_and_dtypes(self, name: str, result: fake.FakeResult) -> None:
        read = pq.read_schema(pa.BufferReader(run_files(result)[f"{name}.parquet"]))
        assert read.equals(schema(name))
        assert {str(dtype) for dtype in read.types} <= {"int64", "double", "string"}

    def test_have_their_rows_in_the_declared_order(self) -> None:
        table = to_arrow("requests", requests(group=["b", "a"]))
        assert table["group"].to_pylist() == ["a", "b"]
        assert table["count"].to_pylist() == [2, 1]

    def test_hold_nulls_where_integers_are_missing(self) -> None:
        frame = requests().astype({"count": "Int64"})
        frame.loc[0, "count"] = pd.NA
        assert to_arrow("requests", frame)["count"].to_pylist() == [None, 2]

    def test_with_other_columns_are_refused(self) -> None:
        with pytest.raises(ValueError, match="table requests has columns"):
            to_arrow("requests", requests().drop(columns="api"))


class TestDigest:
    def test_is_of_the_values_and_not_of_the_file_or_chunks(self) -> None:
        table = to_arrow("requests", requests())
        chunked = pa.concat_tables([table.slice(0, 1), table.slice(1, 1)])
        read = pq.read_table(pa.BufferReader(parquet(chunked)))
        assert chunked["group"].num_chunks == 2
        assert digest(table) == digest(chunked) == digest(read)

    def test_is_of_names_types_nulls_lengths_and_values(self) -> None:
        table = pa.table({"n": pa.array([7, None, -1], pa.int64()), "t": pa.array(["", "Ü", None], pa.string())})
        numbers = b"n:int64:3\n" + bytes([0b010_00000]) + struct.pack("<3q", 7, 0, -1)
        texts = b"t:string:3\n" + bytes([0b001_00000]) + struct.pack("<3i", 0, 2, 0) + "Ü".encode()
        assert digest(table) == hashlib.sha256(numbers + texts).hexdigest()

    @pytest.mark.parametrize(
        ("column", "values"),
        [
            ("count", [1, 3]),
            ("count", [2, 1]),
            ("count", [None, 2]),
            ("error", ["", "Y"]),
            ("error", ["X", ""]),
            ("error", [None, "X"]),
            ("api", ["JoinJ", "oin"]),
        ],
    )
    def test_tells_values_apart(self, column: str, values: list[object]) -> None:
        other = requests(**{column: values})
        other["count"] = other["count"].astype("Int64")
        assert digest(to_arrow("requests", other)) != digest(to_arrow("requests", requests()))

    def test_takes_a_null_for_no_number(self) -> None:
        zero, null = (pa.table({"x": pa.array([value], pa.float64())}) for value in (0.0, None))
        assert digest(zero) != digest(null)

    def test_knows_one_zero(self) -> None:
        plus, minus = (pa.table({"x": pa.array([value], pa.float64())}) for value in (0.0, -0.0))
        assert digest(plus) == digest(minus)

    def test_tells_columns_apart(self) -> None:
        assert digest(pa.table({"x": [1]})) != digest(pa.table({"y": [1]}))

    def test_of_an_empty_table_is_one_too(self) -> None:
        empty = schema("requests").empty_table()
        assert digest(empty) == digest(to_arrow("requests", requests().iloc[:0])) != digest(schema("lag").empty_table())


def test_manifest_has_what_the_run_says_and_a_digest_of_every_table(result: fake.FakeResult) -> None:
    written = json.loads(run_files(result)["manifest.json"])
    assert written["events"] == 42
    assert written["scenario"]["horizon"] == "1min"
    assert set(written["tables"]) == set(TABLES)
    assert written["tables"]["requests"] == {
        "rows": 2,
        "digest": digest(to_arrow("requests", result.tables["requests"])),
    }


def test_manifest_ends_with_a_newline() -> None:
    assert manifest({"a": "é"}, {}).decode() == '{\n  "a": "é",\n  "tables": {}\n}\n'


def test_folder_without_write_permission_is_refused(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    tmp_path.chmod(0o500)
    with pytest.raises(OccupiedFolder, match="cannot be made"), complete_or_absent(tmp_path / "result"):
        pass
