from __future__ import annotations

from collections.abc import Callable
from math import isnan

import pandas as pd
import pytest
from scipy import stats

from groupsim.analysis.compare.comparison import compare, compare_variants
from groupsim.analysis.data.design import design_of
from groupsim.analysis.errors import NotPairable, ResultError

GAP = ["unavailable_gap_s_max"]
Maker = Callable[..., pd.DataFrame]


def part(summary: pd.DataFrame, variant: str) -> pd.DataFrame:
    return summary[summary["variant"] == variant]


def test_variants_are_paired_by_seed_and_replication_not_by_position(sweep: Maker) -> None:
    summary = sweep({"range": [10.0, 20.0, 30.0], "static": [9.0, 18.0, 27.0]})
    shuffled = pd.concat([part(summary, "static").iloc[::-1], part(summary, "range")])
    (one,) = compare_variants(shuffled, "range", GAP)
    assert (one.a, one.b, one.outcome.difference.mean) == ("static", "range", -2.0)
    assert one.outcome.difference.half_width == pytest.approx(
        4.302652730 * 1.0 / 3**0.5
    )  # differences -1, -2, -3: s = 1
    assert one.a_better == 1.0


def test_a_shown_difference_is_said_with_its_interval(sweep: Maker) -> None:
    summary = sweep({"range": [10.0, 20.0, 30.0, 40.0, 50.0], "static": [8.0, 17.9, 28.1, 38.0, 48.0]})
    (one,) = compare_variants(summary, "range", GAP)
    assert one.conclusive
    assert one.sentence == "longest gap: static is lower than range by 2.000 ± 0.088 s (95 %), in 5 of 5 pairs."


def test_no_shown_difference_is_bounded(sweep: Maker) -> None:
    summary = sweep({"range": [10.0, 20.0, 30.0], "static": [10.5, 19.5, 30.0]})
    (one,) = compare_variants(summary, "range", GAP)
    # differences 0.5, -0.5, 0: mean 0, s = 0.5, half-width 4.3027 * 0.5 / sqrt(3) = 1.242
    assert not one.conclusive
    assert one.sentence == (
        "longest gap: no difference larger than 1.24 s between static and range at 95 %, and none is shown "
        "(static better in 1 of 3 pairs)."
    )


def test_what_is_no_summary_is_told(sweep: Maker) -> None:
    summary = sweep({"range": [10.0, 20.0]})
    for other, told in (
        (summary.drop(columns=["seed", "losses"]), r"a summary to compare: missing column\(s\) seed, losses"),
        ("a folder", r"compare takes the tables summary, such as .*: this is a str"),
    ):
        for pair in ((summary, other), (other, summary)):
            with pytest.raises(ResultError, match=told):
                compare(*pair, ["losses"])


def test_one_pair_concludes_nothing(sweep: Maker) -> None:
    (one,) = compare_variants(sweep({"range": [10.0], "static": [7.0]}), "range", GAP)
    assert (one.outcome.difference.half_width, one.conclusive) == (None, False)
    assert one.sentence.endswith("lower than range by 3 s in the only pair; one pair cannot tell chance from effect.")


def test_constant_variants_are_said_to_be_constant(sweep: Maker) -> None:
    summary = sweep({"range": [10.0] * 4, "same": [10.0] * 4, "static": [7.0] * 4})
    same, static = compare_variants(summary, "range", GAP)
    assert same.sentence == "longest gap: no difference in all 4 pairs; the seed makes no difference to either."
    assert "lower than range by exactly 3 s in all 4 pairs; the seed makes no difference" in static.sentence
    assert (static.p_holm, static.outcome.difference.half_width) == (None, 0.0)


def test_a_constant_difference_between_varying_runs_has_no_interval(sweep: Maker) -> None:
    (one,) = compare_variants(sweep({"range": [10.0, 20.0], "static": [7.0, 17.0]}), "range", GAP)
    assert one.sentence.endswith("by exactly 3 s in all 2 pairs; without spread there is no interval.")


def test_the_correction_takes_back_what_chance_explains(sweep: Maker) -> None:
    base = [10.0, 20.0, 30.0, 40.0]
    near = {f"v{i}": [b + d for b, d in zip(base, (1.0, 2.0, 1.5, 0.5), strict=True)] for i in range(10)}
    everything = compare_variants(sweep({"range": base, **near}), "range", GAP)
    alone = compare_variants(sweep({"range": base, "v0": near["v0"]}), "range", GAP)
    assert alone[0].conclusive
    assert not any(one.conclusive for one in everything)
    assert "after correction for all comparisons (p = 0.03, adjusted 0.3)" in everything[0].sentence


