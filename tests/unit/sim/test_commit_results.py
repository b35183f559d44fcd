"""Each answer that a commit can get, and what the application then repeats.

The coordinator refuses one commit at 10 s, whatever it would have said. ``UNSTABLE_OFFSET_COMMIT`` is no answer to a
commit but to OffsetFetch, whose client waits and asks again (`tests.unit.sim.test_transactional_groups`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from groupsim.sim import Result, simulate
from groupsim.sim.model import Entry, Kill, Processing
from groupsim.sim.protocol.classic.member_requests import MemberRequests
from groupsim.sim.protocol.consumer.group import ConsumerGroup
from groupsim.sim.protocol.consumer.offsets import Offsets
from groupsim.sim.protocol.messages import Error
from groupsim.sim.units import MS, S
from tests.support.scenarios import at, client, group, member, scenario
from tests.unit.sim.scenes import delivered, lasting, rows
from tests.unit.sim.test_refused_commits import ASYNC, CALLBACK, SYNC

REFUSED_S = 10
BACKOFF_US = 100 * MS
STRATEGIES = {"async": ASYNC, "sync": SYNC, "callback": CALLBACK}
FOR_NOW = pytest.mark.parametrize("error", [Error.COORDINATOR_LOAD_IN_PROGRESS, Error.NOT_COORDINATOR])
PROTOCOLS = pytest.mark.parametrize("protocol", ["classic", "consumer"])
STRATEGY = pytest.mark.parametrize("strategy", STRATEGIES)


class Told(NamedTuple):
    """A commit of the only member, which reads two partitions, and the answer."""

    time_us: int
    offsets: tuple[int, ...]
    error: Error


class Commits:
    """All commits of a run; the first from 10 s on is answered with ``error``."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, error: Error) -> None:
        self._error = error
        self.told: list[Told] = []
        classic, consumer, work = MemberRequests._validate_commit, Offsets.check_commit, ConsumerGroup._commit

        def at_work(one: ConsumerGroup, now: int, *request: Any) -> Any:
            self._now = now
            return work(one, now, *request)

        monkeypatch.setattr(ConsumerGroup, "_commit", at_work)
        monkeypatch.setattr(
            MemberRequests, "_validate_commit", lambda one, now, body: self._tell(now, body, classic(one, now, body))
        )
        monkeypatch.setattr(Offsets, "check_commit", lambda one, body: self._tell(self._now, body, consumer(one, body)))

    def _tell(self, now: int, request: Any, verdict: Error) -> Error:
        is_first = now >= REFUSED_S * S and all(one.error is not self._error for one in self.told)
        self.told.append(Told(now, tuple(request.offsets.tolist()), self._error if is_first else verdict))
        return self.told[-1].error

    def run(self, strategy: str, protocol: Any = "classic", *timeline: Entry) -> Result:
        """Ten records a second of each partition, half a second a batch."""
        work: Processing = replace(STRATEGIES[strategy], per_poll_us=500 * MS)
        own = client(enable_auto_commit=False, group_protocol=protocol, retry_backoff_us=BACKOFF_US)
        readers = replace(group(1, client=own), processing=work)
        made = scenario(readers, *timeline, horizon_us=70 * S, rate_mrps=10_000, partitions=2, delay_us=0)
        return simulate(made, fidelity="message")

    @property
    def around(self) -> tuple[Told, Told, list[Told]]:
        """The last one that was accepted before, the one that was refused, and what followed."""
        (index,) = (number for number, one in enumerate(self.told) if one.error is self._error)
        return self.told[index - 1], self.told[index], self.told[index + 1 :]

    @property
    def uncommitted(self) -> int:
        """Records that only the refused commit had."""
        before, refused, _ = self.around
        return int(np.subtract(refused.offsets, before.offsets).sum())


@FOR_NOW
@PROTOCOLS
def test_who_waits_commits_the_same_again(monkeypatch: pytest.MonkeyPatch, error: Error, protocol: str) -> None:
    """``commitSync``: after retry.backoff.ms, or when the coordinator is known again; nothing else comes between."""
    commits = Commits(monkeypatch, error)
    result = commits.run("sync", protocol)
    _, refused, (again, *_) = commits.around
    assert (again.offsets, again.error) == (refused.offsets, Error.NONE)
    assert BACKOFF_US <= again.time_us - refused.time_us < BACKOFF_US + 10 * MS
    assert not delivered(result)


