"""``groupsim sweep`` and ``groupsim compare``, in one process."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from groupsim.analysis.data.load import load_summary
from groupsim.sim.output.result import digest
from groupsim.sim.tables import TABLES
from tests.support import fake_simulation as fake
from tests.support.command_line import SCENARIO, CommandLine
from tests.support.frames import to_frame

SWEEP = """
scenario: small.yaml
variants: {few: {}, many: {groups.billing.members.count: 3}}
replications: 3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(SCENARIO)
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    return tmp_path


@pytest.fixture(autouse=True)
def _fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groupsim.sim.simulate", fake.simulate, raising=False)


@pytest.fixture
def simulator(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., object]], None]:
    return lambda simulate: monkeypatch.setattr("groupsim.sim.simulate", simulate, raising=False)


class TestSweep:
    def test_tells_means_by_variant_and_what_to_do_next(self, groupsim: CommandLine, folder: Path) -> None:
        told = groupsim("sweep", folder / "sweep.yaml", "--inline", "--out", folder / "out")
        assert told.code == 0
        assert "few" in told.out
        assert "many" in told.out
        assert "3 runs each" in told.out
        assert max(map(len, told.out.splitlines())) <= 80
        assert f"groupsim compare {folder / 'out'}" in told.said
        for variant in ("few", "many"):
            assert f"warning: {variant}, replication 0: one thing to know" in told.said

    @pytest.mark.parametrize(("limit_s", "is_told"), [(30.0, False), (0.6, True)])
    def test_says_before_it_begins_how_long_it_takes_on_a_machine_that_has_other_work(
        self, groupsim: CommandLine, folder: Path, simulator: Callable[[Callable[..., object]], None],
        monkeypatch: pytest.MonkeyPatch, limit_s: float, is_told: bool,
    ) -> None:  # fmt: skip
        """Runs that wait take more time than processor time."""

        def waiting(scenario: Any, **run: Any) -> object:
            time.sleep(0.2)
            return fake.simulate(scenario, **run)

        simulator(waiting)
        monkeypatch.setattr("groupsim.scenarios.cli.sweep_report._LONG_S", limit_s)
        told = groupsim("sweep", folder / "sweep.yaml", "--inline", "--out", folder / "out")
        first = told.err.splitlines()[:2]
        assert first[0] == "6 runs of 2 variants, in this process"
        assert first[1].startswith("a long sweep: about ") is is_told

    def test_writes_summary_failures_kept_runs_and_manifest(self, groupsim: CommandLine, folder: Path) -> None:
        groupsim("sweep", folder / "sweep.yaml", "--inline", "--out", folder / "out")
        out = folder / "out"
        assert load_summary(out)["variant"].to_list() == ["few"] * 3 + ["many"] * 3
        assert not (out / "failures").exists()
        manifest = json.loads((out / "manifest.json").read_text())
        for variant in ("few", "many"):
            own = to_frame(pq.ParquetFile(out / f"summary/variant={variant}/part-0000000.parquet").read())
            assert manifest["variants"][variant]["digests"]["summary"] == digest(own)
        assert {"python", "groupsim"} < set(manifest["versions"])
        assert (manifest["runs"], manifest["failed"], manifest["executor"]) == (6, 0, "in process")
        assert manifest["variants"]["many"]["set"] == {"groups.billing.members.count": 3}
        kept = out / manifest["variants"]["many"]["kept"]
        assert {path.stem for path in kept.glob("*.parquet")} == set(TABLES)

    def test_in_json(self, groupsim: CommandLine, folder: Path) -> None:
        told = groupsim("sweep", folder / "sweep.yaml", "--inline", "--out", folder / "out", "--json").json
        assert (told["sweep"], told["runs"], told["failed"], told["out"]) == ("sweep", 6, 0, str(folder / "out"))
        assert [row["variant"] for row in told["summary"]] == ["few", "many"]
        assert told["summary"][0]["requests"]["n"] == 3

    def test_of_goals_begins_with_their_columns_and_names_who_met_them_in_every_run(
        self, groupsim: CommandLine, folder: Path
    ) -> None:
        """The faked numbers lie between 0 and 100."""
        goals = 'goals: {losses: "< 0", recovery_s: "< 1000", recovery_lag_records: 5}'
        (folder / "small.yaml").write_text(f"{SCENARIO}{goals}\n")
        told = groupsim("sweep", folder / "sweep.yaml", "--inline", "--out", folder / "out")
        assert told.code == 0
        assert told.out.split()[:3] == ["variant", "losses", "recovery"]
        assert "losses < 0: met in every run by no variant\n" in told.out
        assert "recovery_s < 1000: met in every run by all 2 variants\n" in told.out
        again = groupsim("sweep", folder / "sweep.yaml", "--inline", "--out", folder / "json", "--json").json
        assert [one["met_by"] for one in again["goals"]] == [[], ["few", "many"]]

    def test_a_goal_is_met_by_no_variant_of_which_a_run_failed(
        self, groupsim: CommandLine, folder: Path, simulator: Callable[[Callable[..., object]], None]
    ) -> None:
        (folder / "small.yaml").write_text(f'{SCENARIO}goals: {{losses: ">= 0"}}\n')
        simulator(fake.fail_on_second)
        told = groupsim("sweep", folder / "sweep.yaml", "--inline", "--out", folder / "out")
        assert "losses >= 0: met in every run by no variant\n" in told.out

    def test_goes_on_after_a_failed_run(
        self, groupsim: CommandLine, folder: Path, simulator: Callable[..., None]
    ) -> None:
        simulator(fake.fail_on_second)
        told = groupsim("sweep", folder / "sweep.yaml", "--inline", "--out", folder / "out")
        assert told.code == 3
        failures = pq.read_table(folder / "out" / "failures").to_pylist()
        assert [(row["variant"], row["replication"]) for row in failures] == [("few", 1), ("many", 1)]
        assert failures[1]["replay"] == (
            f"groupsim run {folder}/small.yaml --set groups.billing.members.count=3 --seed 1 --replication 1"
        )
        assert failures[1]["replay"] in told.said
        assert "2 runs of 6 failed" in told.said
        assert len(load_summary(folder / "out")) == 4

    def test_in_which_all_runs_fail_is_told(
        self, groupsim: CommandLine, folder: Path, simulator: Callable[..., None]
    ) -> None:
        simulator(lambda *_, **__: 1 / 0)
        told = groupsim("sweep", folder / "sweep.yaml", "--inline", "--out", folder / "out")
        assert told.code == 3
        assert told.err.count("replay:") == 5
        assert "6 runs of 6 failed" in told.said

    @pytest.mark.parametrize("given", [("--master", "yarn"), ("--remote", "sc://a:1"), ("--conf", "a=b")])
    def test_with_and_without_spark_at_once_is_refused(
        self, groupsim: CommandLine, folder: Path, given: tuple[str, str]
    ) -> None:
        told = groupsim("sweep", folder / "sweep.yaml", "--inline", "--out", folder / "out", *given)
        assert (told.code, told.said) == (2, f"error: --inline runs without Spark: leave out --inline, or {given[0]}\n")

    def test_dry_run_checks_and_writes_nothing(self, groupsim: CommandLine, folder: Path) -> None:
        told = groupsim("sweep", folder / "sweep.yaml", "--inline", "--out", folder / "out", "--dry-run")
        assert told.code == 0
        assert [line.split()[0] for line in told.out.splitlines()[2:4]] == ["few", "many"]
        assert "6 runs: 2 variants, 3 replications each; all valid" in told.out
        assert not (folder / "out").exists()

    def test_interrupted_keeps_what_is_done_and_says_how_to_go_on(
        self, groupsim: CommandLine, folder: Path, simulator: Callable[..., None]
    ) -> None:
        def interrupted(scenario: object, *, replication: int, **rest: object) -> object:
            if replication == 1:
                raise KeyboardInterrupt
            return fake.simulate(scenario, replication=replication, **rest)  # type: ignore[arg-type]

        simulator(interrupted)
        told = groupsim("sweep", folder / "sweep.yaml", "--inline", "--out", folder / "out")
        assert told.code == 130
        assert told.err.endswith(
            f"0 runs done, kept in {folder}/out: the same command with --resume goes on\ninterrupted\n"
        )
        simulator(fake.simulate)
        assert groupsim("sweep", folder / "sweep.yaml", "--inline", "--out", folder / "out").code == 2
        again = groupsim("sweep", folder / "sweep.yaml", "--inline", "--out", folder / "out", "--resume")
        assert again.code == 0
        assert len(load_summary(folder / "out")) == 6


