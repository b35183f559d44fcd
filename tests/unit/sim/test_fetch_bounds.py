"""Brokers that send less than consumers could process, and fetches that bring less than a round trip takes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from groupsim.sim import simulate
from groupsim.sim.catalog import Catalog
from groupsim.sim.cluster.bandwidth import Bandwidth
from groupsim.sim.model import AddPartitions, Broker, Distribution, Kill, Processing, Scenario, Target, Topic
from groupsim.sim.units import MS, S
from tests.support.fidelity import differences
from tests.support.scenarios import at, client, group, hang, kill, scenario

SIZE = 1_000
PARTITIONS, PER_S = 12, 100
FAST = Processing(per_record=Distribution.constant(100))


def late(*timeline: Any, bandwidth: int | None = None, size: int | None = SIZE, **given: Any) -> Scenario:
    """Three members hang from 20 to 50 s: 36,000 records wait, of 1,200 a second; they could process 3 x 8,197."""
    config = client(enable_auto_commit=True, max_poll_interval_us=300 * S, **given.pop("config", {}))
    one = group(3, client=config, processing=given.pop("processing", FAST))
    found = scenario(
        one, hang(20 * S, 30 * S, 0, 1, 2), *timeline,
        **{"horizon_us": 120 * S, "rate_mrps": PER_S * 1_000, "brokers": 3, "partitions": PARTITIONS} | given,
    )  # fmt: skip
    brokers = tuple(replace(broker, bandwidth_bytes_per_s=bandwidth) for broker in found.cluster.brokers)
    topics = tuple(replace(topic, record_bytes=size) for topic in found.topics)
    cluster = replace(found.cluster, brokers=brokers)
    return replace(found, cluster=cluster, topics=topics, recovery_lag_records=1)


def recovery_s(found: Scenario) -> float | None:
    value: float | None = simulate(found).tables.rows("summary")[0]["recovery_s"]
    return value


@pytest.mark.parametrize("bandwidth", [600_000, 1_000_000, 4_000_000])
def test_what_waits_is_read_as_fast_as_brokers_send(bandwidth: int) -> None:
    per_s = 3 * bandwidth / SIZE
    waits = PARTITIONS * PER_S * 30
    assert recovery_s(late(bandwidth=bandwidth)) == pytest.approx(waits / (per_s - PARTITIONS * PER_S), rel=0.02)


def test_a_broker_that_sends_more_than_is_processed_changes_nothing_but_events() -> None:
    for fidelity in ("elided", "message"):
        free, wide = (
            simulate(replace(late(bandwidth=one), timeline=late().timeline), fidelity=fidelity).manifest["digests"]
            for one in (None, 1 << 40)
        )
        assert free == wide


def test_who_is_sent_less_than_is_produced_never_catches_up() -> None:
    row = simulate(late(bandwidth=300_000)).tables.rows("summary")[0]
    assert row["recovery_s"] is None
    assert row["lag_records_end"] > 36_000 + 60 * 300 * 0.9
    assert row["read_bytes"] < 120 * 900 * SIZE


def test_fetches_bring_so_much_a_round_trip() -> None:
    """Four partitions a member, all on one broker: 4 x 8 KB for each 40.3 ms, 794 records a second."""
    found = late(latency=Distribution.constant(20 * MS), brokers=1, config={"max_partition_fetch_bytes": 8_000})
    trip_s = (2 * 20 * MS + found.cluster.timing.service_us) / S
    per_s = 3 * 4 * 8 / trip_s
    assert recovery_s(found) == pytest.approx(36_000 / (per_s - 1_200), rel=0.02)


def test_the_whole_fetch_has_a_bound_too() -> None:
    found = late(latency=Distribution.constant(20 * MS), brokers=1, config={"fetch_max_bytes": 30_000})
    trip_s = (2 * 20 * MS + found.cluster.timing.service_us) / S
    assert recovery_s(found) == pytest.approx(36_000 / (3 * 30 / trip_s - 1_200), rel=0.02)


def test_the_round_trip_comes_on_top_of_the_sending() -> None:
    """A fetch of 32 KB is on the wire for 8 ms at 4 MB/s, and 40.3 ms on the way."""
    found = late(
        latency=Distribution.constant(20 * MS), brokers=1, config={"max_partition_fetch_bytes": 8_000},
        bandwidth=12_000_000,
    )  # fmt: skip
    sent_s = 32_000 / (12_000_000 / 3)
    per_s = 3 * 32 / ((2 * 20 * MS + found.cluster.timing.service_us) / S + sent_s)
    assert recovery_s(found) == pytest.approx(36_000 / (per_s - 1_200), rel=0.02)


def test_a_record_that_is_larger_than_a_fetch_comes_alone() -> None:
    found = late(latency=Distribution.constant(20 * MS), brokers=1, size=20_000, rate_mrps=500,
                 config={"max_partition_fetch_bytes": 1_000})  # fmt: skip
    row = simulate(found).tables.rows("summary")[0]
    assert row["lag_records_end"] == 0
    assert row["recovery_s"] == pytest.approx(180 / (3 / 0.0403 - 6), rel=0.1)


def test_topics_of_unknown_size_are_bounded_by_nothing() -> None:
    assert recovery_s(late(bandwidth=300_000, size=None)) == recovery_s(late(size=None))


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(at(55 * S, Kill(target=Target("broker", "1"), down=Distribution.constant(20 * S))), id="broker"),
        pytest.param(kill(55 * S, 1, down_us=2 * S), id="member"),
        pytest.param(at(55 * S, AddPartitions(topic="t", to=18)), id="partitions"),
    ],
)
@pytest.mark.parametrize("processing", [FAST, replace(FAST, per_record=Distribution("exponential", (100,)))])
def test_both_fidelities_agree(entry: Any, processing: Processing) -> None:
    assert not differences(late(entry, bandwidth=600_000, processing=processing), 1)


def test_a_broker_that_is_away_leaves_the_others_more_to_send() -> None:
    """2,000 records a second instead of 3,000, of which 1,200 are new, once its partitions are led elsewhere."""
    away = at(51 * S, Kill(target=Target("broker", "1"), down=None))
    found = recovery_s(late(away, bandwidth=1_000_000, horizon_us=200 * S))
    assert found is not None
    assert 36_000 / 800 < found < 36_000 / 800 + 40


# --- shares -----------------------------------------------------------------------------------------------------------


def shares(*readings: tuple[tuple[str, ...], Counter[str]], racks: dict[int, str] | None = None) -> list[float]:
    """Of brokers 0 and 1, of 1 MB/s each, in bytes a second; topics t and u have four partitions each."""
    topics = [Topic(name=name, partitions=4, replication_factor=2) for name in ("t", "u")]
    catalog = Catalog(topics, (0, 1), racks or {}, is_rack_aware=racks is not None)
    brokers = [Broker(id=id_, bandwidth_bytes_per_s=1_000_000) for id_ in (0, 1)]
    bandwidth = Bandwidth(brokers, catalog, lambda: readings)
    return [bandwidth.share(node) * S for node in (0, 1)]


def test_all_partitions_that_are_read_from_a_broker_have_the_same_share() -> None:
    nobody = Counter({"": 3})
    assert shares((("t",), nobody)) == [500_000, 500_000]
    assert shares((("t", "u"), nobody)) == [250_000, 250_000]
    assert shares((("t",), nobody), (("t",), nobody), (("u",), nobody)) == pytest.approx([1e6 / 6] * 2)


def test_readers_of_followers_count_where_they_read() -> None:
    racks = {0: "a", 1: "b"}
    assert shares((("t",), Counter({"a": 1})), racks=racks) == [250_000, 1_000_000]
    assert shares((("t",), Counter({"a": 3, "b": 1})), racks=racks) == pytest.approx([1e6 / 3, 1e6])


def test_what_changes_is_shared_anew() -> None:
    catalog, told = Catalog([Topic(name="t", partitions=4)], (0, 1)), [(("t",), Counter({"": 1}))]
    bandwidth = Bandwidth([Broker(id=0, bandwidth_bytes_per_s=8_000_000), Broker(id=1)], catalog, lambda: told)
    assert bandwidth.share(0) == 4.0
    assert bandwidth.share(1) == float("inf")
    for number in range(4):
        catalog.moved["t", number] = 0
    assert bandwidth.share(0) == 4.0, "nobody has said that"
    bandwidth.forget()
    assert bandwidth.share(0) == 2.0
