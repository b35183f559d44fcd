"""The end of a run: what is counted, whatever is on its way then, and how little of it has to be worked out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.sim import simulate
from groupsim.sim.client.fetching.metadata import Metadata
from groupsim.sim.fastpath import end_of_run
from groupsim.sim.fastpath.quiescence import Quiescence
from groupsim.sim.model import Cluster, Kill, Network, Scenario
from groupsim.sim.units import MINUTE, MS, S
from tests.support.fidelity import differences
from tests.support.scenarios import TIMING
from tests.unit.sim.scenes import CLIENT, entry, group, lasting, member, scene

SLOW = Cluster(network=Network(latency=lasting(300 * MS)), timing=TIMING)


def _ending(horizon_us: int, *, metadata_max_age_us: int = 5 * S, cluster: Cluster = SLOW) -> Scenario:
    client = replace(CLIENT, heartbeat_interval_us=3 * S, metadata_max_age_us=metadata_max_age_us)
    return scene(group(count=3, client=client), cluster=cluster, horizon_us=horizon_us)


@pytest.mark.parametrize("after_us", range(0, 3 * S, 250 * MS))
def test_both_fidelities_count_what_is_on_its_way(after_us: int) -> None:
    assert not differences(_ending(20 * S + after_us), 1)


def test_whose_requests_are_all_answered_is_not_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[int] = []
    wake = Quiescence.wake

    def woken(one: Quiescence) -> None:
        ends.append(one.client.env.now)
        wake(one)

    monkeypatch.setattr(Quiescence, "wake", woken)
    horizons = range(20 * S, 23 * S, 250 * MS)
    for horizon_us in horizons:
        simulate(_ending(horizon_us))
    at_the_end = sum(now in horizons for now in ends)
    assert 0 < at_the_end < 3 * len(horizons)


@pytest.mark.parametrize("measure_from_us", [0, 7 * MINUTE + 1])
def test_refreshes_are_counted_without_their_times_or_with_them(
    measure_from_us: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = replace(_ending(60 * MINUTE, metadata_max_age_us=5 * MINUTE), measure_from_us=measure_from_us)
    trips: list[int] = []
    trip_us = Metadata._trip_us
    monkeypatch.setattr(Metadata, "_trip_us", lambda self, sent: trips.append(1) or trip_us(self, sent))
    counted = simulate(scenario).tables["requests"]
    without, trips[:] = len(trips), []
    monkeypatch.setattr(Metadata, "_passed", lambda self, by: None)
    assert counted.equals(simulate(scenario).tables["requests"])
    assert without < len(trips)


@pytest.mark.parametrize("after_us", range(0, 3 * S, 500 * MS))
def test_who_has_been_quiet_since_a_rebalance_is_counted_as_if_it_had_caught_up(
    after_us: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = scene(
        group(count=12), timeline=(entry(10 * S, Kill(target=member(3))),), partitions=24, horizon_us=40 * S + after_us
    )
    counted: list[int] = []
    take_up = end_of_run._take_up
    monkeypatch.setattr(
        end_of_run, "_take_up", lambda deferred, slots: counted.append(len(slots)) or take_up(deferred, slots)
    )
    assert not differences(crowd, 1)
    assert max(counted) > 0