class TestWrongInput:
    @pytest.mark.parametrize(
        ("sweep", "arguments", "says"),
        [
            (SWEEP + "seeds: 3\n", [], "seeds"),
            (SWEEP.replace("billing.members", "biling.members"), [], "billing"),
            (SWEEP.replace("count: 3", "count: none"), [], "many"),
            (SWEEP.replace("small.yaml", "smal.yaml"), [], "smal.yaml"),
            (SWEEP, ["--master", "local[*]", "--frobnicate"], "--frobnicate"),
        ],
    )
    def test_is_told_in_words_before_anything_runs(
        self, groupsim: CommandLine, folder: Path, sweep: str, arguments: list[str], says: str
    ) -> None:
        (folder / "sweep.yaml").write_text(sweep)
        told = groupsim("sweep", folder / "sweep.yaml", "--inline", "--out", folder / "out", *arguments)
        assert told.code == 2
        assert told.out == ""
        assert says in told.said
        assert "Traceback" not in told.err
        assert not (folder / "out").exists()

    def test_is_a_folder_that_is_taken(self, groupsim: CommandLine, folder: Path) -> None:
        told = groupsim("sweep", folder / "sweep.yaml", "--inline", "--out", folder)
        assert told.code == 2
        assert "not empty" in told.said

    def test_is_no_folder_at_all(self, groupsim: CommandLine, folder: Path) -> None:
        told = groupsim("sweep", folder / "sweep.yaml", "--inline")
        assert told.code == 2
        assert "--out" in told.said

    def test_is_no_java_and_the_remedy_is_told(
        self, groupsim: CommandLine, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("JAVA_HOME", str(folder))
        told = groupsim("sweep", folder / "sweep.yaml", "--out", folder / "out")
        assert told.code == 2
        assert "openjdk-17" in told.said
        assert "--inline" in told.said
        assert not (folder / "out").exists()


class TestCompare:
    @pytest.fixture
    def out(self, groupsim: CommandLine, folder: Path) -> Path:
        groupsim("sweep", folder / "sweep.yaml", "--inline", "--out", folder / "out")
        return folder / "out"

    def test_variants_of_a_sweep(self, groupsim: CommandLine, out: Path) -> None:
        told = groupsim("compare", out)
        assert told.code == 0
        assert told.out.startswith("many (A) against few (B):\n")
        assert "95 %" in told.out
        assert "\n\n  longest gap  " in told.out
        assert all(line == line.rstrip() and len(line) <= 80 for line in told.out.splitlines())

    def test_in_json_has_one_record_a_metric(self, groupsim: CommandLine, out: Path) -> None:
        told = groupsim("compare", out, "--json").json
        assert told[0]["metric"] == "unavailable_gap_s_max"
        assert {"a", "b", "group", "difference", "difference ±", "p_holm"} < set(told[0])
        assert told[0]["sentence"].startswith("longest gap: ")

    def test_results_of_single_runs(self, groupsim: CommandLine, folder: Path) -> None:
        for name, count in (("two", 2), ("three", 3)):
            setting = f"groups.billing.members.count={count}"
            groupsim("run", folder / "small.yaml", "--set", setting, "--out", folder / name)
        told = groupsim("compare", folder / "two", folder / "three")
        assert told.code == 0
        assert told.out.startswith("three (A) against two (B):\n")

    @pytest.mark.parametrize("missing", ["nowhere", "small.yaml"])
    def test_of_what_is_no_result_is_refused(self, groupsim: CommandLine, folder: Path, missing: str) -> None:
        told = groupsim("compare", folder / missing)
        assert told.code == 2
        assert missing in told.said
        assert "Traceback" not in told.err

    def test_of_one_result_with_itself_is_refused(self, groupsim: CommandLine, folder: Path) -> None:
        groupsim("run", folder / "small.yaml", "--out", folder / "one")
        told = groupsim("compare", folder / "one", folder / "." / "nowhere" / ".." / "one")
        assert (told.code, told.out) == (2, "")
        assert told.err.endswith("is named twice: name each folder once\n")

    def test_of_one_result_tells_its_numbers(self, groupsim: CommandLine, folder: Path) -> None:
        groupsim("run", folder / "small.yaml", "--out", folder / "out")
        told = groupsim("compare", folder / "out")
        assert told.code == 0
        assert "longest gap" in told.out
        assert "nothing to compare with: the only variant is 'out'" in told.said
