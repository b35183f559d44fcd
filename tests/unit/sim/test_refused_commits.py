"""Commits that fail for now: commitSync waits and repeats, commitAsync does not, and a callback that does overtakes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from groupsim.sim import Result, simulate
from groupsim.sim.books.offsets.ledger import Ledger
from groupsim.sim.config import BrokerConfig
from groupsim.sim.model import Close, Processing, Scenario, Target
from groupsim.sim.protocol.commit_errors import RETRIABLE
from groupsim.sim.protocol.messages import Error
from groupsim.sim.units import FOREVER, MS, S
from tests.support.fidelity import differences
from tests.support.scenarios import at, client, group, scenario

ASYNC = Processing(commit="after_batch", poll_timeout_us=500 * MS)
SYNC = replace(ASYNC, commit_waits=True)
CALLBACK = replace(ASYNC, commit_again=True)
LOAD_S = 4
MOVES_S = 20


def moving(processing: Processing, protocol: Any = "classic", **config: Any) -> Scenario:
    """A group of two whose coordinator is shut down: the next one loads its log for four seconds."""
    own = client(enable_auto_commit=False, group_protocol=protocol, **config)
    readers = replace(group(2, client=own), processing=processing)
    shutdown = at(MOVES_S * S, Close(target=Target("broker", "coordinator/g")))
    made = scenario(readers, shutdown, horizon_us=40 * S, rate_mrps=700, brokers=3, partitions=4)
    quiet = BrokerConfig(leader_imbalance_check_us=FOREVER)
    return replace(made, cluster=replace(made.cluster, offsets_log_bytes=LOAD_S * 100 << 20, broker_config=quiet))


def longest_gap_us(result: Result) -> int:
    """The longest stretch in which a partition was not read after the coordinator began to move."""
    rows = result.tables["unavailability"]
    rows = rows[(rows["from_us"] >= MOVES_S * S) & (rows["to_us"] < 39 * S)]
    return int((rows["to_us"] - rows["from_us"]).max()) if len(rows) else 0


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_who_waits_for_commits_stands_still_while_the_coordinator_is_away(protocol: str) -> None:
    """Records are there to be read all the time: who does not wait for its commits reads them.

    It stands still from its first commit after the shutdown on, half a second later at most, until the log is read.
    """
    assert (LOAD_S - 1) * S < longest_gap_us(simulate(moving(SYNC, protocol))) < LOAD_S * S + 200 * MS
    assert longest_gap_us(simulate(moving(ASYNC, protocol))) < S + 500 * MS, (
        "a new leader's replicas may be refused once"
    )
    done = [simulate(moving(one, protocol)).tables["members"]["records"].sum() for one in (SYNC, ASYNC)]
    assert abs(done[0] - done[1]) <= 4, "afterwards it catches up, and nothing is read twice"


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_commit_sync_gives_up_in_time(protocol: str) -> None:
    """``default.api.timeout.ms``: then the application goes on, and its next commit waits as long again."""
    result = simulate(moving(SYNC, protocol, default_api_timeout_us=S))
    assert S <= longest_gap_us(result) < 2 * S, "of a partition whose leader is gone as well"
    rows = result.tables["unavailability"]
    assert (rows["from_us"] > MOVES_S * S).sum() > 2 * 4, "each partition more than twice"


def steps_back(monkeypatch: pytest.MonkeyPatch, made: Scenario) -> list[int]:
    """By how much the committed offset of a partition has gone back, each time that it has."""
    last: dict[int, int] = {}
    back: list[int] = []
    commit = Ledger.commit

    def watched(self: Ledger, positions: Any, offset: Any, moment: Any, *, contested: bool) -> None:
        for position, one in zip(positions.tolist(), offset.tolist(), strict=True):
            if one < last.get(position, 0):
                back.append(last[position] - one)
            last[position] = one
        commit(self, positions, offset, moment, contested=contested)

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "commit", watched)
        simulate(made, fidelity="message")
    return back


def test_a_callback_that_commits_again_overtakes_the_commit_of_the_next_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last commit that the loading coordinator has refused comes after the first that it has accepted."""
    assert steps_back(monkeypatch, moving(CALLBACK))
    assert not steps_back(monkeypatch, moving(ASYNC))
    assert not steps_back(monkeypatch, moving(SYNC))


@pytest.mark.parametrize("processing", [SYNC, CALLBACK], ids=["sync", "callback"])
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_both_fidelities_repeat_commits_alike(processing: Processing, protocol: str) -> None:
    assert not differences(moving(processing, protocol), 1)


def test_what_a_rebalance_refuses_is_not_repeated() -> None:
    """The application's next poll() joins again, and what was not committed is repeated by whoever gets it."""
    thrown = {
        Error.REBALANCE_IN_PROGRESS, Error.ILLEGAL_GENERATION, Error.UNKNOWN_MEMBER_ID, Error.STALE_MEMBER_EPOCH,
        Error.FENCED_INSTANCE_ID,
    }  # fmt: skip
    assert not thrown & RETRIABLE
    assert Error.COORDINATOR_LOAD_IN_PROGRESS in RETRIABLE
