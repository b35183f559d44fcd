"""Which part each consumer of 0.8.2 works out for itself."""

from __future__ import annotations

import pytest

from groupsim.sim.protocol.zookeeper.assignment import part_of


def parts(
    strategy: str, subscriptions: dict[str, tuple[str, ...]], **partitions: int
) -> dict[str, list[tuple[str, int]]]:
    """The part of each."""
    return {one: part_of(one, strategy, subscriptions, partitions) for one in subscriptions}


def test_range_deals_neighbours_out_and_the_first_ones_get_one_more() -> None:
    found = parts("range", dict.fromkeys(("c1", "c2", "c3"), ("t",)), t=7)
    assert found == {
        "c1": [("t", 0), ("t", 1), ("t", 2)], "c2": [("t", 3), ("t", 4)], "c3": [("t", 5), ("t", 6)],
    }  # fmt: skip


def test_threads_are_in_the_order_of_their_text() -> None:
    found = parts("range", dict.fromkeys(("g_h-2", "g_h-10"), ("t",)), t=2)
    assert found == {"g_h-2": [("t", 1)], "g_h-10": [("t", 0)]}


def test_a_prefix_comes_first_or_not_by_what_its_thread_is_called() -> None:
    """``c-0`` against ``c!-0``: the thread's dash counts, so an exclamation mark comes before it."""
    found = parts("range", {"c": ("t",), "c!": ("t",)}, t=1)
    assert found == {"c": [], "c!": [("t", 0)]}


def test_range_looks_only_at_who_reads_the_topic() -> None:
    found = parts("range", {"a": ("t",), "b": ("t", "u"), "c": ("u",)}, t=2, u=2)
    assert found == {"a": [("t", 0)], "b": [("t", 1), ("u", 0)], "c": [("u", 1)]}


def test_roundrobin_deals_all_partitions_by_the_hash_of_their_text() -> None:
    """A digit more is 31 more in Java's hash of ``[t,0]``."""
    found = parts("roundrobin", dict.fromkeys(("a", "b"), ("t",)), t=4)
    assert found == {"a": [("t", 0), ("t", 2)], "b": [("t", 1), ("t", 3)]}
    many = parts("roundrobin", dict.fromkeys(("a", "b", "c"), ("t", "u")), t=11, u=5)
    assert sorted(len(part) for part in many.values()) == [5, 5, 6]
    assert len({place for part in many.values() for place in part}) == 16


def test_roundrobin_wants_everybody_to_read_the_same() -> None:
    with pytest.raises(ValueError, match="same topics"):
        part_of("a", "roundrobin", {"a": ("t",), "b": ("u",)}, {"t": 1, "u": 1})


def test_a_topic_that_is_not_there_has_no_partitions() -> None:
    assert part_of("a", "range", {"a": ("t",)}, {}) == []