def test_runs_without_a_value_are_left_out_and_said(sweep: Maker) -> None:
    summary = sweep({"range": [10.0, 20.0, 30.0], "static": [9.0, 18.0, 27.0]})
    summary["recovery_s"] = [5.0, float("nan"), 7.0, 4.0, 5.0, 5.0]
    (one,) = compare_variants(summary, "range", ["recovery_s"])
    assert (one.outcome.difference.n, one.outcome.difference.missing) == (2, 1)
    assert "1 left out: a value is missing" in one.sentence


def test_a_metric_nobody_has_a_value_of_compares_to_nothing(sweep: Maker) -> None:
    (one,) = compare_variants(sweep({"range": [1.0, 2.0], "static": [1.0, 2.0]}), "range", ["recovery_s"])
    assert one.sentence == "recovery: nothing to compare: no run of static and none of range has a value."


def test_a_baseline_without_a_value_leaves_the_means_of_the_others(sweep: Maker) -> None:
    summary = sweep({"range": [1.0, 2.0], "static": [1.0, 2.0]})
    summary["recovery_s"] = [float("nan"), float("nan"), 4.0, 6.0]
    (one,) = compare_variants(summary, "range", ["recovery_s"])
    assert (one.outcome.mean_a, isnan(one.outcome.mean_b), one.outcome.sizes) == (5.0, True, (0, 0))
    assert one.sentence == "recovery: nothing to compare: no run of range has a value."


def test_runs_that_have_values_by_turns_make_no_pair(sweep: Maker) -> None:
    summary = sweep({"range": [1.0, 2.0], "static": [1.0, 2.0]})
    summary["recovery_s"] = [3.0, float("nan"), float("nan"), 6.0]
    (one,) = compare_variants(summary, "range", ["recovery_s"])
    assert one.sentence == "recovery: nothing to compare: no pair has a value in both static and range."


def test_more_of_a_neutral_metric_is_not_better(sweep: Maker) -> None:
    (one,) = compare_variants(sweep({"range": [1.0, 2.0], "static": [1.0, 2.0]}), "range", ["joins"])
    assert one.a_better is None


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("horizon_s", 60.0, "different horizon: only range has horizon_s 600.0; only static has horizon_s 60.0"),
        ("group", "audit", "different group: only range has group billing; only static has group audit"),
    ],
)
def test_different_runs_are_not_pairs(sweep: Maker, column: str, value: object, reason: str) -> None:
    summary = sweep({"range": [1.0, 2.0], "static": [1.0, 2.0]})
    other = part(summary, "static").assign(**{column: value}).astype(summary.dtypes)
    with pytest.raises(NotPairable, match=f"range and static cannot be paired: {reason}"):
        compare(part(summary, "range"), other, GAP)


def test_more_replications_on_one_side_are_not_pairs(sweep: Maker) -> None:
    with pytest.raises(NotPairable, match="only range has seed 1 replication 2"):
        compare_variants(sweep({"range": [1.0, 2.0, 3.0], "static": [1.0, 2.0]}), "range", GAP)


def test_a_run_that_is_there_twice_is_not_paired(sweep: Maker) -> None:
    summary = sweep({"range": [1.0, 2.0], "static": [1.0, 2.0]})
    twice = pd.concat([part(summary, "range")] * 2)
    with pytest.raises(NotPairable, match="range holds seed 1, replication 0 more than once"):
        compare(twice, part(summary, "static"), GAP)


def test_a_group_without_all_runs_is_not_paired(sweep: Maker) -> None:
    summary = sweep({"range": [1.0, 2.0], "static": [1.0, 2.0]})
    both = pd.concat([summary, summary.assign(group="audit").astype(summary.dtypes)])
    holey = both[(both["variant"] == "range") | (both["group"] == "billing") | (both["replication"] == 0)]
    with pytest.raises(
        NotPairable, match="different seed and replication of group audit: only range has seed 1 replication 1"
    ):
        compare_variants(holey, "range", GAP)


def test_each_group_is_compared_for_itself(sweep: Maker) -> None:
    summary = sweep({"range": [1.0, 2.0], "static": [1.0, 2.5]})
    audit = summary.assign(group="audit").astype(summary.dtypes)
    audit["unavailable_gap_s_max"] *= 10
    found = compare_variants(pd.concat([summary, audit]), "range", GAP)
    assert {one.group: one.outcome.difference.mean for one in found} == {"billing": 0.25, "audit": 2.5}


