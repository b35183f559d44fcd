"""A rolling restart of a rack: its brokers one after the other, and its members beside them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.sim import simulate
from groupsim.sim.model import Broker, Cluster, Distribution, Entry, Override, RollingRestart, Scenario, Target
from groupsim.sim.units import S
from tests.support.scenarios import client, group, scenario

BROKERS = tuple(Broker(id=node, rack="ab"[node % 2]) for node in range(4))


def _rolled(**verb: object) -> Scenario:
    """Brokers 0 and 2 and members 0 and 1 are in rack a."""
    roll = RollingRestart(target=Target("rack", "a"), down=Distribution.constant(5 * S), **verb)  # type: ignore[arg-type]
    one = scenario(group(4, client=client()), Entry(id="roll", at_us=30 * S, verb=roll), horizon_us=180 * S)
    (members,) = one.groups
    here = Override(members=frozenset((0, 1)), rack="a")
    return replace(one, cluster=Cluster(brokers=BROKERS), groups=(replace(members, overrides=(here,)),))


@pytest.mark.parametrize("fidelity", ["elided", "message"])
def test_all_that_is_in_the_rack_is_restarted_once_and_nothing_else(fidelity: str) -> None:
    result = simulate(_rolled(), fidelity=fidelity)  # type: ignore[arg-type]
    told = [row["target"] for row in result.tables.rows("events") if row["entry"] == "roll"]
    assert sorted(set(told)) == ["broker:0", "broker:2", "g/0", "g/1"]
    lives = [row["member"] for row in result.tables.rows("members")]
    assert {name: lives.count(name) for name in set(lives)} == {"g/0": 2, "g/1": 2, "g/2": 1, "g/3": 1}
    down = {row["node"] for row in result.tables.rows("brokers") if row["state"] == "down"}
    assert down == {0, 2}


def test_brokers_wait_for_one_another_and_so_do_members_but_not_one_for_the_other() -> None:
    result = simulate(_rolled())
    at = {row["target"]: row["time_us"] for row in result.tables.rows("events") if row["entry"] == "roll"}
    assert at["broker:0"] == at["g/0"] == 30 * S
    up = [row for row in result.tables.rows("brokers") if row["node"] == 0 and row["state"] == "up"]
    assert at["broker:2"] >= up[1]["from_us"], "in sync again before the next goes"
    assert at["g/1"] >= 35 * S, "the first is back and has an assignment"


def test_both_fidelities_agree() -> None:
    digests = [simulate(_rolled(batch=2), fidelity=how).manifest["digests"] for how in ("elided", "message")]  # type: ignore[arg-type]
    assert digests[0] == digests[1]
