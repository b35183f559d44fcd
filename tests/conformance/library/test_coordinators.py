"""Coordinators that are busy, or move, under many groups: heartbeat-load, noisy-group, broker-roll-many-groups."""

from __future__ import annotations

import pandas as pd
import pytest

from groupsim.sim import Result
from tests.conformance.library.runs import fired_s, rebalances, runs, summaries

SEEDS = range(1, 3)
ALONE = {"groups.noisy": None}
FORTY = {"groups.team.count": 40}


def shard_of(result: Result, members: int) -> pd.Series:
    """The row of the shard with so many members."""
    rows = result.tables["coordinators"]
    return rows[rows.members == members].iloc[0]


class TestHeartbeatLoad:
    def test_6400_heartbeats_a_second_are_a_fortieth_of_what_one_thread_can_do(self) -> None:
        (result,) = runs("heartbeat-load", seeds=[1])
        rows = result.tables["coordinators"].sort_values("utilisation")
        often, seldom = rows.iloc[1], rows.iloc[0]
        # 6,400 heartbeats of 3 us and 640 commits of 6 us a second; 1,067 and 640 with the default interval.
        assert often.utilisation == pytest.approx(0.0230, abs=0.0003)
        assert seldom.utilisation == pytest.approx(0.0070, abs=0.0003)
        assert often.wait_max_us == seldom.wait_max_us == 0

    def test_from_138889_members_on_it_cannot_keep_up(self) -> None:
        (result,) = runs("heartbeat-load", seeds=[1])
        assert sorted(result.tables["coordinators"].saturated_from) == [138_889, 454_546]

    def test_nobody_is_evicted(self) -> None:
        (result,) = runs("heartbeat-load", seeds=[1])
        assert result.summary.evictions.sum() == 0


class TestNoisyGroup:
    def test_a_request_of_the_neighbour_waits_for_the_commits_of_most_noisy_members(self) -> None:
        for result in runs("noisy-group", seeds=SEEDS):
            row = result.tables["coordinators"].iloc[0]
            assert row.basis == "queue"
            assert row.utilisation > 0.99
            # Those of the others are done, and wait in an open batch.
            assert 8 * 8_000 < row.wait_p50_us < 12 * 8_000
            assert 13 * 8_000 < row.wait_p99_us < row.wait_max_us < 1.2 * 15 * 8_000
            assert "it cannot keep up" in result.warnings[0]

    def test_beside_it_a_rebalance_takes_half_a_second_longer_and_nobody_is_evicted(self) -> None:
        """Under common faults: the same member leaves at the same instant, with and without the noisy group."""
        beside, alone = summaries(runs("noisy-group", seeds=SEEDS)), summaries(runs("noisy-group", ALONE, SEEDS))
        assert (beside.evictions == 0).all()
        assert (alone.rebalances == beside.rebalances).all()
        longer = beside.unavailable_gap_s_max - alone.unavailable_gap_s_max
        assert (longer > 0.3).all()
        assert (longer < 1.2).all()
        assert (beside.unavailable_partition_s > 4 * alone.unavailable_partition_s).all()

    def test_the_noisy_group_itself_is_read_on(self) -> None:
        rows = summaries(runs("noisy-group", seeds=SEEDS), "noisy")
        assert (rows.unavailable_partition_s == 0).all()
        assert (rows.evictions == 0).all()


class TestBrokerRollManyGroups:
    """Of 40 groups; each reads by itself, so that they show what 200 do."""

    def test_every_group_notices_and_none_rebalances(self) -> None:
        for result in runs("broker-roll-many-groups", FORTY, SEEDS):
            assert len(rebalances(result, fired_s(result, "roll"))) == 0
            assert len(result.summary) == 40
            assert result.summary.unavailable_partition_s.between(11, 19).all()
            assert (result.summary.unavailable_gap_s_max < 2).all()
            assert (result.summary.end_state == "Stable").all()

    def test_every_coordinator_moves(self) -> None:
        for result in runs("broker-roll-many-groups", FORTY, SEEDS):
            rows = result.tables["coordinators"]
            assert set(rows.loads) <= {1, 2}
            assert rows.groups.sum() == 40

    def test_the_hash_of_group_ids_is_not_even(self) -> None:
        (result, *_) = runs("broker-roll-many-groups", FORTY, SEEDS)
        rows = result.tables["coordinators"]
        assert len(rows) < 40
        assert rows.groups.max() >= 2
