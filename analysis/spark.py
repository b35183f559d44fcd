"""The aggregates and comparisons of `analysis.stats` and `analysis.compare` on Spark, for runs beyond memory.

They read the ``summary/`` of a sweep's folder, with the DataFrame API alone, so that Spark Connect works. What comes
back is small, a row per variant, group and metric, and equal to what pandas computes, but for quantiles: their rank is
off by at most n / ``ACCURACY``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from groupsim.analysis.compare.comparison import Comparison, adjusted
from groupsim.analysis.compare.pairing import Absent
from groupsim.analysis.data.load import RUN
from groupsim.analysis.data.metrics import HEADLINE, metric
from groupsim.analysis.errors import NotPairable, ResultError
from groupsim.analysis.stats.aggregates import COLUMNS, QUANTILES, described
from groupsim.analysis.stats.differences import difference_of_pairs
from groupsim.analysis.stats.statistics import Moments
from groupsim.sim.tables import FLOAT, INT, SUMMARY, TEXT

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import Column, DataFrame, SparkSession

ACCURACY: Final = 10_000
"""Of quantiles. Source: Spark's ``approx_percentile``, whose error of a rank is 1 / accuracy."""
LONELY_MAX: Final = 10_000
"""More runs without a partner than this are refused unseen."""

_SQL: Final = {TEXT: "string", INT: "bigint", FLOAT: "double"}
_KEYS: Final = ["variant", "group", "seed", "replication"]
Record: TypeAlias = Mapping[str, Any]


