"""Transactions while brokers are cut off from one another: what they tell one another waits, or is given up.

Source: ``AddPartitionsToTxnManager``, ``InterBrokerSendThread``, ``TransactionMarkerRequestCompletionHandler``,
``CoordinatorOperationExceptionHelper.handleOperationException`` (Kafka 4.4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from groupsim.sim import Result
from groupsim.sim.cluster.transactions.coordinator_requests import CoordinatorRequests
from groupsim.sim.config import BrokerConfig, TransactionConfig
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.model import CrashAt, Cut, Entry, Kill, Scenario
from groupsim.sim.protocol.messages import Acknowledgement, Api, Error
from groupsim.sim.protocol.transactions.messages import TV1, TV2, AddPartitionsToTxn
from groupsim.sim.units import MS, S
from tests.unit.sim.scenes import entry, lasting, member, rows
from tests.unit.sim.test_transactional_outages import (
    APART,
    LEADER,
    OF_GROUP,
    broker,
    coordinator_of,
    instants,
    is_once,
    scenario,
)
from tests.unit.sim.transactional_scenes import JITTER, SLOW_LOG, Readers, answers, output, played, producing, total

CUT_US = 15 * S
OF_TRANSACTIONS = coordinator_of(APART)
ALONE = replace(
    JITTER,
    transactions=TransactionConfig(replication_factor=1, min_insync=1),
    broker_config=BrokerConfig(offsets_replication_factor=1, session_timeout_us=200 * S),
)
"""Nobody follows anybody, and nobody is fenced: a cut is only in the way of requests."""
SLOW_ALONE = replace(ALONE, network=SLOW_LOG.network, timing=SLOW_LOG.timing)


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> Readers:
    return Readers(monkeypatch)


def between(one: int, other: int | str, length_s: float, at_us: int = CUT_US) -> Entry:
    return entry(at_us, Cut(between=(broker(one), broker(other)), duration=lasting(round(length_s * S))), "cut")


def alone(*timeline: Entry, **more: Any) -> Scenario:
    """The first output partition, the group and the transactional id have leaders of their own."""
    more = {"cluster": ALONE, "copies": 1, "produces": producing(transactional_id=APART), "horizon_s": 90, **more}
    return scenario(*timeline, **more)


def longest_s(scenario: Scenario) -> float:
    """What the longest commit has taken."""
    return total(played(scenario), "took_us_max", max) / S


@pytest.mark.parametrize("node", [LEADER, OF_GROUP])
def test_what_a_broker_asks_a_coordinator_arrives_when_the_link_is_whole_again(readers: Readers, node: int) -> None:
    result = played(alone(between(node, OF_TRANSACTIONS, 20)))
    # What is sent while markers of the transaction before are on their way is asked for once more, cut or not.
    assert answers(result, "Produce").keys() - {"CONCURRENT_TRANSACTIONS"} == {"NONE"}
    assert answers(result, "TxnOffsetCommit").keys() == {"NONE"}
    assert 18 * S < total(result, "took_us_max", max) < 21 * S
    assert is_once(readers, 600)


@pytest.mark.parametrize("version", [TV1, TV2])
@pytest.mark.parametrize(
    ("node", "api", "error"),
    [(LEADER, "Produce", "NOT_ENOUGH_REPLICAS"), (OF_GROUP, "TxnOffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS")],
)
def test_a_broker_gives_up_after_its_request_timeout_and_the_producer_sends_again(
    readers: Readers, version: int, node: int, api: str, error: str
) -> None:
    transactions = replace(ALONE.transactions, version=version)
    cluster = replace(ALONE, transactions=transactions)
    result = played(alone(between(node, OF_TRANSACTIONS, 40), cluster=cluster, partitions=1))
    assert answers(result, api)[error] == 1
    assert 38 * S < total(result, "took_us_max", max) < 41 * S
    assert is_once(readers, 600, partitions=1)


def test_brokers_that_reach_the_coordinator_are_not_concerned() -> None:
    (third,) = {0, 1, 2} - {OF_TRANSACTIONS, LEADER}
    assert longest_s(alone(between(third, LEADER, 40))) < 1


class Asking:
    """One broker asks another one, a millisecond away, at 0."""

    def __init__(self, *, by: int = 0) -> None:
        self.env = Environment(event_budget=10)
        self.is_cut = True
        self.asked: list[int] = []
        self.done: list[tuple[int, Error]] = []
        shard: Any = SimpleNamespace(node=1, key=0, ask_at=self.ask_at)
        self.requests = CoordinatorRequests(self.env, lambda *_: self.is_cut, trip_us=MS, service_us=0)
        request = AddPartitionsToTxn("x", 0, 0, (("out", 0),), TV2)
        self.requests.ask(shard, {by}, request, lambda error: self.done.append((self.env.now, error)))

    def ask_at(self, time: int, _: object, answer: Callable[[int, Acknowledgement], object]) -> None:
        """A request is to arrive."""
        self.asked.append(time)
        self.env.at(time, 0, self.reply, answer)

    def reply(self, answer: Callable[[int, Acknowledgement], object]) -> None:
        """The coordinator has done what it was asked for; from now on nothing gets through."""
        self.is_cut = True
        answer(self.env.now, Acknowledgement(Error.NONE))

    def heal(self, at_us: int) -> None:
        """The link is whole again."""
        self.env.run_before(at_us)
        self.env.close_at(at_us)
        self.is_cut = False
        self.requests.rewired()


def test_a_broker_asks_itself_whoever_is_cut_off() -> None:
    """It is among all those that it cannot reach."""
    assert Asking(by=1).asked == [MS]


def test_an_answer_that_cannot_get_through_arrives_when_the_link_is_whole_again() -> None:
    one = Asking()
    one.heal(at_us=S)
    assert one.asked == [S + MS]
    one.heal(at_us=3 * S)
    one.env.run_before(4 * S)
    assert one.done == [(3 * S + MS, Error.NONE)]


def test_who_has_asked_waits_for_the_answer_no_longer_than_its_request_timeout() -> None:
    one = Asking()
    one.heal(at_us=S)
    one.env.run_before(40 * S)
    assert one.done == [(30 * S, Error.NETWORK_EXCEPTION)]
    one.heal(at_us=41 * S)
    one.env.run_before(50 * S)
    assert len(one.done) == 1


def first_us(monkeypatch: pytest.MonkeyPatch, method: str, **more: Any) -> int:
    """When a method of transactions is first called after 15 s."""
    with monkeypatch.context() as patch:
        called = instants(patch, method)
        played(scenario(**{"produces": producing(transactional_id=APART), "horizon_s": 20, **more}))
    return next(time for time in called if time > CUT_US)


def test_whom_a_request_reaches_at_last_may_coordinate_no_more(
    readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was fenced meanwhile; the leader asks the next one for the producer's next attempt."""
    more = {"cluster": JITTER, "copies": 1}
    at = first_us(monkeypatch, "_add", **more)
    result = played(alone(between(OF_TRANSACTIONS, "all", 20, at - MS), **more))
    assert answers(result, "Produce")["NOT_ENOUGH_REPLICAS"] == 1
    assert 19 * S < total(result, "took_us_max", max) < 21 * S
    assert is_once(readers, 600)


