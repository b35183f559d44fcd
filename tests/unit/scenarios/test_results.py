"""Result folders: complete or absent, typed, and known by what they hold rather than by their bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from groupsim.analysis.data.load import load_result, load_summary
from groupsim.scenarios.files.new_folder import OccupiedFolder, complete_or_absent
from groupsim.scenarios.files.result_folder import (
    MANIFEST,
    run_files,
    schema,
    summary_files,
    to_arrow,
    write_files,
)
from groupsim.sim.output.arrow_digest import digest_of
from groupsim.sim.output.result import Result, Tables, digest
from groupsim.sim.tables import TABLES
from tests.support import fake_simulation as fake
from tests.support.frames import to_frame

ROOT = Path(__file__).parents[3]


@pytest.fixture
def result() -> Result:
    return fake.simulate(fake.scenario(), seed=7, replication=2)


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
            "import os, sys; from pathlib import Path; from groupsim.scenarios.files.result_folder import *\n"
            "from groupsim.scenarios.files.new_folder import *\n"
            "with complete_or_absent(Path(sys.argv[1])) as partial:\n"
            "    write_files(partial, {'a': b'1'}); os.kill(os.getpid(), 9)"
        )
        killed = subprocess.run([sys.executable, "-c", program, str(tmp_path / "result")], cwd=ROOT)
        assert killed.returncode == -9
        assert [path.name[:8] for path in tmp_path.iterdir()] == [".result."]

    def test_sweeps_away_what_a_killed_process_has_left_and_nothing_else(self, tmp_path: Path) -> None:
        self.test_is_absent_after_a_kill(tmp_path)
        (left,) = tmp_path.iterdir()
        mine = [tmp_path / name for name in (".result.12345678.partial", ".other.12345678.partial", ".result.partial")]
        for folder in mine:
            folder.mkdir()
            (folder / "mine").touch()
        (mine[0] / ".groupsim").write_text("my own file of that name")
        (tmp_path / ".result.87654321.partial").symlink_to(left)
        with complete_or_absent(tmp_path / "result"):
            pass
        links = {tmp_path / ".result.87654321.partial"}
        assert {*tmp_path.iterdir()} == {tmp_path / "result", *mine, *links}
        assert all((folder / "mine").exists() for folder in mine)

    def test_leaves_alone_what_another_process_is_writing(self, tmp_path: Path) -> None:
        with complete_or_absent(tmp_path / "result") as first:
            write_files(first, {"a": b"1"})
            with pytest.raises(RuntimeError), complete_or_absent(tmp_path / "result"):
                raise_after(RuntimeError, write_files, first, {"b": b"2"})
            assert sorted(path.name for path in first.iterdir()) == [".groupsim", "a", "b"]
        assert sorted(path.name for path in (tmp_path / "result").iterdir()) == ["a", "b"]

    @pytest.mark.parametrize("name", ["", "."])
    def test_fills_the_working_directory_and_stays_in_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        with complete_or_absent(Path(name)) as partial:
            write_files(partial, {"a": b"1", MANIFEST: b"2", "z": b"3"})
        assert sorted(path.name for path in Path().iterdir()) == ["a", MANIFEST, "z"]
        assert Path.cwd().samefile(tmp_path)

    @pytest.mark.parametrize("name", ["", "."])
    def test_refuses_a_working_directory_that_holds_something(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        Path("mine").touch()
        with pytest.raises(OccupiedFolder, match="is not empty"), complete_or_absent(Path(name)):
            pytest.fail("nothing may be computed for a folder that is taken")
        assert [path.name for path in tmp_path.iterdir()] == ["mine"]

    @pytest.mark.parametrize("reason", ["a mount", "a parent that may not be changed"])
    def test_moves_into_a_folder_that_cannot_be_replaced(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str
    ) -> None:
        volume = tmp_path / "volume"
        volume.mkdir()
        before = volume.stat().st_ino
        if reason == "a mount":
            monkeypatch.setattr(Path, "is_mount", lambda path: path == volume)
        else:
            monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)
        order = []
        own = Path.rename
        monkeypatch.setattr(Path, "rename", lambda path, to: (order.append(path.name), own(path, to))[1])
        with complete_or_absent(volume) as partial:
            assert partial.parent == volume
            write_files(partial, {MANIFEST: b"2", "a": b"1", "z": b"3"})
        assert sorted(path.name for path in volume.iterdir()) == ["a", MANIFEST, "z"]
        assert volume.stat().st_ino == before
        assert order[-3:] == ["a", "z", MANIFEST]

    def test_in_place_never_joins_what_came_meanwhile(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        with pytest.raises(OccupiedFolder, match="not empty any more"), complete_or_absent(Path()):
            Path("mine").touch()
        assert [path.name for path in tmp_path.iterdir()] == ["mine"]

    def test_a_killed_run_in_place_does_not_stand_in_the_way_of_the_next(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        program = (
            "import os; from pathlib import Path; from groupsim.scenarios.files.new_folder import *\n"
            "with complete_or_absent(Path()) as partial: (partial / 'a').touch(); os.kill(os.getpid(), 9)"
        )
        paths = os.pathsep.join(map(str, [ROOT, *sys.path]))
        killed = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths})
        assert killed.returncode == -9
        assert len([*tmp_path.iterdir()]) == 1
        monkeypatch.chdir(tmp_path)
        with complete_or_absent(Path()) as partial:
            write_files(partial, {"b": b"1"})
        assert [path.name for path in tmp_path.iterdir()] == ["b"]

    @pytest.mark.parametrize("there", [True, False])
    def test_follows_a_symbolic_link(self, tmp_path: Path, there: bool) -> None:
        if there:
            (tmp_path / "disk").mkdir()
        (tmp_path / "result").symlink_to(tmp_path / "disk")
        with complete_or_absent(tmp_path / "result") as partial:
            write_files(partial, {"a": b"1"})
        assert (tmp_path / "result").is_symlink()
        assert [path.name for path in (tmp_path / "disk").iterdir()] == ["a"]
        assert sorted(path.name for path in tmp_path.iterdir()) == ["disk", "result"]

    @pytest.mark.parametrize("link", ["result", "nowhere/deeper\0x"])
    def test_refuses_at_once_what_leads_nowhere(self, tmp_path: Path, link: str) -> None:
        if "\0" not in link:
            (tmp_path / "result").symlink_to(tmp_path / link)
        with pytest.raises(OccupiedFolder, match="cannot be"), complete_or_absent(tmp_path / link):
            pytest.fail("nothing may be computed for a folder that cannot be")

    @pytest.mark.parametrize("name", ["n" * 240, "n" * 300, "a/" * 2500 + "b"])
    def test_refuses_a_name_that_is_too_long_before_anything_runs(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(OccupiedFolder, match="File name too long"), complete_or_absent(tmp_path / name):
            pytest.fail("nothing may be computed for a folder that cannot be")

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
    def test_have_the_declared_columns_and_dtypes(self, name: str, result: Result) -> None:
        read = pq.read_schema(pa.BufferReader(run_files(result)[f"{name}.parquet"]))
        assert read.equals(schema(name))
        assert {str(dtype) for dtype in read.types} <= {"int64", "double", "string"}

    def test_come_back_as_they_were(self, result: Result) -> None:
        for name, table in result.tables.items():
            pd.testing.assert_frame_equal(to_frame(to_arrow(name, result.tables)), table)

    def test_hold_nulls_where_integers_are_missing(self) -> None:
        columns = {"group": ["a", "b"], "api": ["Join", "Join"], "error": ["", "X"]}
        tables = Tables({"requests": {**columns, "count": np.array([None, 2], object)}})
        assert to_arrow("requests", tables)["count"].to_pylist() == [None, 2]


class TestManifest:
    def test_is_the_one_of_the_run(self, result: Result) -> None:
        assert json.loads(run_files(result)["manifest.json"]) == result.manifest

    def test_has_digests_of_what_a_reader_finds(self, result: Result, tmp_path: Path) -> None:
        write_files(tmp_path, run_files(result))
        read = load_result(tmp_path)
        assert set(read.manifest["digests"]) == set(TABLES)
        assert {name: digest(table) for name, table in read.tables.items()} == read.manifest["digests"]

    @pytest.mark.parametrize("missing", [False, True])
    def test_of_several_runs_has_a_digest_of_what_a_reader_finds(self, tmp_path: Path, missing: bool) -> None:
        runs = [fake.simulate(fake.scenario(), seed=7, replication=r).tables for r in range(3)]
        summary = pa.concat_tables([to_arrow("summary", run) for run in runs])
        if missing:
            at = summary.column_names.index("partitions_moved")
            summary = summary.set_column(at, "partitions_moved", pa.array([None, 1, 2, 3, 4, 5], pa.int64()))
        write_files(tmp_path, summary_files(summary, {"seed": 7}))
        manifest = json.loads((tmp_path / "manifest.json").read_text())
        assert manifest == {"seed": 7, "digests": {"summary": digest(load_summary(tmp_path))}}


@pytest.mark.parametrize("name", TABLES)
def test_digest_without_pandas_is_that_of_the_frame(name: str) -> None:
    table = to_arrow(name, fake.simulate(fake.scenario(), seed=1, replication=0).tables)
    for one in (
        table,
        table.slice(0, 0),
        table.set_column(1, table.field(1), pa.nulls(len(table), table.field(1).type)),
    ):
        assert digest_of(one) == digest(to_frame(one))
