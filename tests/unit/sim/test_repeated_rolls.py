"""A rolling restart that comes again and again: of members, of brokers, of a rack with both."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from groupsim.sim import Result, simulate
from groupsim.sim.model import Broker, Cluster, Distribution, Entry, Override, RollingRestart, Scenario, Target
from groupsim.sim.randomness import Streams
from groupsim.sim.timeline.dispatcher import firing_times
from groupsim.sim.units import S
from tests.support.scenarios import client, group, scenario

BROKERS = tuple(Broker(id=node, rack="ab"[node % 2]) for node in range(4))
FIDELITIES = pytest.mark.parametrize("fidelity", ["elided", "message"])


def _rolls(target: Target, every: Distribution, *, down_s: tuple[int, ...] = (2, 4)) -> Scenario:
    """Brokers 0 and 2 and members 0 and 1 are in rack a; rolls from 20 s on, during 100 s."""
    roll = RollingRestart(target=target, down=Distribution("uniform", tuple(one * S for one in down_s)))
    rolls = Entry(id="roll", every=every, at_us=20 * S, until_us=120 * S, verb=roll)
    one = scenario(group(4, client=client()), rolls, horizon_us=200 * S)
    (members,) = one.groups
    here = Override(members=frozenset((0, 1)), rack="a")
    return replace(one, cluster=Cluster(brokers=BROKERS), groups=(replace(members, overrides=(here,)),))


def _stops(result: Result) -> list[tuple[str, int]]:
    """Whom the rolls have stopped, and when."""
    lives = [row for row in result.tables.rows("members") if row["ended_by"] != "horizon"]
    return sorted([(row["member"], row["ended_us"]) for row in lives], key=lambda one: one[1])


def _begun(result: Result, target: str) -> list[int]:
    return [row["time_us"] for row in result.tables.rows("events") if row["target"] == target]


@FIDELITIES
@pytest.mark.parametrize("target", [Target("rack", "a"), Target("broker", "all")], ids=str)
def test_each_roll_begins_at_its_instant(target: Target, fidelity: str) -> None:
    what = _rolls(target, Distribution("uniform", (47 * S, 49 * S)))
    result = simulate(what, fidelity=fidelity)  # type: ignore[arg-type]
    due = list(firing_times(what.timeline[0], Streams(1), "", what.horizon_us))
    assert len(due) == 2
    assert _begun(result, "broker:0") == due


@FIDELITIES
def test_what_is_due_before_the_last_is_done_waits_for_it(fidelity: str) -> None:
    """Four members that are gone for at least 5 s each take longer than the 15 s after which the next is due."""
    result = simulate(_rolls(Target("group", "g"), Distribution.constant(15 * S), down_s=(5, 6)), fidelity=fidelity)  # type: ignore[arg-type]
    stops = _stops(result)
    whole = [f"g/{index}" for index in range(4)]
    assert [name for name, _ in stops] == (whole * 6)[: len(stops)]
    assert len(stops) > 4
    assert stops[0][1] >= 35 * S
    assert stops[4][1] > 55 * S


def test_each_roll_draws_how_long_members_are_gone_anew() -> None:
    result = simulate(_rolls(Target("group", "g"), Distribution("uniform", (40 * S, 45 * S))))
    lives = [row for row in result.tables.rows("members") if row["member"] == "g/0"]
    gone = [after["started_us"] - before["ended_us"] for before, after in pairwise(lives)]
    assert len(gone) == len(set(gone)) == 2


@pytest.mark.parametrize("target", [Target("group", "g"), Target("rack", "a"), Target("broker", "all")], ids=str)
def test_both_fidelities_agree(target: Target) -> None:
    what = _rolls(target, Distribution.constant(15 * S))
    digests = [simulate(what, fidelity=how).manifest["digests"] for how in ("elided", "message")]  # type: ignore[arg-type]
    assert digests[0] == digests[1]


@pytest.mark.parametrize(
    ("target", "horizon_s", "sentence"),
    [
        (Target("group", "g"), 55, "roll: 3 of 4 members had been restarted when the run ended"),
        (Target("broker", "all"), 60, "roll: 2 of 4 brokers had been restarted when the run ended"),
    ],
    ids=str,
)
def test_one_that_the_end_of_the_run_cuts_short_says_how_far_it_has_come(
    target: Target, horizon_s: int, sentence: str
) -> None:
    what = _rolls(target, Distribution.constant(20 * S), down_s=(5, 5))
    assert sentence in simulate(replace(what, horizon_us=horizon_s * S)).warnings
    done = replace(what, timeline=(replace(what.timeline[0], until_us=41 * S),))
    assert not [one for one in simulate(done).warnings if "restarted" in one]
