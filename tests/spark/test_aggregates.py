"""Aggregates and comparisons on Spark: what pandas computes from the same runs, quantiles within the stated error."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from groupsim.analysis import spark as on_spark
from groupsim.analysis.compare import comparison as compare
from groupsim.analysis.data.columns import floats
from groupsim.analysis.errors import NotPairable, ResultError
from groupsim.analysis.stats import aggregates as in_memory
from groupsim.scenarios.spark.session import Where, open_session
from groupsim.sim.tables import FLOAT, SUMMARY, TEXT
from tests.support.spark_cluster import connect_server, environment
from tests.support.sweep_folder import write_dataset

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
METRICS = ["unavailable_gap_s_max", "rebalances", "recovery_s", "rscore", "partitions_moved"]
VARIANTS = ["range", "010", "groups.x=1, a/b 100 %", "übergröße"]
RUNS = 2_000


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with open_session(Where("local[2]")) as session:
        session.conf.set("spark.sql.shuffle.partitions", "2")  # 200 by default, for a few thousand rows
        yield session


def runs_of(variant: str, group: str, runs: int = RUNS) -> pd.DataFrame:
    """Runs that share what chance gives them with the same runs of other variants, up to noise of their own."""
    own = np.random.default_rng([*variant.encode(), len(group)])
    shared = np.random.default_rng(len(group)).lognormal(size=runs)
    gap = shared * (1 + 0.1 * VARIANTS.index(variant)) + own.normal(scale=0.05, size=runs)
    columns: dict[str, Any] = {c: "" if kind == TEXT else 0.0 if kind == FLOAT else 0 for c, kind in SUMMARY.items()}
    columns |= {
        "scenario": "deploy", "variant": variant, "group": group, "seed": 7, "replication": np.arange(runs),
        "horizon_s": 600.0, "unavailable_gap_s_max": gap, "rebalances": own.integers(1, 9, runs),
        "recovery_s": np.where(own.random(runs) < 0.2, np.nan, gap), "rscore": np.nan, "partitions_moved": 3,
    }  # fmt: skip
    return pd.DataFrame(columns, index=range(runs))


def write(folder: Path, summary: pd.DataFrame) -> str:
    write_dataset(folder, "summary", summary.sample(frac=1, random_state=1))
    return str(folder / "summary")


@pytest.fixture(scope="module")
def summary() -> pd.DataFrame:
    return pd.concat([runs_of(variant, group) for variant in VARIANTS for group in ("audit", "billing")])


@pytest.fixture(scope="module")
def dataset(summary: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("sweep"), summary)


def test_aggregates_are_those_of_pandas(spark: SparkSession, dataset: str, summary: pd.DataFrame) -> None:
    there = on_spark.aggregates(spark, dataset, METRICS)
    order = ["variant", "group"]
    here = in_memory.aggregates(summary, METRICS).sort_values(order, kind="stable", ignore_index=True)
    quantiles = [in_memory.column_of(q) for q in in_memory.QUANTILES]
    pd.testing.assert_frame_equal(there.drop(columns=quantiles), here.drop(columns=quantiles), rtol=1e-9)
    assert len(there) == len(VARIANTS) * 2 * len(METRICS)


def test_quantiles_are_as_near_as_stated(spark: SparkSession, dataset: str, summary: pd.DataFrame) -> None:
    there = on_spark.aggregates(spark, dataset, ["unavailable_gap_s_max", "recovery_s"])
    for row in there.to_dict("records"):
        part = summary[(summary["variant"] == row["variant"]) & (summary["group"] == row["group"])]
        values = floats(part, row["metric"])
        ordered = np.sort(values[~np.isnan(values)])
        slack = len(ordered) / on_spark.ACCURACY + 1
        for quantile in in_memory.QUANTILES:
            rank = np.searchsorted(ordered, row[in_memory.column_of(quantile)], side="right")
            assert abs(rank - quantile * len(ordered)) <= slack


def test_a_metric_without_values_has_none(spark: SparkSession, dataset: str) -> None:
    (row, *_) = on_spark.aggregates(spark, dataset, ["rscore"]).to_dict("records")
    assert (row["n"], row["missing"]) == (0, RUNS)
    assert all(math.isnan(row[name]) for name in ("mean", "half_width", "deviation", "min", "max", "q05", "q95"))


@pytest.mark.parametrize("baseline", ["range", "übergröße"])
def test_comparisons_are_those_of_pandas(
    spark: SparkSession, dataset: str, summary: pd.DataFrame, baseline: str
) -> None:
    there = on_spark.compare_variants(spark, dataset, baseline, METRICS)
    here = compare.compare_variants(summary.sort_values("variant", kind="stable"), baseline, METRICS)
    assert [(one.a, one.b, one.group, one.metric) for one in there] == [
        (one.a, one.b, one.group, one.metric) for one in here
    ]
    for one, other in zip(there, here, strict=True):
        assert flat(one) == pytest.approx(flat(other), rel=1e-6, nan_ok=True)
        assert one.sentence == other.sentence


def flat(one: compare.Comparison) -> dict[str, Any]:
    """The numbers of a comparison, by name; NaN for None."""
    outcome = asdict(one.outcome)
    difference, (n_a, n_b) = outcome.pop("difference"), outcome.pop("sizes")
    told = {**difference, **outcome, "n_a": n_a, "n_b": n_b, "p_holm": one.p_holm, "constant": one.constant}
    return {name: math.nan if value is None else value for name, value in told.items()}


def test_partners_of_runs_that_are_absent_are_left_out(spark: SparkSession, tmp_path: Path) -> None:
    base, other = runs_of("range", "billing", 30), runs_of("010", "billing", 30)
    summary = pd.concat([other.drop(index=[3, 4]), base.drop(index=[9])])
    absent = {"010": {(7, 3), (7, 4)}, "range": {(7, 9)}}
    (there,) = on_spark.compare_variants(spark, write(tmp_path, summary), "range", METRICS[:1], absent)
    (here,) = compare.compare_variants(summary, "range", METRICS[:1], absent=absent)
    assert (there.outcome.difference.n, there.outcome.difference.missing) == (27, 3)
    assert flat(there) == pytest.approx(flat(here), rel=1e-9)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda runs: runs.drop(index=[3]), "only range has seed 7 replication 3"),
        (lambda runs: runs.assign(group="audit"), "different group or horizon"),
        (lambda runs: runs.assign(horizon_s=60.0), "different group or horizon"),
        (lambda runs: pd.concat([runs, runs.head(1)]), "010 holds a run of group billing more than once"),
    ],
    ids=["run", "group", "horizon", "twice"],
)
def test_what_is_not_pairable_is_refused(spark: SparkSession, tmp_path: Path, change: Any, reason: str) -> None:
    dataset = write(tmp_path, pd.concat([runs_of("range", "billing", 9), change(runs_of("010", "billing", 9))]))
    with pytest.raises(NotPairable, match=reason):
        on_spark.compare_variants(spark, dataset, "range", METRICS[:1])


def test_what_is_unknown_is_refused(spark: SparkSession, dataset: str) -> None:
    with pytest.raises(ResultError, match="unknown baseline 'rnage'"):
        on_spark.compare_variants(spark, dataset, "rnage", METRICS[:1])
    with pytest.raises(ResultError, match="did you mean 'rebalances'"):
        on_spark.aggregates(spark, dataset, ["rebalance"])


PROGRAM = """
import sys
from groupsim.analysis.spark import aggregates, compare_variants
from groupsim.scenarios.spark.session import Where, open_session

url, dataset = sys.argv[1:]
with open_session(Where(url)) as spark:
    rows = aggregates(spark, dataset, ["rebalances"]).to_dict("records")
    print([(row["variant"], row["n"]) for row in rows])
    print([one.outcome.difference.n for one in compare_variants(spark, dataset, "range", ["rebalances"])])
"""


@pytest.mark.slow
def test_works_with_spark_connect(tmp_path: Path) -> None:
    dataset = write(tmp_path / "sweep", pd.concat([runs_of("range", "billing", 9), runs_of("010", "billing", 9)]))
    with connect_server(tmp_path) as url:
        told = subprocess.run(
            [sys.executable, "-c", PROGRAM, url, dataset], cwd=tmp_path, capture_output=True, text=True, timeout=120,
            env={**environment(tmp_path), "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
    assert (told.returncode, told.stdout) == (0, "[('010', 9), ('range', 9)]\n[9]\n"), told.stderr
