from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd
import pytest

from groupsim.analysis.errors import ResultError
from groupsim.analysis.stats.aggregates import COLUMNS, aggregates

Maker = Callable[..., pd.DataFrame]


def test_aggregates_are_those_of_the_textbook(sweep: Maker) -> None:
    summary = sweep({"range": [3.0, 5.0, 7.0, 9.0], "static": [1.0] * 4})
    found = aggregates(summary, ["unavailable_gap_s_max", "rebalances"])
    assert tuple(found.columns) == COLUMNS
    assert list(found["variant"]) == ["range", "range", "static", "static"]
    assert list(found["metric"]) == ["unavailable_gap_s_max", "rebalances"] * 2
    first = found.iloc[0]
    # s^2 = (9 + 1 + 1 + 9) / 3; t(0.975, 3) = 3.182446
    assert first["deviation"] == pytest.approx(math.sqrt(20 / 3))
    assert first["half_width"] == pytest.approx(3.182446305 * math.sqrt(20 / 3) / 2)
    assert (first["n"], first["missing"], first["mean"], first["min"], first["max"]) == (4, 0, 6.0, 3.0, 9.0)
    assert found.iloc[2]["half_width"] == 0.0


def test_a_quantile_is_the_least_value_that_its_share_does_not_exceed(sweep: Maker) -> None:
    (row,) = aggregates(sweep({"a": [float(i) for i in range(1, 21)]}), ["unavailable_gap_s_max"]).to_dict("records")
    assert [row[name] for name in ("q05", "q25", "q50", "q75", "q95")] == [1.0, 5.0, 10.0, 15.0, 19.0]


def test_what_is_missing_is_counted_and_left_out(sweep: Maker) -> None:
    summary = sweep({"a": [1.0, 2.0, 3.0]}).assign(recovery_s=[4.0, math.nan, math.nan])
    one, none = aggregates(summary, ["recovery_s", "rscore"]).to_dict("records")
    assert (one["n"], one["missing"], one["mean"], one["q50"]) == (1, 2, 4.0, 4.0)
    assert math.isnan(one["half_width"])
    assert math.isnan(one["deviation"])
    assert (none["n"], none["missing"]) == (0, 3)
    assert all(math.isnan(none[name]) for name in ("mean", "min", "max", "q05", "q95"))


def test_an_unknown_metric_is_refused(sweep: Maker) -> None:
    with pytest.raises(ResultError, match="did you mean 'rebalances'"):
        aggregates(sweep({"a": [1.0]}), ["rebalance"])
