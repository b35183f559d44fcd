"""What the library says about transactions, simulated."""

from __future__ import annotations

import pytest

from groupsim import load, simulate
from groupsim.sim import Result
from tests.unit.sim.scenes import delivered, rows
from tests.unit.sim.transactional_scenes import answers, output

ONCE = (0, 0)
UNCLEAN = "topics.paid.config[unclean.leader.election.enable]"


@pytest.fixture(scope="module")
def killed() -> Result:
    return simulate(load("exactly-once"), seed=1)


def test_exactly_once_under_the_same_kills_as_at_least_once(killed: Result) -> None:
    """read_committed readers see each input once; what is made again, readers of uncommitted records see twice."""
    seen = output(killed)
    assert seen["read_committed"] == ONCE
    assert seen["read_uncommitted"][0] > 0
    assert seen["read_uncommitted"][1] == 0
    assert sum(one["ended_by"] == "killed" for one in rows(killed, "members")) >= 3


def test_nobody_is_fenced_but_by_a_successor(killed: Result) -> None:
    """A producer that lives has all that it sent acknowledged before it ends a transaction."""
    assert answers(killed, "Produce").keys() == {"NONE"}
    assert answers(killed, "EndTxn").keys() == {"NONE"}


def test_a_hanging_transaction_blocks_its_heir_and_the_readers_for_its_time_out() -> None:
    result = simulate(load("hanging-transaction"), seed=1)
    assert output(result)["read_committed"] == ONCE
    assert answers(result, "OffsetFetch")["UNSTABLE_OFFSET_COMMIT"] > 50
    waits = [one["to_us"] - one["from_us"] for one in rows(result, "unavailability", cause="resume")]
    assert 50e6 < max(waits) < 70e6
    blocked = sorted(one["blocked_us_max"] for one in rows(result, "output"))
    assert blocked[0] < 5e6
    assert 55e6 < blocked[-1] < 72e6


def test_a_fenced_zombie_makes_nothing_that_counts() -> None:
    result = simulate(load("fenced-zombie"), seed=1)
    seen = output(result)
    assert seen["read_committed"] == ONCE
    assert seen["read_uncommitted"][0] > 0
    # The batch in hand, and the one of the poll() that follows before its heartbeat thread has heard.
    assert answers(result, "TxnOffsetCommit")["UNKNOWN_MEMBER_ID"] == 2
    assert max(one["blocked_us_max"] for one in rows(result, "output")) > 15e6


def test_all_members_stand_while_two_racks_do_not_reach_one_another() -> None:
    result = simulate(load("parted-racks"), seed=1)
    assert output(result) == {"read_committed": ONCE, "read_uncommitted": ONCE}
    assert [one["aborted"] for one in rows(result, "transactions")] == [0, 0, 0]
    assert len(rows(result, "rebalances")) == 1
    assert all(39e6 < one["took_us_max"] < 42e6 for one in rows(result, "transactions"))
    assert 39e6 < max(one["blocked_us_max"] for one in rows(result, "output")) < 42e6


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3, 4, 5))])
def test_an_unclean_election_takes_what_was_committed_and_hardly_anybody_is_told(seed: int) -> None:
    result = simulate(load("unclean-election"), seed=seed)
    found = delivered(result)
    assert found["output loss", "read_committed"] == found["output loss (unclean)", "read_committed"]
    assert found["output loss", "read_committed"] == pytest.approx(2_400, abs=20)
    assert output(result)["read_committed"][0] == 0
    assert sum(one["aborted"] for one in rows(result, "transactions")) <= 2
    assert [one["ended_by"] for one in rows(result, "transactions")] == [""] * 4
    assert 25e6 < max(one["blocked_us_max"] for one in rows(result, "output")) < 35e6


def test_without_unclean_elections_an_application_stands_instead() -> None:
    result = simulate(load("unclean-election", set_={UNCLEAN: False}), seed=1)
    assert output(result)["read_committed"] == ONCE
    assert 85e6 < max(one["blocked_us_max"] for one in rows(result, "output")) < 105e6


def test_whoever_reaches_all_brokers_goes_on_when_one_of_the_two_racks_is_fenced() -> None:
    """The controller is in rack a or b."""
    result = simulate(load("parted-racks"), seed=3)
    stood = {one["member"]: one["took_us_max"] for one in rows(result, "transactions")}
    assert stood["billing/2"] < 12e6
    assert min(stood["billing/0"], stood["billing/1"]) > 39e6
    assert output(result)["read_committed"] == ONCE
