"""Table ``over_groups``: what all groups of a run come to; and ``placement``: where their coordinators are."""

from __future__ import annotations

from groupsim.sim.books.shard_books import ACTIVE, Place, ShardBooks, ShardFigures
from groupsim.sim.output.coordinators import placement_rows
from groupsim.sim.output.over_groups import METRICS, over_groups_rows
from groupsim.sim.output.result import Tables
from groupsim.sim.tables import ADD_UP, SUMMARY


def _over(**values: list[object]) -> dict[str, dict[str, object]]:
    """The rows by metric of groups named a, b, ...; what is not given is 0."""
    count = len(next(iter(values.values())))
    zeros: dict[str, object] = dict.fromkeys(SUMMARY, 0)
    groups = [
        {name: [value] for name, value in (zeros | {one: some[i] for one, some in values.items()}).items()}
        | {"group": [chr(ord("a") + i)]}
        for i in range(count)
    ]
    return {row["metric"]: row for row in Tables({"over_groups": over_groups_rows(groups)}).rows("over_groups")}


def test_what_adds_up_has_a_total_and_all_have_quantiles_and_the_worst_group() -> None:
    rows = _over(unavailable_partition_s=[1.0, 4.0, 2.0, 4.0, 0.0], unavailable_gap_s_max=[0.5, 0.1, 0.3, 0.2, 0.4])
    unread, gap = rows["unavailable_partition_s"], rows["unavailable_gap_s_max"]
    assert (unread["groups"], unread["total"], unread["p50"], unread["max"]) == (5, 11.0, 2.0, 4.0)
    assert unread["max_group"] == "b", "of equals the first"
    assert (gap["total"], gap["p50"], gap["max"], gap["max_group"]) == (None, 0.3, 0.5, "a")
    assert gap["p90"] == 0.46, "interpolated between order statistics"


def test_groups_without_a_value_are_left_out() -> None:
    rows = _over(recovery_s=[None, 3.0, None], rscore=[None, None, None])
    assert (rows["recovery_s"]["groups"], rows["recovery_s"]["p50"], rows["recovery_s"]["max_group"]) == (1, 3.0, "b")
    none = rows["rscore"]
    assert (none["groups"], none["total"], none["p99"], none["max"], none["max_group"]) == (0, None, None, None, "")


def test_every_number_of_the_summary_has_a_row_and_no_other_adds_up() -> None:
    assert set(_over(joins=[1])) == set(METRICS)
    assert set(METRICS) >= ADD_UP
    assert not [name for name in ADD_UP if name.endswith(("_max", "_p99"))]


def _shard(partition: int, first: int, last: int, groups: int) -> ShardBooks:
    books = ShardBooks(partition, (0, 1))
    books.groups = [f"{partition}-{i}" for i in range(groups)]
    books.places = [Place(0, first, ACTIVE), Place(5, last, ACTIVE)]
    books.figures = ShardFigures(
        node=last, groups=groups, members=3 * groups, requests=0, basis="formula", utilisation=0.25, queue_mean=0.0,
        queue_max=None, wait_p50_us=0, wait_p99_us=0, wait_max_us=0, saturated_from=None, starved_from=None, loads=0,
        loading_us=0,
    )  # fmt: skip
    return books


def test_placement_has_every_broker_with_what_it_had_first_and_has_at_the_end() -> None:
    shards = [_shard(0, 1, 2, 4), _shard(1, 1, 1, 1), _shard(2, 2, 2, 2), _shard(3, 2, -1, 1)]
    rows = Tables({"placement": placement_rows(shards, [1, 2, 3])}).rows("placement")
    seen = [(row["node"], row["groups_first"], row["groups"], row["groups_shard_max"], row["members"]) for row in rows]
    assert seen == [(-1, 0, 1, 1, 3), (1, 5, 1, 1, 3), (2, 3, 6, 4, 18), (3, 0, 0, 0, 0)]
    brokers = [(row["shards_first"], row["shards"], row["utilisation"]) for row in rows[1:3]]
    assert brokers == [(2, 1, 0.25), (2, 2, 0.5)]
