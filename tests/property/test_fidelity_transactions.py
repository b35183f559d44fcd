"""Elided and message fidelity give equal tables where members produce in transactions and are killed in the middle.

Only message fidelity works on each request of a broker's when that arrives; else it is done ahead of the clock, and
undone if somebody comes to the same transactional id meanwhile: who succeeds a dead member, or has its id.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from groupsim.sim.cluster.transaction_shard import TransactionShard
from groupsim.sim.config import CoordinatorConfig, Timing, TransactionConfig
from groupsim.sim.model import Cluster, CrashAt, Entry, Kill, Scenario
from groupsim.sim.protocol.transactions.messages import TV1, TV2
from groupsim.sim.units import MS, S
from tests.support.fidelity import differences
from tests.unit.sim.scenes import entry, lasting, member
from tests.unit.sim.transactional_scenes import JITTER, SLOW_LOG, producing, transform

pytestmark = pytest.mark.property

POINTS = ("after_poll", "after_send", "before_commit", "before_end_txn", "after_end_txn", "after_commit")
SLOW_ANSWERS = Cluster(config=CoordinatorConfig(initial_rebalance_delay_us=0), timing=Timing(service_us=150 * MS))


@st.composite
def deaths(draw: st.DrawFn) -> Entry:
    """Who dies is back before the coordinator is done with what it has sent."""
    who = member(draw(st.integers(0, 2)))
    verb: Any = draw(
        st.sampled_from(
            [
                Kill(target=who, down=lasting(draw(st.sampled_from([0, MS, 100 * MS])))),
                CrashAt(target=who, point=draw(st.sampled_from(POINTS)), down=lasting(0)),
            ]
        )
    )
    return entry(draw(st.integers(4 * S, 38 * S)), verb, f"death-{draw(st.integers(0, 10**9))}")


@st.composite
def settings_of_runs(draw: st.DrawFn) -> dict[str, Any]:
    name = draw(st.sampled_from(["{member}", "{member}", "shared"]))
    transactions = TransactionConfig(version=draw(st.sampled_from([TV2, TV2, TV1])))
    return {
        "protocol": draw(st.sampled_from(["classic", "cooperative", "consumer"])),
        "produces": producing(transaction_timeout_us=draw(st.sampled_from([1, 6])) * S, transactional_id=name),
        "cluster": replace(draw(st.sampled_from([JITTER, SLOW_LOG, SLOW_ANSWERS])), transactions=transactions),
    }


@settings(max_examples=6, deadline=None)
@given(timeline=st.lists(deaths(), max_size=9, unique_by=lambda one: one.id), more=settings_of_runs())
def test_while_members_die(timeline: list[Entry], more: dict[str, Any]) -> None:
    note(str((timeline, more)))
    assert not differences(transform(*timeline, count=3, horizon_s=45, **more), 1, check=False)


def killed_at(at_us: int) -> Scenario:
    """Latencies, services and appends of 200 ms; the member is back at once, and asks for its producer id."""
    kill = entry(at_us, Kill(target=member(0), down=lasting(0)), "kill")
    return transform(kill, count=1, horizon_s=20, cluster=SLOW_LOG)


def test_what_was_done_ahead_is_undone_wherever_the_successor_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """From a request on its way to the coordinator to an append that is not over: every 50 ms of a transaction."""
    found: set[bool] = set()
    catch_up = TransactionShard._catch_up

    def noted(shard: TransactionShard, name: str) -> None:
        found.update(one.begins > shard._env.moment for one in shard._under_way(name))
        catch_up(shard, name)

    monkeypatch.setattr(TransactionShard, "_catch_up", noted)
    for step in range(40):
        assert not differences(killed_at(10 * S + step * 50 * MS), 1, check=False), step
    assert found == {False, True}