def aggregates(spark: SparkSession, dataset: str, metrics: Sequence[str] = HEADLINE) -> pd.DataFrame:
    """A row per variant, group and metric, as ``analysis.stats.aggregates.aggregates`` has them, variants by name.

    Parameters
    ----------
    dataset : str
        The ``summary`` folder of a sweep, or its URL.

    Raises
    ------
    ResultError
        A metric is unknown.
    """
    import pandas as pd
    from pyspark.sql import functions as f

    runs = _runs(spark, dataset, metrics)
    values = runs.unpivot(["variant", "group"], list(metrics), "metric", "value")
    quantiles = f.percentile_approx("value", list(QUANTILES), ACCURACY).alias("quantiles")
    found = values.groupBy("variant", "group", "metric").agg(*_moments(f.col("value"), ""), quantiles)
    rows = [
        (row["variant"], row["group"], row["metric"], one.n, one.missing, *described(one), *_quantiles(row))
        for row in _ordered(found, metrics)
        for one in [_moments_in(row, "")]
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(dict.fromkeys(COLUMNS[:3], "string"))


def compare_variants(
    spark: SparkSession,
    dataset: str,
    baseline: str,
    metrics: Sequence[str] = HEADLINE,
    absent: Absent | None = None,
) -> tuple[Comparison, ...]:
    """Every other variant against the baseline, run by run, as `comparison.compare_variants`; by name.

    Parameters
    ----------
    dataset : str
        The ``summary`` folder of a sweep, or its URL.
    absent : mapping of str to runs, optional
        Runs that a variant lacks for a known reason (``analysis.data.load.load_absent``): their partners are left out.

    Raises
    ------
    NotPairable
        A variant and the baseline do not consist of the same runs, or a run is there twice.
    ResultError
        A metric or the baseline is unknown.
    """
    from pyspark.sql import functions as f

    runs = _runs(spark, dataset, metrics)
    _require_alike(runs, baseline)
    pairs = _pairs(runs, baseline, metrics)
    _require_partners(pairs, baseline, absent or {})
    values = pairs.select("variant", "group", f.explode(_triples(metrics)).alias("one")).select(
        "variant", "group", "one.metric", *_known("one.a", "one.b")
    )
    found = values.groupBy("variant", "group", "metric").agg(
        *(column for name in ("a", "b", "d") for column in _moments(f.col(name), name)),
        f.count_if(f.col("d") < 0).alias("lower"),
        f.count_if(f.col("d") > 0).alias("higher"),
    )
    return adjusted(_comparison(row, baseline) for row in _ordered(found, metrics))


def _runs(spark: SparkSession, dataset: str, metrics: Sequence[str]) -> DataFrame:
    """The runs with their metrics as doubles, null for no value; variants are text whatever they look like."""
    from pyspark.sql import functions as f

    wanted = {metric(name).name: SUMMARY[name] for name in metrics}
    schema = ", ".join(f"`{name}` {_SQL[SUMMARY[name]]}" for name in dict.fromkeys([*RUN, *wanted]))
    read = spark.read.schema(schema).parquet(dataset)
    values = [f.nanvl(f.col(name).cast("double"), f.lit(None).cast("double")).alias(name) for name in wanted]
    variant = f.coalesce("variant", f.lit("")).alias("variant")
    return read.select(variant, *map(f.col, ("group", "seed", "replication", "horizon_s")), *values)


def _moments(value: Column, name: str) -> list[Column]:
    """The columns of which ``_moments_in`` makes moments."""
    from pyspark.sql import functions as f

    measures = {
        "n": f.count(value), "missing": f.count_if(value.isNull()), "mean": f.mean(value),
        "deviation": f.stddev_samp(value), "low": f.min(value), "high": f.max(value),
    }  # fmt: skip
    return [column.alias(f"{name}_{measure}") for measure, column in measures.items()]


def _moments_in(row: Record, name: str) -> Moments:
    def number(measure: str) -> float:
        value = row[f"{name}_{measure}"]
        return float("nan") if value is None else float(value)

    floats = (number(measure) for measure in ("mean", "deviation", "low", "high"))
    return Moments(row[f"{name}_n"], row[f"{name}_missing"], *floats)


def _quantiles(row: Record) -> list[float]:
    return [float("nan")] * len(QUANTILES) if row["quantiles"] is None else list(row["quantiles"])


def _ordered(found: DataFrame, metrics: Sequence[str]) -> list[Record]:
    order = {name: at for at, name in enumerate(metrics)}
    return sorted(_collected(found), key=lambda row: (row["variant"], row["group"], order[row["metric"]]))


def _collected(found: DataFrame) -> list[Record]:
    """The rows, variants under their own names.

    Spark takes each byte of a name that is escaped in the folder's name for a character (``%C3%BC`` is two): so far as
    that can have happened it is undone.
    """
    return [row.asDict() | {"variant": _own_name(row["variant"])} for row in found.collect()]


def _own_name(variant: str) -> str:
    try:
        return variant.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return variant


def _is(baseline: str) -> Column:
    """Whether a run is of the baseline, whose name Spark may have misread (see ``_collected``)."""
    from pyspark.sql import functions as f

    return f.col("variant").isin(baseline, baseline.encode("utf-8").decode("latin-1"))


def _require_alike(runs: DataFrame, baseline: str) -> None:
    """Check that every variant has the baseline's groups and horizon, and each run once."""
    from pyspark.sql import functions as f

    counted = runs.groupBy("variant", "group").agg(
        f.count("*").alias("n"),
        f.count_distinct("seed", "replication").alias("distinct"),
        f.min("horizon_s").alias("least_s"),
        f.max("horizon_s").alias("most_s"),
    )
    kinds: dict[str, set[tuple[Any, ...]]] = {}
    for row in _collected(counted):
        if row["n"] > row["distinct"]:
            raise NotPairable(f"{row['variant']} holds a run of group {row['group']} more than once")
        kinds.setdefault(row["variant"], set()).add((row["group"], row["least_s"], row["most_s"]))
    if baseline not in kinds:
        raise ResultError(f"unknown baseline {baseline!r}; there are {len(kinds)} variants")
    for variant, kind in kinds.items():
        if kind != kinds[baseline]:
            raise NotPairable(f"{variant} and {baseline} cannot be paired: different group or horizon")


def _pairs(runs: DataFrame, baseline: str, metrics: Sequence[str]) -> DataFrame:
    """Each run of another variant as ``a`` beside the baseline's as ``b``, null where one of the two is not there."""
    from pyspark.sql import functions as f

    others = runs.where(~_is(baseline))
    a = others.select(*_KEYS, f.lit(True).alias("has_a"), *(f.col(name).alias(f"a_{name}") for name in metrics))
    base = runs.where(_is(baseline)).drop("variant")
    b = others.select("variant").distinct().crossJoin(base)
    b = b.select(*_KEYS, f.lit(True).alias("has_b"), *(f.col(name).alias(f"b_{name}") for name in metrics))
    return a.join(b, _KEYS, "full_outer")


def _require_partners(pairs: DataFrame, baseline: str, absent: Absent) -> None:
    """Check that every run that has no partner lacks it for a known reason."""
    from pyspark.sql import functions as f

    alone = pairs.where(f.col("has_a").isNull() | f.col("has_b").isNull())
    found = _collected(alone.select(*_KEYS, "has_a").limit(LONELY_MAX + 1))
    if len(found) > LONELY_MAX:
        raise NotPairable(f"more than {LONELY_MAX:,} runs have no partner in {baseline}, or of it no partner")
    for row in found:
        having, lacking = (row["variant"], baseline) if row["has_a"] else (baseline, row["variant"])
        if (row["seed"], row["replication"]) not in absent.get(lacking, ()):
            raise NotPairable(
                f"{row['variant']} and {baseline} cannot be paired: different seed and replication: "
                f"only {having} has seed {row['seed']} replication {row['replication']}"
            )


def _triples(metrics: Sequence[str]) -> Column:
    """Of each metric its name and its two values, as an array of structs."""
    from pyspark.sql import functions as f

    return f.array(
        *(
            f.struct(f.lit(name).alias("metric"), f.col(f"a_{name}").alias("a"), f.col(f"b_{name}").alias("b"))
            for name in metrics
        )
    )


def _known(a: str, b: str) -> Iterator[Column]:
    """Both values and their difference where both are there, null otherwise."""
    from pyspark.sql import functions as f

    both = f.col(a).isNotNull() & f.col(b).isNotNull()
    for name, value in (("a", f.col(a)), ("b", f.col(b)), ("d", f.col(a) - f.col(b))):
        yield f.when(both, value).alias(name)


def _comparison(row: Record, baseline: str) -> Comparison:
    a, b, difference = (_moments_in(row, name) for name in ("a", "b", "d"))
    outcome = difference_of_pairs(difference, a, b, row["lower"], row["higher"])
    constant = a.n > 1 and not a.missing and a.low == a.high and b.low == b.high
    return Comparison(row["group"], row["variant"], baseline, metric(row["metric"]), outcome, constant=constant)
