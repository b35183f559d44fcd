"""Which metrics of a run are told first."""

from __future__ import annotations

import pytest

from groupsim.analysis.data.metrics import COST, HEADLINE, headline_of

PRICED = {"cross_rack_bytes": 10, "cross_rack_cost_per_month": 0.0}


@pytest.mark.parametrize(
    ("row", "besides"),
    [
        ({}, ()),
        ({"aborted_share": None, "cross_rack_cost_per_month": None}, ()),
        ({"aborted_share": 0.0}, ("aborted_share",)),
        (PRICED, COST),
        ({**PRICED, "aborted_share": 0.25}, (*COST, "aborted_share")),
    ],
)
def test_what_most_runs_lack_is_told_where_any_group_has_it(
    row: dict[str, float | None], besides: tuple[str, ...]
) -> None:
    assert headline_of(iter([{}, row])) == [*HEADLINE, *besides]