def test_all_pairs_that_cannot_be_compared_are_told(sweep: Maker) -> None:
    summary = sweep({"range": [1.0, 2.0], **{f"v{i}": [1.0] for i in range(7)}})
    with pytest.raises(NotPairable) as refused:
        compare_variants(summary, "range", GAP)
    lines = str(refused.value).splitlines()
    assert lines[0].startswith("v0 and range cannot be paired")
    assert (len(lines), lines[-1]) == (6, "and 2 more")


def test_variants_without_a_common_run_are_independent_samples(sweep: Maker) -> None:
    summary = sweep({"range": [10.0, 20.0, 30.0, 40.0], "static": [1.0, 2.0, 3.0]})
    summary.loc[summary["variant"] == "static", "seed"] = 2
    (one,) = compare_variants(summary, "range", GAP)
    expected = stats.ttest_ind([1.0, 2.0, 3.0], [10.0, 20.0, 30.0, 40.0], equal_var=False)
    assert (one.outcome.paired, one.outcome.sizes, one.a_better) == (False, (3, 4), 1.0)
    assert one.outcome.p_value == pytest.approx(expected.pvalue)
    assert one.sentence == "longest gap: static is lower than range by 23 ± 20 s (95 %), from 3 and 4 independent runs."


def test_other_replications_of_the_same_seed_are_independent(sweep: Maker) -> None:
    summary = sweep({"range": [10.0, 20.0], "static": [1.0, 2.0]})
    summary.loc[summary["variant"] == "static", "replication"] += 2
    (one,) = compare_variants(summary, "range", GAP)
    assert not one.outcome.paired
    assert "(2 and 2 independent runs)" in one.sentence


def test_single_independent_runs_conclude_nothing(sweep: Maker) -> None:
    summary = sweep({"range": [10.0], "static": [7.0]})
    summary.loc[1, "seed"] = 2
    (one,) = compare_variants(summary, "range", GAP)
    assert (one.outcome.difference.half_width, one.conclusive) == (None, False)
    assert "by 3 s in 1 and 1 independent runs; one run cannot tell chance from effect" in one.sentence


def test_partners_of_failed_runs_are_left_out_and_counted(sweep: Maker) -> None:
    summary = sweep({"range": [10.0, 20.0, 30.0, 99.0], "static": [9.0, 99.0, 27.0, 38.0]})
    kept = summary.drop(index=[3, 5])  # range lost its replication 3, static its replication 1
    (one,) = compare_variants(kept, "range", GAP, absent={"range": {(1, 3)}, "static": {(1, 1)}})
    assert (one.outcome.difference.n, one.outcome.difference.missing, one.outcome.difference.mean) == (2, 2, -2.0)
    with pytest.raises(NotPairable, match="only static has seed 1 replication 3"):
        compare_variants(kept, "range", GAP, absent={"static": {(1, 1)}})


def test_bundles_are_compared_at_equal_values(sweep: Maker) -> None:
    values = {"range, t=1": [1.0, 2.0], "range, t=2": [5.0, 7.0], "static, t=1": [2.0, 4.0], "static, t=2": [4.0, 7.0]}
    variants = {name: {"set": {"t": int(name[-1])}} for name in values}
    design = design_of({"design": "grid", "variants": {"range": {}, "static": {}}, "vary": {"t": [1, 2]}}, variants)
    found = compare_variants(sweep(values), metrics=GAP, design=design)
    assert [(one.a, one.b) for one in found] == [("static, t=1", "range, t=1"), ("static, t=2", "range, t=2")]
    assert [one.outcome.difference.mean for one in found] == [1.5, -0.5]
    assert [one.b for one in compare_variants(sweep(values), "range, t=1", GAP, design)] == ["range, t=1"] * 3


def test_two_folders_of_the_same_variant_are_told_apart(sweep: Maker) -> None:
    one = sweep({"range": [1.0, 2.0]})
    (found,) = compare(one, one, GAP)
    assert (found.a, found.b) == ("range (A)", "range (B)")


def test_what_cannot_be_compared_says_what_can(sweep: Maker) -> None:
    summary = sweep({"range": [1.0], "static": [1.0]})
    with pytest.raises(ResultError, match="unknown baseline 'statc'; did you mean 'static'"):
        compare_variants(summary, "statc", GAP)
    with pytest.raises(ResultError, match="unknown baseline 'x'; variants are: range, static"):
        compare_variants(summary, "x", GAP)
    with pytest.raises(ResultError, match="did you mean 'recovery_s'"):
        compare_variants(summary, "range", ["recovery"])
    with pytest.raises(ResultError, match="the only variant is 'range'"):
        compare_variants(part(summary, "range"))
    with pytest.raises(ResultError, match="no runs"):
        compare_variants(summary.head(0))
    with pytest.raises(NotPairable, match="A holds several variants: range, static"):
        compare(summary, summary, GAP)
