"""``groupsim compare`` on folders of sweeps and of results."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from groupsim.sim.tables import FLOAT, SUMMARY, TEXT
from tests.support.command_line import CommandLine
from tests.support.sweep_folder import write_sweep

TIMEOUT = "groups.billing.config[session.timeout.ms]"
BUNDLES = ("range", "static")


def runs(variant: str, gaps: Iterable[float], **others: Any) -> pd.DataFrame:
    """Runs with these longest gaps; everything else is zero."""
    listed = list(gaps)
    columns: dict[str, Any] = {c: "" if kind == TEXT else 0.0 if kind == FLOAT else 0 for c, kind in SUMMARY.items()}
    columns |= {
        "scenario": "deploy", "variant": variant, "group": "billing", "seed": 1, "replication": range(len(listed)),
        "horizon_s": 600.0, "unavailable_gap_s_max": listed, **others,
    }  # fmt: skip
    return pd.DataFrame(columns, index=range(len(listed)))


def crossed(
    folder: Path, values: Iterable[Any], bundles: tuple[str, ...] = BUNDLES, design: str = "grid", **others: Any
) -> Path:
    """A sweep of bundles and timeouts: the gap is the timeout and a second more in each further bundle, and noise."""
    variants: dict[str, Mapping[str, Any]] = {
        ", ".join(filter(None, (bundle, f"session.timeout.ms={value}"))): {TIMEOUT: value}
        for bundle in bundles or ("",)
        for value in values
    }
    noise = (0.0, 0.3, -0.2, 0.1)
    parts = [
        runs(name, [own[TIMEOUT] / 1000 + i // len(list(values)) + r + i % 3 * noise[r] for r in range(4)], **others)
        for i, (name, own) in enumerate(variants.items())
    ]
    document = {"variants": dict.fromkeys(bundles), "vary": {TIMEOUT: []}, "design": design}
    return write_sweep(folder, pd.concat(parts), variants, document=document)


class TestChoice:
    def test_bundles_are_compared_at_equal_values(self, groupsim: CommandLine, tmp_path: Path) -> None:
        told = groupsim("compare", crossed(tmp_path / "out", [10000, 20000]), "--json").json
        assert {(one["a"], one["b"]) for one in told} == {
            ("static, session.timeout.ms=10000", "range, session.timeout.ms=10000"),
            ("static, session.timeout.ms=20000", "range, session.timeout.ms=20000"),
        }
        assert len(told) == 16

    def test_of_metrics(self, groupsim: CommandLine, tmp_path: Path) -> None:
        chosen = ["--metric", "losses", "--metric", "recovery_s", "--metric", "losses"]
        told = groupsim("compare", crossed(tmp_path / "out", [10000]), *chosen, "--json").json
        assert [one["metric"] for one in told] == ["losses", "recovery_s"]

    def test_of_single_variants_sets_aside_the_values(self, groupsim: CommandLine, tmp_path: Path) -> None:
        named = ["--variant", "static, session.timeout.ms=20000", "--variant", "range, session.timeout.ms=10000"]
        told = groupsim("compare", crossed(tmp_path / "out", [10000, 20000]), *named, "--json").json
        assert {(one["a"], one["b"]) for one in told} == {(named[3], named[1])}

    def test_of_bundles_may_be_named_with_a_comma(self, groupsim: CommandLine, tmp_path: Path) -> None:
        out = crossed(tmp_path / "out", [10000, 20000])
        told = groupsim("compare", out, "--variant", "range,static", "--json").json
        assert told == groupsim("compare", out, "--variant", "range", "--variant", "static", "--json").json

    def test_of_a_baseline(self, groupsim: CommandLine, tmp_path: Path) -> None:
        out = crossed(tmp_path / "out", [10000, 20000])
        by_bundle = groupsim("compare", out, "--baseline", "static", "--json").json
        assert {one["b"].partition(",")[0] for one in by_bundle} == {"static"}
        by_variant = groupsim("compare", out, "--baseline", "static, session.timeout.ms=20000", "--json").json
        assert len({one["a"] for one in by_variant}) == 3

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["--variant", "statc"], "unknown variant 'statc'; did you mean 'static'?"),
            (["--baseline", "statc"], "unknown baseline 'statc'; did you mean 'static'?"),
            (["--metric", "losess"], "unknown metric 'losess'; did you mean 'losses'?"),
            (["--variant", "range, session.timeout.ms=10000"], "nothing to compare: the only variant is"),
            (["--json", "--csv"], "exclude one another"),
        ],
    )
    def test_of_what_there_is_not_is_told(
        self, groupsim: CommandLine, tmp_path: Path, arguments: list[str], says: str
    ) -> None:
        told = groupsim("compare", crossed(tmp_path / "out", [10000, 20000]), *arguments)
        assert (told.code, told.out) == (2, "")
        assert says in told.said
        assert "Traceback" not in told.err


class TestOfASingleRun:
    @pytest.fixture
    def out(self, groupsim: CommandLine, tmp_path: Path) -> Path:
        groupsim("run", "kill-detection", "--out", tmp_path / "mine")
        return tmp_path / "mine"

    def test_tells_its_numbers_and_draws_it(self, groupsim: CommandLine, out: Path, tmp_path: Path) -> None:
        told = groupsim("compare", out, "--figures", tmp_path / "drawn")
        assert told.code == 0
        assert "longest gap" in told.out
        assert "nothing to compare with: the only variant is 'mine'" in told.said
        assert {path.name for path in (tmp_path / "drawn").iterdir()} == {
            "compare.png", "mine-lag.png", "mine-timeline.png",
        }  # fmt: skip

    def test_that_is_damaged_is_told_with_the_file(self, groupsim: CommandLine, out: Path, tmp_path: Path) -> None:
        whole = {file.name: file.read_bytes() for file in out.iterdir()}
        damages = (
            ("lag.parquet", whole["lag.parquet"][:200]),
            ("states.parquet", whole["lag.parquet"]),
            ("events.parquet", b""),
            ("ownership.parquet", None),
            ("summary.parquet", whole["summary.parquet"][:-1] + b"0"),
            ("manifest.json", None),
            ("manifest.json", b'{"digests": 5}'),
        )
        for number, (name, content) in enumerate(damages):
            (out / name).unlink() if content is None else (out / name).write_bytes(content)
            told = groupsim("compare", out, "--figures", tmp_path / str(number))
            assert (told.code, name in told.said, "Traceback" in told.err) == (2, True, False), name
            assert not (tmp_path / str(number)).exists()
            (out / name).write_bytes(whole[name])

    def test_has_every_form(self, groupsim: CommandLine, out: Path) -> None:
        assert groupsim("compare", out, "--json").json[0]["metric"] == "unavailable_gap_s_max"
        assert groupsim("compare", out, "--csv").out.startswith("metric,unit,")
        assert groupsim("compare", out, "--markdown").out.startswith("| metric | unit |")


class TestOutput:
    def test_fits_80_characters(self, groupsim: CommandLine, tmp_path: Path) -> None:
        told = groupsim("compare", crossed(tmp_path / "out", [10000, 20000]))
        assert (told.code, told.err) == (0, "")
        assert "static, session.timeout.ms=20000 (A) against" in told.out
        assert "verdicts are corrected for 2 tests at once (Holm); intervals stand alone" in told.out
        assert "common faults cut the variance of A - B by" in told.out
        assert all(line == line.rstrip() and len(line) <= 80 for line in told.out.splitlines())

    def test_as_csv_has_a_line_per_comparison_in_base_units(self, groupsim: CommandLine, tmp_path: Path) -> None:
        told = groupsim("compare", crossed(tmp_path / "out", [10000, 20000]), "--csv")
        rows = list(csv.DictReader(io.StringIO(told.out)))
        assert len(rows) == 16
        assert (rows[0]["unit"], float(rows[0]["difference"]), rows[0]["paired"]) == ("s", pytest.approx(1.1), "True")
        assert rows[0]["sentence"].startswith("longest gap: static, session.timeout.ms=10000 is higher")

    def test_as_markdown_has_tables_and_conclusions(self, groupsim: CommandLine, tmp_path: Path) -> None:
        lines = groupsim("compare", crossed(tmp_path / "out", [10000]), "--markdown").out.splitlines()
        assert lines[0] == "**static, session.timeout.ms=10000 (A) against range, session.timeout.ms=10000 (B)**"
        assert lines[2].startswith("| metric | unit |")
        assert lines[3].count("---") == lines[2].count("|") - 1
        assert any(line.startswith("- longest gap: higher by") for line in lines)
        assert any(line.startswith("verdicts are corrected") for line in lines)

    def test_of_many_comparisons_is_an_overview(self, groupsim: CommandLine, tmp_path: Path) -> None:
        out = crossed(tmp_path / "out", range(1000, 40000, 1000))
        told = groupsim("compare", out)
        assert len(told.out.splitlines()) < 30
        assert "how many of 39 comparisons show A better, A worse, and neither" in told.out
        assert "312 comparisons: an overview; --variant NAME narrows them down" in told.said
        assert len(groupsim("compare", out, "--json").json) == 312
        assert "| better | worse | none |" in groupsim("compare", out, "--markdown").out


class TestRuns:
    def test_without_common_faults_are_independent(self, groupsim: CommandLine, tmp_path: Path) -> None:
        parts = [runs("range", [1.0, 2.0, 3.0], seed=5), runs("static", [4.0, 5.5, 6.0], seed=6)]
        told = groupsim("compare", write_sweep(tmp_path / "out", pd.concat(parts)))
        assert "3 runs each without common faults: independent (Welch)" in told.out
        assert "common faults cut" not in told.out

    def test_that_failed_are_told_and_left_out_with_their_partners(self, groupsim: CommandLine, tmp_path: Path) -> None:
        parts = [runs("range", [1.0, 2.0, 3.5]), runs("static", [4.0, 5.0, 6.0]).drop(index=1)]
        lost = [("static", 1, 1), *(("starved", 1, r) for r in range(3))]
        variants: dict[str, Mapping[str, Any]] = {"range": {}, "static": {}, "starved": {}}
        told = groupsim("compare", write_sweep(tmp_path / "out", pd.concat(parts), variants, lost))
        assert told.code == 0
        assert "2 pairs of runs with the same faults" in told.out
        assert "of 2 pairs, 1 left out: a value is missing" in " ".join(told.out.split())
        assert told.err.splitlines() == [
            "warning: starved is left out: all its runs (3) failed",
            "warning: 1 run failed: left out, as are the runs that they would be paired with",
        ]

    def test_beyond_those_of_the_partner_are_left_out(self, groupsim: CommandLine, tmp_path: Path) -> None:
        parts = [runs("range", [1.0, 2.0, 3.5, 4.0]), runs("static", [4.0, 5.5])]
        until = {"replications": {"until": {"metric": "losses", "half_width": "5%"}}}
        told = groupsim("compare", write_sweep(tmp_path / "out", pd.concat(parts), document=until))
        assert told.code == 0
        said = " ".join(told.err.split())
        assert said == "warning: some variants needed fewer runs than others: runs without a counterpart are left out"
        assert "2 pairs of runs with the same faults" in told.out

    def test_of_other_scenarios_are_told(self, groupsim: CommandLine, tmp_path: Path) -> None:
        parts = [runs("range", [1.0, 2.0]), runs("static", [4.0, 5.0], scenario="kill")]
        told = groupsim("compare", write_sweep(tmp_path / "out", pd.concat(parts)))
        assert told.code == 0
        assert "several scenarios (deploy, kill): runs share faults as far as" in told.said

    def test_that_only_partly_agree_are_refused(self, groupsim: CommandLine, tmp_path: Path) -> None:
        folders = [tmp_path / "a", tmp_path / "b"]
        for folder, gaps in zip(folders, ([1.0, 2.0, 3.0], [4.0, 5.0]), strict=True):
            write_sweep(folder, runs("range", gaps))
        told = groupsim("compare", *folders)
        assert (told.code, told.out) == (2, "")
        assert "b/range and a/range cannot be paired: different seed and replication: only a/range has" in told.said

    def test_of_an_unfinished_sweep_are_refused(self, groupsim: CommandLine, tmp_path: Path) -> None:
        out = crossed(tmp_path / "out", [10000])
        (out / "manifest.json").unlink()
        told = groupsim("compare", out)
        assert told.code == 2
        assert told.said.startswith(f"error: {out}: the sweep is unfinished")
        assert "--resume finishes it" in told.said


class TestFigures:
    def test_show_intervals_and_responses(self, groupsim: CommandLine, tmp_path: Path) -> None:
        out = crossed(tmp_path / "out", [10000, 20000])
        groupsim("compare", out, "--metric", "unavailable_gap_s_max", "--figures", tmp_path / "figures")
        assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == ["compare.png", "curves.png"]

    def test_of_many_variants_leave_out_intervals_and_say_so(self, groupsim: CommandLine, tmp_path: Path) -> None:
        out = crossed(tmp_path / "out", range(1000, 100000, 1000), bundles=())
        told = groupsim("compare", out, "--metric", "losses", "--figures", tmp_path / "figures")
        assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == ["curves.png"]
        assert "no figure of intervals: 99 rows are more than it has room for (80)" in told.said


class TestSamples:
    @pytest.fixture
    def out(self, tmp_path: Path) -> Path:
        return crossed(tmp_path / "out", range(1000, 31000, 1000), bundles=(), design="latin_hypercube")

    def test_have_nothing_to_be_compared_with(self, groupsim: CommandLine, out: Path, tmp_path: Path) -> None:
        told = groupsim("compare", out)
        assert (told.code, told.out) == (2, "")
        assert "the 30 variants are points of a latin_hypercube design" in told.said
        assert "--figures DIR draws how each metric responds; --baseline NAME" in told.said
        morris = crossed(tmp_path / "morris", [1000, 2000], bundles=(), design="morris")
        assert "groupsim sensitivity ranks what varies" in groupsim("compare", morris).said

    def test_are_drawn(self, groupsim: CommandLine, out: Path, tmp_path: Path) -> None:
        told = groupsim("compare", out, "--metric", "losses", "--figures", tmp_path / "figures")
        assert (told.code, told.out) == (0, "")
        assert "no table: the 30 variants are points" in told.said
        assert (tmp_path / "figures" / "curves.png").exists()

    def test_are_compared_with_a_point_that_is_named(self, groupsim: CommandLine, out: Path) -> None:
        told = groupsim("compare", out, "--baseline", "session.timeout.ms=5000", "--metric", "losses", "--json")
        assert len(told.json) == 29

    def test_of_bundles_are_compared_point_by_point(self, groupsim: CommandLine, tmp_path: Path) -> None:
        out = crossed(tmp_path / "crossed", range(1000, 31000, 1000), design="latin_hypercube")
        told = groupsim("compare", out)
        assert "static (A) against range (B)" in told.out
        assert "how many of 30 comparisons" in told.out