@FOR_NOW
@PROTOCOLS
def test_who_does_not_wait_commits_what_comes_next(
    monkeypatch: pytest.MonkeyPatch, error: Error, protocol: str
) -> None:
    """``commitAsync`` repeats nothing: what was refused is committed with the next batch."""
    commits = Commits(monkeypatch, error)
    result = commits.run("async", protocol)
    _, refused, (following, *_) = commits.around
    assert sum(following.offsets) > sum(refused.offsets)
    assert not delivered(result)


@FOR_NOW
def test_a_callback_commits_the_same_after_what_comes_next(monkeypatch: pytest.MonkeyPatch, error: Error) -> None:
    commits = Commits(monkeypatch, error)
    commits.run("callback")
    _, refused, (following, again, *_) = commits.around
    assert sum(following.offsets) > sum(refused.offsets)
    assert again.offsets == refused.offsets


@pytest.mark.parametrize(("error", "protocol"), [
    (Error.COORDINATOR_LOAD_IN_PROGRESS, "classic"), (Error.NOT_COORDINATOR, "consumer"),
    (Error.STALE_MEMBER_EPOCH, "consumer"),
])  # fmt: skip
def test_what_is_not_committed_by_a_kill_is_processed_again(
    monkeypatch: pytest.MonkeyPatch, error: Error, protocol: str
) -> None:
    """The batch that was refused, and what was processed in the next 10 ms: two records at most."""
    commits = Commits(monkeypatch, error)
    commits.run("async", protocol)
    with monkeypatch.context() as patch:
        again = Commits(patch, error)
        died = at(commits.around[1].time_us + 10 * MS, Kill(target=member(0), down=lasting(S)))
        result = again.run("async", protocol, died)
    assert again.uncommitted > 0
    assert again.uncommitted <= delivered(result)["duplicate", "kill"] <= again.uncommitted + 2


@STRATEGY
def test_a_stale_epoch_costs_nothing_but_the_commit(monkeypatch: pytest.MonkeyPatch, strategy: str) -> None:
    """``CommitFailedException``: the member stays what it is, and the next batch's commit has a newer epoch."""
    commits = Commits(monkeypatch, Error.STALE_MEMBER_EPOCH)
    result = commits.run(strategy, "consumer")
    _, refused, following = commits.around
    assert sum(following[0].offsets) > sum(refused.offsets)
    assert not delivered(result)
    assert len(rows(result, "rebalances")) == 1


@STRATEGY
@pytest.mark.parametrize(("error", "ids"), [(Error.UNKNOWN_MEMBER_ID, 2), (Error.ILLEGAL_GENERATION, 1)])
def test_who_is_no_member_joins_again_and_repeats_what_it_did(
    monkeypatch: pytest.MonkeyPatch, strategy: str, error: Error, ids: int
) -> None:
    """Everything is lost: it reads on from the last commit that was accepted. Only who is unknown needs a new id.

    It hears of that in its next poll(), and so repeats the batch that it has in hand, too: ten records.
    """
    commits = Commits(monkeypatch, error)
    result = commits.run(strategy)
    _, refused, following = commits.around
    assert refused.offsets not in [one.offsets for one in following]
    assert commits.uncommitted > 0
    assert sum(delivered(result).values()) == commits.uncommitted + 10
    assert rows(result, "requests", api="JoinGroup", error="MEMBER_ID_REQUIRED")[0]["count"] == ids
    assert len(rows(result, "rebalances")) == 2


@STRATEGY
def test_in_a_rebalance_it_joins_again_and_keeps_what_it_has(monkeypatch: pytest.MonkeyPatch, strategy: str) -> None:
    """``RebalanceInProgressException``: the next poll() joins; what is processed is committed before or after."""
    commits = Commits(monkeypatch, Error.REBALANCE_IN_PROGRESS)
    result = commits.run(strategy)
    assert len(rows(result, "rebalances")) == 2
    assert rows(result, "requests", api="JoinGroup", error="MEMBER_ID_REQUIRED")[0]["count"] == 1
    assert not delivered(result)


@STRATEGY
def test_who_is_fenced_ends(monkeypatch: pytest.MonkeyPatch, strategy: str) -> None:
    """``FencedInstanceIdException`` is fatal: poll() throws it, and nothing is committed any more."""
    commits = Commits(monkeypatch, Error.FENCED_INSTANCE_ID)
    result = commits.run(strategy)
    assert not commits.around[2]
    assert rows(result, "members")[0]["ended_by"] == "failed: FENCED_INSTANCE_ID"
