from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pyarrow as pa
import pytest

from groupsim.analysis.data.columns import names
from groupsim.analysis.data.load import (
    RUN,
    load_absent,
    load_failures,
    load_kept,
    load_result,
    load_summaries,
    load_summary,
    measure_of,
    table,
)
from groupsim.analysis.data.schema import conform
from groupsim.analysis.errors import MissingTable, ResultError, SchemaMismatch
from groupsim.scenarios.files.result_folder import parquet, schema, write_files
from groupsim.sim.output.arrow_digest import digest_of
from groupsim.sim.tables import TABLES
from tests.support.sweep_folder import write_sweep

Maker = Callable[..., pd.DataFrame]


def write(folder: Path, tables: dict[str, pd.DataFrame]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, frame in tables.items():
        frame.to_parquet(folder / f"{name}.parquet", index=False)
    (folder / "manifest.json").write_text(json.dumps({"seed": 1}))
    return folder


def test_a_result_folder_comes_back_as_it_was(small: SimpleNamespace, tmp_path: Path) -> None:
    result = load_result(write(tmp_path / "run", small.tables))
    assert result.manifest == {"seed": 1}
    assert set(result.tables) == set(TABLES)
    assert result.summary is result.tables["summary"]
    with pytest.raises(KeyError, match="there is no table 'members_'; tables: summary, "):
        result.tables["members_"]
    for name, frame in small.tables.items():
        pd.testing.assert_frame_equal(result.tables[name], frame)


def test_every_form_of_a_result_gives_the_same_table(small: SimpleNamespace, tmp_path: Path) -> None:
    folder = write(tmp_path / "run", small.tables)
    for source in (small, small.tables, folder, str(folder), load_result(folder)):
        pd.testing.assert_frame_equal(table(source, "ownership"), small.tables["ownership"])


def test_a_missing_table_is_named(small: SimpleNamespace, tmp_path: Path) -> None:
    with pytest.raises(MissingTable, match="no table 'lag'; it has: states"):
        table({"states": small.tables["states"]}, "lag")
    with pytest.raises(MissingTable, match=r"not a result folder: it has no summary\.parquet"):
        load_result(tmp_path)
    with pytest.raises(MissingTable, match=r"neither summary\.parquet"):
        load_summary(tmp_path)


def test_an_unfinished_sweep_is_told_how_to_finish(sweep: Maker, tmp_path: Path) -> None:
    folder = write_sweep(tmp_path / "sweep", sweep({"range": [1.0]}))
    (folder / "manifest.json").unlink()
    with pytest.raises(ResultError, match=r"the sweep is unfinished .*; groupsim sweep SWEEP --out .*/sweep --resume"):
        load_summary(folder)


def test_a_sweep_in_which_all_runs_failed_has_no_summary(sweep: Maker, tmp_path: Path) -> None:
    with pytest.raises(MissingTable, match="holds no run: all have failed"):
        load_summary(write_sweep(tmp_path, sweep({}), {"range": {}}))


def test_a_result_without_a_run_is_named(sweep: Maker, tmp_path: Path) -> None:
    with pytest.raises(MissingTable, match=r"summary\.parquet holds no run"):
        load_summary(write(tmp_path / "run", {"summary": sweep({"": [1.0]}).iloc[:0]}), ["rebalances"])


def test_a_sweep_has_its_variants_in_its_own_order(sweep: Maker, tmp_path: Path) -> None:
    one = sweep({"static": [1.0, 2.0], "range": [3.0, 4.0], "all": [5.0, 6.0]})
    summary = pd.concat([one.assign(group="audit").astype(one.dtypes), one])
    found = load_summary(
        write_sweep(tmp_path / "sweep", summary.iloc[::-1], {name: {} for name in names(one["variant"])})
    )
    expected = pd.concat(
        [summary[summary["variant"] == name] for name in ("static", "range", "all")], ignore_index=True
    )
    pd.testing.assert_frame_equal(found, expected)


@pytest.mark.parametrize("variants", [["static"], {"static": "x"}])
def test_a_manifest_without_variants_is_named(sweep: Maker, tmp_path: Path, variants: object) -> None:
    folder = write_sweep(tmp_path / "sweep", sweep({"static": [1.0]}))
    (folder / "manifest.json").write_text(json.dumps({"variants": variants}))
    with pytest.raises(ResultError, match=r"manifest\.json does not say what the variants are"):
        load_summary(folder)


def test_only_the_metrics_asked_for_are_read(sweep: Maker, tmp_path: Path) -> None:
    summary = sweep({"static": [1.0, 2.0], "range": [3.0, 4.0]})
    for number, folder in enumerate(
        (write_sweep(tmp_path / "s", summary), write(tmp_path / "r", {"summary": summary}))
    ):
        found = load_summary(folder, ["rebalances"])
        pd.testing.assert_frame_equal(found, summary[[*RUN, "rebalances"]], obj=str(number))


def test_failed_runs_are_known_by_variant(sweep: Maker, tmp_path: Path) -> None:
    summary = sweep({"static": [1.0]})
    lost = [("static", 1, 1), ("010", 1, 0), ("static", 1, 2)]
    folder = write_sweep(tmp_path / "sweep", summary, {"static": {}, "010": {}}, lost)
    assert load_failures(folder) == {"static": {(1, 1), (1, 2)}, "010": {(1, 0)}}
    assert load_failures(write(tmp_path / "run", {"summary": summary})) == {}


def test_runs_that_were_not_wanted_any_more_are_absent_too(sweep: Maker, tmp_path: Path) -> None:
    summary = sweep({"range": [1.0, 2.0, 3.0], "static": [1.0]})
    folder = write_sweep(tmp_path / "sweep", summary, failed=[("static", 1, 1)])
    assert load_absent(folder) == {"static": {(1, 1), (1, 2)}}
    assert load_absent(write(tmp_path / "run", {"summary": summary})) == {}


def test_missing_columns_are_named(small: SimpleNamespace) -> None:
    with pytest.raises(SchemaMismatch, match=r"table 'lag': missing column\(s\) lag_records, lag_us; found group"):
        conform(small.tables["lag"].drop(columns=["lag_us", "lag_records"]), "lag")


@pytest.mark.parametrize(
    ("column", "values", "reason"),
    [
        ("time_us", [1.5], "column time_us is float64, declared as int64"),
        ("time_us", ["soon"], "column time_us is .*, declared as int64"),
        ("time_us", pd.array([None], dtype="Int64"), "column time_us .* has 1 null value"),
        ("group", [7], "column group is int64, declared as string"),
        ("group", pd.array([7], dtype="object"), "column group is object, declared as string"),
        ("group", pd.array([None], dtype="string"), "column group .* has 1 null value"),
    ],
)
def test_a_wrong_dtype_is_named(make_table: Maker, column: str, values: object, reason: str) -> None:
    frame = make_table("lag", [{"group": "g"}]).drop(columns=column).assign(**{column: values})
    with pytest.raises(SchemaMismatch, match=reason):
        conform(frame, "lag")


def test_what_means_the_same_is_accepted(make_table: Maker) -> None:
    frame = make_table("lag", [{"group": "g", "time_us": 5}])
    loose = frame.astype({"group": "category", "time_us": "int32", "lag_us": "Int64"}).assign(new=1)
    found = conform(loose[["new", "lag_us", "time_us", "group", "lag_records"]], "lag")
    assert list(found.columns) == [*TABLES["lag"], "new"]
    pd.testing.assert_frame_equal(found.drop(columns="new"), frame)


def test_moved_partitions_of_a_broadcast_group_are_null(sweep: Maker, tmp_path: Path) -> None:
    summary = sweep({"all": [1.0, 2.0]}).astype({"partitions_moved": "Int64"})
    summary.loc[0, "partitions_moved"] = pd.NA
    found = load_result(write(tmp_path / "run", {"summary": summary})).tables["summary"]
    assert found["partitions_moved"].tolist() == [pd.NA, 20]
    assert found["partitions_moved_min"].dtype == "int64"


@pytest.mark.parametrize("values", [[None, None], [float("nan"), 7.0]], ids=["none at all", "of doubles"])
def test_a_count_that_may_be_missing_is_read_whatever_its_nulls_made_of_it(sweep: Maker, values: list[object]) -> None:
    summary = sweep({"all": [1.0, 2.0]}).assign(partitions_moved=values)
    found = conform(summary, "summary")["partitions_moved"]
    assert found.dtype == "Int64"
    assert found.dropna().tolist() == [7] * found.notna().sum()


def test_a_sweep_keeps_variants_that_look_like_numbers_as_text(sweep: Maker, tmp_path: Path) -> None:
    summary = sweep({"010": [1.0, 2.0], "2 at once": [3.0, 4.0]})
    found = load_summary(write_sweep(tmp_path / "sweep", summary))
    pd.testing.assert_frame_equal(found, summary)


def test_a_sweep_without_variants_has_an_empty_name(sweep: Maker, tmp_path: Path) -> None:
    assert set(load_summary(write_sweep(tmp_path / "sweep", sweep({"": [1.0]})))["variant"]) == {""}


def test_folders_lend_their_names_where_variants_clash(sweep: Maker, tmp_path: Path) -> None:
    folders = [
        write_sweep(tmp_path / "monday", sweep({"range": [1.0], "static": [1.0]})),
        write_sweep(tmp_path / "tuesday", sweep({"range": [1.0]})),
        write(tmp_path / "single", {"summary": sweep({"": [1.0]})}),
    ]
    assert load_summaries(folders)["variant"].tolist() == ["monday/range", "static", "tuesday/range", "single"]


def test_folders_of_the_same_name_are_told_apart_by_their_paths(sweep: Maker, tmp_path: Path) -> None:
    folders = [write(tmp_path / day / "run", {"summary": sweep({"": [1.0]})}) for day in ("monday", "tuesday")]
    assert load_summaries(folders)["variant"].tolist() == [str(folder) for folder in folders]


def test_damaged_files_are_named_without_a_traceback(small: SimpleNamespace, tmp_path: Path) -> None:
    folder = write(tmp_path / "run", small.tables)
    (folder / "lag.parquet").write_bytes(b"not parquet")
    with pytest.raises(ResultError, match=r"lag\.parquet cannot be read as Parquet"):
        load_result(folder)
    small.tables["lag"].to_parquet(folder / "lag.parquet", index=False)
    (folder / "manifest.json").write_text("{")
    with pytest.raises(ResultError, match=r"manifest\.json cannot be read as JSON"):
        load_result(folder)
    (folder / "manifest.json").write_text("[]")
    with pytest.raises(ResultError, match="does not hold a JSON object"):
        load_result(folder)
    (folder / "manifest.json").unlink()
    with pytest.raises(ResultError, match=r"has no manifest\.json"):
        load_result(folder)


def test_what_is_no_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="nowhere does not exist"):
        load_summary(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(ResultError, match="file is not a folder"):
        load_result(tmp_path / "file")


def test_a_flipped_bit_in_a_number_is_noticed(small: SimpleNamespace, tmp_path: Path) -> None:
    file = write(tmp_path / "run", small.tables) / "summary.parquet"
    rows = pa.Table.from_pandas(small.tables["summary"], schema=schema("summary"), preserve_index=False)
    file.write_bytes(parquet(rows.replace_schema_metadata(None)))
    content = file.read_bytes()
    told = 0
    for at in range(4, len(content) - 8, 41):
        file.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
        try:
            pd.testing.assert_frame_equal(load_summary(tmp_path / "run"), small.tables["summary"])
        except ResultError:
            told += 1
    assert told > len(content) / 41 / 3


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 5_000, '{"a": ' * 50_000, "\\"])
def test_a_manifest_that_is_no_json_is_named(sweep: Maker, tmp_path: Path, text: str) -> None:
    folder = write_sweep(tmp_path / "out", sweep({"a": [1.0, 2.0]}))
    (folder / "manifest.json").write_text(text)
    for load in (load_summary, load_absent):
        with pytest.raises(ResultError, match=r"manifest\.json cannot be read as JSON"):
            load(folder)


