"""Production rates: every form, as the simulator takes it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from groupsim.scenarios.schema.rates import RateField, RateForm
from groupsim.sim.model import Rate
from groupsim.sim.units import MINUTE, S

RATE: TypeAdapter[RateForm] = TypeAdapter(RateField)
HOUR = 60 * MINUTE


def _rate(value: Any, partitions: int = 3, horizon_us: int = HOUR, folder: Path | None = None) -> Rate:
    return RATE.validate_python(value, context={"folder": folder or Path()}).rate(partitions, horizon_us)


def _reasons(value: Any, folder: Path | None = None) -> str:
    with pytest.raises(ValidationError) as caught:
        RATE.validate_python(value, context={"folder": folder or Path()})
    return "\n".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in caught.value.errors())


def _steps(*steps: tuple[int, tuple[int, ...]]) -> Rate:
    return Rate(times_us=tuple(at for at, _ in steps), per_partition_mrps=tuple(row for _, row in steps))


def test_a_rate_per_partition_holds_for_all_of_them() -> None:
    assert _rate({"per_partition": 0.5}) == _steps((0, (500,)))


def test_a_total_is_shared_equally() -> None:
    shared = replace(_steps((0, (2500,) * 4)), total_per_s=10.0)
    assert _rate({"total": 10}, partitions=4) == shared


def test_zipf_makes_the_first_partition_the_hottest() -> None:
    shared = replace(_steps((0, (6000, 3000, 2000))), total_per_s=11.0, zipf=1.0)
    assert _rate({"total": 11, "zipf": 1}) == shared


@given(st.floats(0, 1e6), st.floats(0, 3), st.integers(1, 200))
def test_shares_add_up_to_the_total(total: float, zipf: float, partitions: int) -> None:
    rate = _rate({"total": total, "zipf": zipf}, partitions)
    (row,) = rate.per_partition_mrps
    assert list(row) == sorted(row, reverse=True)
    assert sum(row) == pytest.approx(total * 1000, abs=partitions)


def test_steps_are_taken_as_they_are() -> None:
    assert _rate({"steps": [["0s", 50], ["10min", [1, 2, 3]]]}) == _steps(
        (0, (50_000,)), (10 * MINUTE, (1000, 2000, 3000))
    )


def test_steps_must_fit_the_partitions() -> None:
    form = RATE.validate_python({"steps": [["0s", [1, 2]]]})
    with pytest.raises(ValueError, match="a step has 2 rates for 3 partitions"):
        form.rate(3, HOUR)


def test_a_diurnal_rate_is_a_sine_in_96_steps_a_period() -> None:
    rate = _rate({"diurnal": {"mean": 100, "amplitude": 0.5, "period": "96min"}}, horizon_us=192 * MINUTE)
    rows = np.array([row[0] for row in rate.per_partition_mrps])
    assert list(np.diff(rate.times_us)) == [MINUTE] * 191
    assert rows[:96].mean() == pytest.approx(100_000, abs=1)
    assert rows[23] == rows[24] == pytest.approx(150_000, rel=1e-3)
    assert rows[71] == rows[72] == pytest.approx(50_000, rel=1e-3)
    assert (rows[:96] == rows[96:]).all()


def test_the_phase_of_a_diurnal_rate_shifts_it_forward() -> None:
    wave = {"mean": 100, "period": "24h"}
    late = _rate({"diurnal": {**wave, "phase": "6h"}}, horizon_us=24 * HOUR)
    early = _rate({"diurnal": wave}, horizon_us=24 * HOUR)
    assert late.per_partition_mrps[0] == early.per_partition_mrps[24]


def test_the_step_of_a_diurnal_rate_can_be_chosen() -> None:
    assert _rate({"diurnal": {"mean": 1, "step": "6h"}}, horizon_us=24 * HOUR).times_us == tuple(
        6 * HOUR * i for i in range(4)
    )


def test_a_burst_comes_once() -> None:
    burst = {"base": 10, "peak": 100, "at": "5min", "for": "30s"}
    assert _rate({"burst": burst}) == _steps((0, (10_000,)), (300 * S, (100_000,)), (330 * S, (10_000,)))


def test_a_burst_at_the_start_replaces_the_base() -> None:
    burst = {"base": 10, "peak": 100, "at": "0s", "for": "30s"}
    assert _rate({"burst": burst}) == _steps((0, (100_000,)), (30 * S, (10_000,)))


def test_bursts_come_again_and_again_until_the_horizon() -> None:
    burst = {"base": 0, "peak": 1, "every": "20min", "for": "1min"}
    assert _rate({"burst": burst}).times_us == tuple(minute * MINUTE for minute in (0, 20, 21, 40, 41))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (50, "must be a rate: a mapping with one of per_partition, total"),
        ({"per_partiton": 50}, "did you mean 'per_partition'?"),
        ({"per_partition": 1, "total": 2}, "only one of per_partition, total at a time"),
        ({"per_partition": -1}, "per_partition: Input should be greater than or equal to 0"),
        ({"per_partition": "50"}, "per_partition: Input should be a valid number"),
        ({"per_partition": 1e10}, "per_partition: Input should be less than or equal to 1000000000"),
        ({"per_partition": 1, "zipf": 1}, "zipf: is no key of this mapping"),
        ({"total": 1, "zipf": -1}, "zipf: Input should be greater than or equal to 0"),
        ({"steps": []}, "steps: List should have at least 1 item"),
        ({"steps": [["0s"]]}, "steps.0: must be a pair of an instant and a rate"),
        ({"steps": [[0, 5]]}, "steps.0.0: a duration needs a unit"),
        ({"steps": [["0s", "5"]]}, "steps.0.1: must be records per second"),
        ({"steps": [["0s", []]]}, "steps.0.1: must be records per second"),
        ({"steps": [["1s", 5]]}, "the first step must be at 0s"),
        ({"steps": [["0s", 5], ["2s", 5], ["2s", 6]]}, "ascending order"),
        ({"diurnal": {"mean": 1, "amplitude": 2}}, "diurnal.amplitude: Input should be less than or equal to 1"),
        ({"diurnal": {"mean": 1, "period": "0s"}}, "diurnal: step must be above 0s"),
        ({"diurnal": {"mean": 1, "period": "1h", "step": "50min"}}, "at most half of period"),
        ({"burst": {"base": 1, "peak": 2, "for": "1s"}}, "burst: needs exactly one of at and every"),
        ({"burst": {"base": 1, "peak": 2, "for": "1s", "at": "1s", "every": "3s"}}, "exactly one of at and every"),
        ({"burst": {"base": 1, "peak": 2, "for": "3s", "every": "3s"}}, "every must be above for"),
        ({"burst": {"base": 1, "peak": 2, "for": "0s", "at": "3s"}}, "burst.for: Input should be greater than 0"),
    ],
)
def test_what_is_no_rate_is_told_where_and_why(value: Any, reason: str) -> None:
    assert reason in _reasons(value)


def test_too_many_steps_are_refused() -> None:
    form = RATE.validate_python({"diurnal": {"mean": 1, "period": "1s", "step": "1ms"}})
    with pytest.raises(ValueError, match="more than 100000 steps"):
        form.rate(1, HOUR)


# --- recorded rates ---------------------------------------------------------------------------------------------------


def test_a_recorded_rate_for_all_partitions(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("time_s,rate\n0,50\n60.5,70.25\n", encoding="utf-8")
    assert _rate({"csv": "r.csv"}, folder=tmp_path) == _steps((0, (50_000,)), (60_500_000, (70_250,)))


def test_recorded_rates_by_partition_hold_until_their_next_row(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("time_s,partition,rate\n0,2,5\n0,0,1\n10,0,2\n", encoding="utf-8")
    assert _rate({"csv": "r.csv"}, folder=tmp_path) == _steps((0, (1000, 0, 5000)), (10 * S, (2000, 0, 5000)))


def test_a_recorded_rate_becomes_steps_that_read_back(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("time_s,rate\n0,50\n60,70\n", encoding="utf-8")
    form = RATE.validate_python({"csv": "r.csv"}, context={"folder": tmp_path})
    data = RATE.dump_python(form, mode="json", by_alias=True)
    assert data == {"steps": [["0s", [50.0]], ["1min", [70.0]]]}
    assert RATE.validate_python(data) == form


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "needs the columns time_s,rate or time_s,partition,rate"),
        ("time_s,rate\n", "at least one row"),
        ("time,rate\n0,1\n", "needs the columns"),
        ("time_s,rate\n0,x\n", "row 2: must be numbers"),
        ("time_s,rate\n0,1_0\n", "row 2: must be numbers"),
        ("time_s,rate\n٠,1\n", "row 2: must be numbers"),
        ("time_s,partition,rate\n0,1_0,1\n", "row 2: must be numbers"),
        ("time_s,partition,rate\n0,1.0,1\n", "row 2: must be numbers"),
        ("time_s,rate\n0\n", "row 2: must be an instant, and a rate from 0 on"),
        ("time_s,rate\n0,-1\n", "row 2: must be an instant, and a rate from 0 on"),
        ("time_s,partition,rate\n0,0,1\n5,a,1\n", "row 3: must be numbers"),
        ("time_s,partition,rate\n0,-2,1\n", "row 2: must be an instant, a partition, and a rate"),
        ("time_s,rate\n5,1\n", "the first step must be at 0s"),
        ("time_s,rate\n0,1\n9,1\n5,1\n", "ascending order"),
        ("time_s,rate\n0,1\n9,1\n0,1\n", "ascending order"),
        ("time_s,partition,rate\n0,-1,1\n", "row 2: must be an instant, a partition, and a rate"),
    ],
)
def test_a_recording_that_is_none_is_refused(text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(text, encoding="utf-8")
    assert reason in _reasons({"csv": "r.csv"}, tmp_path)
