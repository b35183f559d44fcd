"""Records that are followed one by one while logs lose some of them: what a new leader lacks, and who reads what."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from groupsim.sim import Result, simulate
from groupsim.sim.model import Distribution, Kill, Restart, Scenario, SetConfig, Target
from groupsim.sim.units import S
from tests.support.dying_logs import broker, the_one_behind_leads, truncated, world
from tests.support.fidelity import differences
from tests.support.scenarios import at

KILL = at(30 * S, Kill(target=broker("leader/t/0")))


def exact(scenario: Scenario, seed: int = 1) -> Result:
    return simulate(replace(scenario, data="exact"), seed=seed)


@pytest.mark.parametrize("acks", ["0", "1", "all"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_is_counted_as_lost_is_what_nobody_has_processed(acks: str, seed: int) -> None:
    result = exact(world(KILL, acks=acks), seed)
    rows = result.tables["records"]
    assert (rows.lost == "truncated log").sum() == truncated(result)
    assert not (rows.delivery[rows.lost != ""] > 0).any()


def test_an_unclean_election_loses_each_record_of_the_time_that_the_new_leader_missed() -> None:
    made = the_one_behind_leads(unclean_leader_election=True)
    result = exact(made)
    rows = result.tables["records"]
    lost = rows[rows.lost == "truncated log"]
    assert len(lost) == truncated(result) == pytest.approx(truncated(simulate(made)), abs=2)
    assert (np.diff(lost.offset) == 1).all(), "one stretch"
    assert (lost.delivery == 0).all()
    later = rows[(rows.offset > lost.offset.max()) & (rows.produced_us < 140 * S)]
    assert (later.delivery > 0).all(), "what follows is read"


def test_both_fidelities_follow_the_same_records() -> None:
    made = replace(the_one_behind_leads(unclean_leader_election=True), data="exact")
    assert not differences(made, seed=1, check=False)
    assert not differences(replace(world(KILL, acks="0"), data="exact"), seed=2, check=False)


def readers_that_stay(reset: str, *, is_unclean: bool = True) -> Scenario:
    """The same, but readers live on, and have read what the new leader lacks; ``reset`` holds from the restart on."""
    made = the_one_behind_leads(unclean_leader_election=is_unclean)
    brokers = tuple(one for one in made.timeline if one.verb.target.kind == "broker")
    return restarted(replace(made, timeline=brokers), reset)


def restarted(made: Scenario, reset: str) -> Scenario:
    """With members that are restarted at first, and have committed offsets when this policy begins to hold."""
    group, second = Target("group", "g"), Distribution.constant(S)
    client = replace(made.groups[0].client, auto_offset_reset=reset)  # type: ignore[arg-type]
    changes = (at(10 * S, SetConfig(target=group, client=client)), at(11 * S, Restart(target=group, down=second)))
    return replace(made, timeline=(*changes, *made.timeline))


def failures(scenario: Scenario, seed: int = 1) -> list[str]:
    lives = simulate(scenario, seed=seed).tables["members"]
    return sorted(lives.ended_by[lives.ended_by.str.startswith("failed")])


def test_without_a_reset_policy_poll_throws_when_what_was_read_is_in_no_log_any_more() -> None:
    """``LogTruncationException``, which is an OffsetOutOfRangeException; who reads nothing is not concerned.

    Somebody else takes over from the committed offset, and reads on.
    """
    assert failures(readers_that_stay("earliest")) == []
    found = failures(readers_that_stay("none"))
    assert set(found) == {"failed: OFFSET_OUT_OF_RANGE"}


def test_a_clean_election_never_takes_away_what_was_read() -> None:
    assert failures(readers_that_stay("none", is_unclean=False)) == []
    for seed in (1, 2, 3):
        made = restarted(world(KILL, acks="0"), "none")
        assert truncated(simulate(made, seed=seed)) > 0
        assert failures(made, seed) == []


def test_both_fidelities_agree_on_who_fails() -> None:
    assert not differences(readers_that_stay("none"), seed=1, check=False)
    assert not differences(replace(readers_that_stay("none"), data="exact"), seed=1, check=False)