@pytest.mark.parametrize(
    "change", [{"runs": 1e9}, {"runs": 10**20}, {"runs": -1}, {"seed": "x"}, {"set": []}, {"kept": 5}]
)
def test_a_manifest_with_variants_that_cannot_be_is_named(
    sweep: Maker, tmp_path: Path, change: dict[str, object]
) -> None:
    folder = write_sweep(tmp_path / "out", sweep({"a": [1.0, 2.0]}))
    (folder / "manifest.json").write_text(json.dumps({"variants": {"a": {"runs": 2, "seed": 1, "set": {}, **change}}}))
    for load in (load_summary, load_absent, load_kept):
        with pytest.raises(ResultError, match="does not say what the variants are"):
            load(folder)


def test_a_sweep_that_has_lost_runs_is_not_taken_for_a_whole_one(sweep: Maker, tmp_path: Path) -> None:
    for number, lost in enumerate(("part-0000000.parquet", "part-0000500.parquet", "*.parquet")):
        summary = sweep({"range": [1.0, 2.0, 3.0], "static": [1.0, 2.0, 3.0]})
        folder = write_sweep(tmp_path / str(number), summary)
        for file in (folder / "summary" / "variant=static").glob(lost):
            file.unlink()
        with pytest.raises(ResultError, match=r"'static' .* are not in summary/.* --resume carries out"):
            load_summary(folder)


