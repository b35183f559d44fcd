from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pandas as pd
import pytest

from groupsim.analysis.compare.comparison import compare_variants
from groupsim.analysis.compare.overview import overview, overviews
from groupsim.analysis.data.design import Design, design_of

Maker = Callable[..., pd.DataFrame]
GAP = ["unavailable_gap_s_max"]
NOISE = (0.0, 0.3, -0.2, 0.1, -0.2)


def crossed(sweep: Maker, **offsets: list[float]) -> tuple[pd.DataFrame, Design]:
    """Bundles crossed with as many values of t as offsets; each adds its offset, and noise of its own, to 10 s."""
    names = {
        f"{bundle}, t={t}": (i, offset)
        for i, (bundle, some) in enumerate(offsets.items())
        for t, offset in enumerate(some)
    }
    gaps = {name: [10 + offset + r + (i + 1) * NOISE[r] for r in range(5)] for name, (i, offset) in names.items()}
    variants = {name: {"set": {"t": int(name[-1])}} for name in names}
    document = {"design": "grid", "variants": dict.fromkeys(offsets), "vary": {"t": []}}
    return sweep(gaps), design_of(document, variants)


def test_bundles_are_put_together_over_all_values(sweep: Maker) -> None:
    summary, design = crossed(sweep, range=[0.0] * 4, static=[-5.0, -3.0, 0.0, 4.0])
    (one,) = overviews(compare_variants(summary, metrics=GAP, design=design), design)
    assert (one.a, one.b, one.group, len(one.comparisons)) == ("static", "range", "billing", 4)
    assert (one.count("A better"), one.count("A worse"), one.shown) == (2, 1, 3)
    assert [end.a for end in one.extremes] == ["static, t=0", "static, t=3"]


def test_the_table_counts_and_the_words_say_where(sweep: Maker) -> None:
    summary, design = crossed(sweep, range=[0.0] * 4, static=[-5.0, -3.0, 0.0, 4.0])
    (section,) = overview(compare_variants(summary, metrics=GAP, design=design), design)
    assert section.title == "static (A) against range (B)"
    assert section.table.headers == ("metric", "unit", "better", "worse", "none", "A - B, from", "to")
    assert section.table.rows == [("longest gap", "s", "2", "1", "1", "-5.00", "4.00")]
    assert section.findings == (("longest gap", "lowest at t=0, highest at t=3"),)


def test_points_of_a_sample_are_told_by_their_values(sweep: Maker) -> None:
    summary, design = crossed(sweep, range=[0.0] * 3, static=[-5.0, 0.0, 4.0])
    numbers = {name: re.sub("t=", "p000", name) for name in design.places}
    sampled = replace(design, kind="sobol", places={numbers[name]: one for name, one in design.places.items()})
    summary["variant"] = summary["variant"].map(numbers).astype("string")
    (section,) = overview(compare_variants(summary, metrics=GAP, design=sampled), sampled)
    assert section.findings == (("longest gap", "lowest at p0000 (t=0), highest at p0002 (t=2)"),)


def test_without_bundles_all_others_stand_against_the_baseline(sweep: Maker) -> None:
    summary, _ = crossed(sweep, range=[0.0, 5.0, 6.0])
    (section,) = overview(compare_variants(summary, metrics=["joins"]), None)
    assert section.title == "all others (A) against range, t=0 (B)"
    assert section.table.rows == [("joins", "", "-", "-", "2", "0", "0")]
    assert section.findings == ()  # nothing is shown


def test_a_metric_without_values_has_no_ends(sweep: Maker) -> None:
    summary, design = crossed(sweep, range=[0.0, 1.0], static=[0.0, 1.0])
    (section,) = overview(compare_variants(summary, metrics=["recovery_s"], design=design), design)
    assert section.table.rows == [("recovery", "s", "0", "0", "2", "-", "-")]


def test_each_group_has_a_section(sweep: Maker) -> None:
    summary, design = crossed(sweep, range=[0.0, 1.0], static=[0.0, 1.0])
    both = pd.concat([summary, summary.assign(group="audit").astype(summary.dtypes)])
    titles = [one.title for one in overview(compare_variants(both, metrics=GAP, design=design), design)]
    assert sorted(titles) == [
        "static (A) against range (B), group audit",
        "static (A) against range (B), group billing",
    ]


@pytest.mark.parametrize("width", [80, None])
def test_an_overview_fits_80_characters(sweep: Maker, width: int | None) -> None:
    summary, design = crossed(sweep, range=[1e6] * 3, static=[-5e6, -3e6, 4e6])
    (section,) = overview(compare_variants(summary, design=design), design, width)
    assert len(section.table.rows) == 8
    assert sum(max(map(len, cells)) + 2 for cells in zip(section.table.headers, *section.table.rows, strict=True)) <= 80
