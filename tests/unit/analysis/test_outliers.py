"""What stands out of its group, and when nothing does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from groupsim.analysis.text.outliers import Outlier, outliers, outliers_line

S = 1_000_000


def partitions(unread_s: dict[str, list[float]], lag: dict[str, list[int]] | None = None) -> dict[str, Any]:
    """Columns of one group's partitions, by topic."""
    topics = [(topic, number) for topic, values in unread_s.items() for number in range(len(values))]
    return {
        "group": np.array(["billing"] * len(topics), object),
        "topic": np.array([topic for topic, _ in topics], object),
        "partition": np.array([number for _, number in topics]),
        "unavailable_us": np.array([unread_s[topic][number] * S for topic, number in topics], np.int64),
        "lag_records_max": np.array([lag[topic][number] if lag else 0 for topic, number in topics]),
    }


def members(*busy: float, lives: int = 1) -> dict[str, Any]:
    """Columns of one group's members, each with so many incarnations of ten seconds."""
    names = [f"billing/{index}" for index in range(len(busy))]
    return {
        "group": np.array(["billing"] * len(busy) * lives, object), "member": np.array(names * lives, object),
        "started_us": np.zeros(len(busy) * lives), "ended_us": np.full(len(busy) * lives, 10 * S),
        "busy": np.array(busy * lives),
    }  # fmt: skip


NOBODY = members(0.3, 0.4)
CALM = partitions({"orders": [3.0, 2.0]})


def test_a_topic_that_starves_behind_a_healthy_one_is_named() -> None:
    (topic,) = outliers(partitions({"orders": [1.0, 1.0], "audit": [60.0, 50.0]}), NOBODY)
    assert topic == Outlier("billing", "topic", "audit", "unread", 55.0, 1.0, 0)
    assert outliers_line([topic]) == "stands out: topic audit: unread 55.0 s a partition (others at most 1.0 s)"


def test_one_partition_of_many_is_named_by_its_topic_and_number() -> None:
    (one,) = outliers(partitions({"orders": [2.0] * 7 + [9.0] + [4.4] * 3}), NOBODY)
    assert one == Outlier("billing", "partition", "orders-7", "unread", 9.0, 4.4, 0)


def test_a_lag_stands_out_where_everything_is_read() -> None:
    quiet = {"orders": [0.0] * 20}
    found = outliers(partitions(quiet, {"orders": [5] * 18 + [4_000, 3_000]}), NOBODY)
    assert found == [Outlier("billing", "partition", "orders-18", "lag", 4_000.0, 5.0, 1)]
    assert (
        outliers_line(found)
        == "stands out: partition orders-18 and 1 more: lag 4,000 records (others at most 5 records)"
    )


def test_a_member_is_judged_over_all_its_lives() -> None:
    found = outliers(CALM, members(0.9, 0.4, 0.3, lives=2))
    assert found == [Outlier("billing", "member", "billing/0", "busy", pytest.approx(0.9), pytest.approx(0.4), 0)]
    assert outliers_line(found) == "stands out: member billing/0: busy 90 % (others at most 40 %)"


@pytest.mark.parametrize(
    ("columns", "people"),
    [
        pytest.param(partitions({"orders": [9.0, 5.0]}), NOBODY, id="another one reaches half"),
        pytest.param(partitions({"orders": [0.9, 0.0]}), NOBODY, id="less than a second"),
        pytest.param(partitions({"orders": [9.0] * 3 + [0.0] * 17}), NOBODY, id="more than a tenth"),
        pytest.param(partitions({"orders": [9.0]}), members(0.9), id="there is only one"),
        pytest.param(partitions({}), members(), id="there is none"),
        pytest.param(CALM, members(0.4, 0.1), id="nobody is busy"),
        pytest.param(CALM, members(0.9, 0.5), id="others are busy too"),
        pytest.param(partitions({"o": [0.0] * 2}, {"o": [99, 0]}), NOBODY, id="a handful of records"),
    ],
)
def test_nothing_is_said_where_nothing_differs(columns: dict[str, Any], people: dict[str, Any]) -> None:
    assert outliers(columns, people) == []
    assert outliers_line([]) == ""


def test_groups_are_judged_by_themselves_and_named_if_there_are_several() -> None:
    first, second = partitions({"orders": [9.0, 0.0]}), partitions({"orders": [90.0, 0.0]})
    second["group"][:] = "audit"
    both = {name: np.concatenate([first[name], second[name]]) for name in first}
    found = outliers(both, NOBODY)
    assert [(one.group, one.value) for one in found] == [("billing", 9.0), ("audit", 90.0)]
    assert "partition orders-0 of audit" in outliers_line(found)