def test_a_sweep_with_more_runs_than_its_manifest_counts_is_refused(sweep: Maker, tmp_path: Path) -> None:
    folder = write_sweep(tmp_path / "sweep", sweep({"range": [1.0, 2.0], "static": [1.0, 2.0]}))
    own = folder / "summary" / "variant=static"
    (own / "copy.parquet").write_bytes((own / "part-0000000.parquet").read_bytes())
    with pytest.raises(ResultError, match=r"runs of variant 'static' .*or others are"):
        load_summary(folder)


@pytest.mark.parametrize("change", [{"columns": ["replication"]}, {"seed": "x"}, {"replication": 0.5}])
def test_failures_that_do_not_say_which_runs_they_are_are_named(
    sweep: Maker, tmp_path: Path, change: dict[str, object]
) -> None:
    folder = write_sweep(tmp_path / "sweep", sweep({"range": [1.0]}), failed=[("range", 1, 1)])
    file = folder / "failures" / "variant=range" / "part-0000000.parquet"
    failures = pd.read_parquet(file, partitioning=None)
    changed = failures.drop(**change) if "columns" in change else failures.assign(**change)
    changed.to_parquet(file, index=False)
    with pytest.raises(SchemaMismatch, match=r"failures does not say .* which runs have failed"):
        load_failures(folder)


