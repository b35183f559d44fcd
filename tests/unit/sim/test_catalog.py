"""Topics over time, and positions that never move."""

from __future__ import annotations

import numpy as np

from groupsim.sim.catalog import Catalog, Partitions
from groupsim.sim.cluster.groups.assignment import Layout, Layouts
from groupsim.sim.model import Topic


def two_topics() -> Catalog:
    return Catalog((Topic(name="b", partitions=2), Topic(name="a", partitions=3)), (5, 1, 3))


def test_counts_are_those_of_the_time_asked_for() -> None:
    catalog = two_topics()
    assert catalog.version == 1
    catalog.grow(100, "b", 4)
    catalog.grow(200, "c", 1)
    assert dict(catalog.counts_at(0)) == dict(catalog.counts_at(99)) == {"a": 3, "b": 2}
    assert dict(catalog.counts_at(100)) == {"a": 3, "b": 4}
    assert dict(catalog.counts) == dict(catalog.counts_at(10**9)) == {"a": 3, "b": 4, "c": 1}
    assert catalog.version == 3
    assert catalog.created_us == {"a": [0, 0, 0], "b": [0, 0, 100, 100], "c": [200]}


def test_a_topic_never_shrinks() -> None:
    catalog = two_topics()
    catalog.grow(100, "a", 1)
    assert catalog.counts["a"] == 3


def test_leaders_are_dealt_out_over_the_brokers() -> None:
    catalog = two_topics()
    leaders = catalog.leaders("a", range(6))
    assert sorted(leaders[:3]) == [1, 3, 5]
    assert leaders[:3] == leaders[3:]


def test_replicas_are_neighbours_and_racks_alternate() -> None:
    racks = {0: "a", 1: "a", 2: "a", 3: "b", 4: "b", 5: "c"}
    topics = (Topic(name="t", partitions=6, replication_factor=3), Topic(name="u", partitions=1, replication_factor=9))
    catalog = Catalog(topics, range(6), racks)
    places = Partitions(catalog)
    places.cover(("t",))
    order = catalog.replicas("u", 0)
    assert sorted(order) == [0, 1, 2, 3, 4, 5], "no more than there are brokers"
    at = order.index(0)
    assert [*order[at:], *order[:at]] == [0, 3, 5, 1, 4, 2]
    for number in range(6):
        assert catalog.replicas("t", number)[0] == catalog.leaders("t", [number])[0]
    found = places.racks_of("t", 6)
    assert found is not None
    assert found == [tuple(racks[broker] for broker in catalog.replicas("t", number)) for number in range(6)]
    assert Partitions(two_topics()).racks_of("a", 3) is None


def test_positions_never_move() -> None:
    catalog = two_topics()
    places = Partitions(catalog)
    assert places.cover(("b", "a", "unheard-of")) == 5
    assert places.cover(("a",)) == 0
    before = places.of("b").tolist()
    catalog.grow(100, "b", 4)
    assert places.cover(("b",)) == 2
    assert places.of("b").tolist() == [*before, 5, 6]
    assert [places.topic[position] for position in places.of("b")] == ["b"] * 4
    assert places.number[places.of("b")].tolist() == [0, 1, 2, 3]
    assert places.created_us[places.of("b")].tolist() == [0, 0, 100, 100]
    assert places.leader[places.of("b")].tolist() == catalog.leaders("b", range(4))
    assert len(places) == 7


def test_positions_do_not_depend_on_the_order_of_topics() -> None:
    one, other = Partitions(two_topics()), Partitions(two_topics())
    one.cover(("a", "b"))
    other.cover(("b", "a"))
    assert one.topic == other.topic


def test_a_layout_translates_there_and_back() -> None:
    catalog = two_topics()
    places = Partitions(catalog)
    places.cover(("b",))
    places.cover(("a",))
    layout = Layout({"a": 2, "b": 2}, places)  # this metadata has not seen a's last partition
    assert layout.to_group.tolist() == [2, 3, 0, 1]
    assert layout.local(np.array([0, 2, 4], np.int32)).tolist() == [2, 0]
    assert layout.to_group[layout.local(layout.to_group)].tolist() == layout.to_group.tolist()
    layouts = Layouts(places)
    assert layouts.of({"a": 2}) is layouts.of({"a": 2})
    assert layouts.of({"a": 2}) is not layouts.of({"a": 3})