def blocked_us(result: Result) -> int:
    """For how long readers of the first output partition have waited for a marker."""
    return int(rows(result, "output", partition=0)[0]["blocked_us_max"])


@pytest.mark.parametrize("node", [LEADER, OF_GROUP])
def test_markers_wait_for_a_link(readers: Readers, monkeypatch: pytest.MonkeyPatch, node: int) -> None:
    """Who commits is told so; readers of a partition wait until its leader hears of it, whoever else does not."""
    more = {"cluster": SLOW_ALONE, "copies": 1}
    at = first_us(monkeypatch, "_send_markers", **more)
    result = played(alone(between(node, OF_TRANSACTIONS, 12, at - 100 * MS), **more))
    assert (blocked_us(result) > 12 * S) == (node == LEADER)
    assert total(result, "aborted") == 0
    assert is_once(readers, 500)


def test_a_marker_for_a_partition_of_the_same_broker_waits_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    together = next(name for name in "abcdef" if coordinator_of(name) == LEADER)
    more = {"cluster": SLOW_ALONE, "copies": 1, "produces": producing(transactional_id=together)}
    at = first_us(monkeypatch, "_send_markers", **more)
    assert blocked_us(played(alone(between(LEADER, "all", 12, at - 100 * MS), **more))) < 12 * S


def test_what_is_on_its_way_when_a_link_is_cut_arrives(readers: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    more = {"cluster": SLOW_ALONE, "copies": 1}
    at = first_us(monkeypatch, "_send_markers", **more)
    result = played(alone(between(LEADER, OF_TRANSACTIONS, 12, at + 100 * MS), **more))
    assert blocked_us(result) < 12 * S
    assert is_once(readers, 500)


@pytest.mark.parametrize(("length_s", "aborts"), [(4, False), (30, True)])
def test_what_only_an_isolated_coordinator_has_written_is_gone_when_another_one_leads(
    readers: Readers, monkeypatch: pytest.MonkeyPatch, length_s: int, aborts: bool
) -> None:
    """The application dies when it has sent EndTxn to a coordinator that nobody follows any more.

    If the link is whole before the broker is fenced, that commits; the next coordinator knows of an open transaction.
    """
    produces = producing(transactional_id=APART, transaction_timeout_us=20 * S)
    with monkeypatch.context() as patch:
        ends = instants(patch, "receive", Api.END_TXN)
        played(scenario(cluster=SLOW_LOG, produces=produces, horizon_s=20))
    at = next(time for time in ends if time > CUT_US)
    crash = entry(at - 500 * MS, CrashAt(target=member(0), point="after_end_txn"))
    more = {"cluster": SLOW_LOG, "produces": produces, "horizon_s": 120}
    result = played(scenario(crash, between(OF_TRANSACTIONS, "all", length_s, at - MS), **more))
    assert total(result, "aborted") == int(aborts)
    assert output(result)["read_committed"] == (0, 0)


@pytest.mark.parametrize(
    ("length_s", "protocol"),
    [
        (25, "consumer"), (45, "classic"),
        *(
            pytest.param(*one, marks=pytest.mark.slow)
            for one in ((5, "consumer"), (5, "classic"), (25, "classic"), (45, "consumer"))
        ),
    ],
)  # fmt: skip
def test_each_input_is_counted_once_when_a_broker_is_alone(readers: Readers, protocol: str, length_s: int) -> None:
    for node in (OF_GROUP, LEADER, OF_TRANSACTIONS):
        result = played(scenario(between(node, "all", length_s), count=2, protocol=protocol, horizon_s=120))
        assert is_once(readers, 1_000)
        assert output(result)["read_committed"] == (0, 0)


def test_both_fidelities_agree() -> None:
    dead = entry(33 * S, Kill(target=broker(1), down=lasting(4 * S)))
    for node, other in ((0, 1), (2, "all")):
        made = scenario(between(node, other, 35), dead, count=2, horizon_s=80)
        digests = [played(made, one).manifest["digests"] for one in ("elided", "message")]
        assert digests[0] == digests[1]