@pytest.mark.parametrize("document", [[], {"measure": None}, {"measure": 3}])
def test_a_manifest_without_a_scenario_is_named(small: SimpleNamespace, tmp_path: Path, document: object) -> None:
    folder = write(tmp_path / "run", small.tables)
    (folder / "manifest.json").write_text(json.dumps({"document": document}))
    with pytest.raises(ResultError, match=r"manifest\.json does not say from when and until when"):
        measure_of(folder)


def test_runs_whose_tables_a_sweep_has_kept_are_found_by_variant(sweep: Maker, tmp_path: Path) -> None:
    folder = write_sweep(tmp_path / "sweep", sweep({"range": [1.0], "static": [1.0]}))
    assert load_kept(folder) == {"range": folder / "runs/0", "static": folder / "runs/1"}
    assert load_kept(write(tmp_path / "run", {"summary": sweep({"": [1.0]})})) == {}


def write_run(folder: Path, tables: Mapping[str, pd.DataFrame]) -> Path:
    """A result folder as a run leaves it: with its tables' digests."""
    arrow = {name: pa.Table.from_pandas(frame, schema(name), preserve_index=False) for name, frame in tables.items()}
    files = {f"{name}.parquet": parquet(one.replace_schema_metadata(None)) for name, one in arrow.items()}
    digests = {name: digest_of(one) for name, one in arrow.items()}
    write_files(folder, {**files, "manifest.json": json.dumps({"digests": digests}).encode()})
    return folder


@pytest.mark.parametrize("name", ["summary", "lag", "ownership"])
def test_a_table_of_another_run_is_named(small: SimpleNamespace, tmp_path: Path, name: str) -> None:
    folder = write_run(tmp_path / "run", small.tables)
    assert len(load_result(folder).tables["summary"]) == len(load_summary(folder, ["losses"]))
    less = {one: frame.iloc[:-1] for one, frame in small.tables.items()}
    (folder / f"{name}.parquet").write_bytes((write_run(tmp_path / "other", less) / f"{name}.parquet").read_bytes())
    readers: list[Callable[[], object]] = [lambda: load_result(folder), lambda: table(folder, name)]
    if name == "summary":
        readers += [lambda: load_summary(folder), lambda: load_summary(folder, ["losses"])]
    for read in readers:
        with pytest.raises(
            ResultError, match=rf"{name}\.parquet is not the table that manifest\.json .* another run's"
        ):
            read()


def test_a_table_with_other_columns_than_were_written_is_named(small: SimpleNamespace, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", small.tables)
    small.tables["lag"].assign(lag_us=[[1]] * len(small.tables["lag"])).to_parquet(folder / "lag.parquet", index=False)
    with pytest.raises(ResultError, match=r"lag\.parquet is not the table that manifest\.json"):
        load_result(folder)


def test_a_manifest_whose_digests_are_none_is_named(small: SimpleNamespace, tmp_path: Path) -> None:
    folder = write(tmp_path / "run", small.tables)
    (folder / "manifest.json").write_text(json.dumps({"digests": ["lag"]}))
    with pytest.raises(ResultError, match=r"manifest\.json does not list its tables"):
        load_summary(folder)
