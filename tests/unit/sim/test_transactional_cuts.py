"""Transactions of a member that is cut off from brokers: what is on its way is lost, and what comes of its transaction.

Source: ``NetworkClient.handleTimedOutRequests``, ``TransactionManager.TxnOffsetCommitHandler`` (Kafka 4.4).
"""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.sim import Result
from groupsim.sim.client.producing.producer_requests import ProducerRequests
from groupsim.sim.cluster.transactions.transactions import Transactions
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.model import Cut, Kill, Scenario
from groupsim.sim.protocol.messages import Api
from groupsim.sim.units import MS, S
from tests.unit.sim.scenes import entry, lasting, member, rows
from tests.unit.sim.test_transactional_outages import LEADER, NODES, broker, is_once, scenario
from tests.unit.sim.transactional_scenes import Readers, answers, output, played, producing

CUT_US = 15_140 * MS
"""What is processed of a batch is acknowledged: its offsets are sent next."""
Told = list[tuple[int, Api, str]]
"""When the producer of a member heard what of which request."""


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> Readers:
    return Readers(monkeypatch)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    found: Told = []
    is_open = ProducerRequests._is_open

    def spied(requests: ProducerRequests, exchange: Exchange, response: Any) -> bool:
        if requests._client.consumer.name == "g/1" and exchange in requests._answers:
            found.append((requests._env.now, exchange.api, response.error.value))
        return is_open(requests, exchange, response)

    monkeypatch.setattr(ProducerRequests, "_is_open", spied)
    return found


def cut(length_s: float, node: int | str = "all", *more: Any, **of: Any) -> Scenario:
    """The second of two members cannot reach a broker for a while."""
    verb = Cut(between=(member(1), broker(node)), duration=lasting(round(length_s * S)))
    return scenario(entry(CUT_US, verb), *more, **{"count": 2, "horizon_s": 130, **of})


def ends(result: Result) -> dict[str, str]:
    return {row["member"]: row["ended_by"] for row in rows(result, "members")}


@pytest.mark.parametrize(
    ("node", "length_s", "protocol"),
    [
        ("all", 3, "classic"), ("all", 45, "consumer"), (0, 20, "classic"), (1, 70, "consumer"), (2, 70, "classic"),
        *(
            pytest.param(*one, marks=pytest.mark.slow)
            for one in (
                ("all", 3, "consumer"), ("all", 45, "classic"), (0, 20, "consumer"), (1, 70, "classic"),
                (2, 70, "consumer"),
            )
        ),
    ],
)  # fmt: skip
def test_each_input_is_counted_once(readers: Readers, protocol: str, node: int | str, length_s: int) -> None:
    result = played(cut(length_s, node, protocol=protocol))
    assert is_once(readers, 1_200)
    assert output(result)["read_committed"] == (0, 0)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_both_fidelities_agree(protocol: str) -> None:
    digests = [
        played(cut(20, protocol=protocol, horizon_s=60), how).manifest["digests"] for how in ("elided", "message")
    ]
    assert digests[0] == digests[1]


def test_what_is_on_its_way_is_given_up_when_its_time_is_over(told: Told) -> None:
    """Nobody says that the connection is dead; one that is to be made anew is given up after its own time."""
    played(cut(28, horizon_s=60, produces=producing(request_timeout_us=12 * S, delivery_timeout_us=60 * S)))
    lost = [one for one in told if one[2] == "DISCONNECTED"]
    (first_us, api, _), *others = lost
    assert api in (Api.PRODUCE, Api.TXN_OFFSET_COMMIT, Api.END_TXN)
    assert CUT_US < first_us <= CUT_US + 12 * S
    asked_us = first_us + 100 * MS
    (second_us, what, _), *_ = others
    assert what is Api.FIND_COORDINATOR
    assert second_us - asked_us in (10 * S, 12 * S), "a new connection, or one that it believes to have"


def test_a_connection_that_was_idle_is_reset_when_the_broker_can_be_reached_again(told: Told) -> None:
    """Nothing was under way to the leader of one output partition while it could not be reached."""
    played(cut(0.05, 2, horizon_s=20))
    lost = [one for one in told if one[2] != "NONE"]
    assert [(api, error) for _, api, error in lost] == [(Api.PRODUCE, "DISCONNECTED")]
    assert CUT_US + 50 * MS < lost[0][0] < CUT_US + S
    assert told[-1][0] > 19 * S


def test_who_comes_back_after_its_transaction_has_timed_out_is_fenced(readers: Readers) -> None:
    """A transactional request with its old epoch is the end of a producer; its partitions are read by the other one."""
    result = played(cut(70))
    assert ends(result) == {"g/0": "horizon", "g/1": "failed: INVALID_PRODUCER_EPOCH"}
    assert answers(result, "TxnOffsetCommit")["INVALID_PRODUCER_EPOCH"] == 1
    assert is_once(readers, 1_200)


def test_a_flush_is_lost_if_one_of_its_leaders_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one's leader can be reached: it does not pass on what is for the other one."""
    arrived: list[tuple[int, int]] = []
    receive = Transactions.receive

    def spied(host: Transactions, exchange: Exchange) -> None:
        if exchange.api is Api.PRODUCE and exchange.body.transactional_id == "g/1":
            arrived.append((host._env.now, len(exchange.body.batches)))
        receive(host, exchange)

    monkeypatch.setattr(Transactions, "receive", spied)
    played(cut(10, (LEADER + 1) % NODES, horizon_s=60))
    assert [batches for at, batches in arrived if at < CUT_US and batches > 1]
    assert not [batches for at, batches in arrived if CUT_US + 10 * MS < at < CUT_US + 10 * S and batches > 1]


def test_a_broker_that_dies_meanwhile_says_so_only_when_it_can_be_reached(told: Told) -> None:
    dies = entry(20 * S, Kill(target=broker(0), down=lasting(5 * S)))
    played(cut(25, 0, dies, horizon_s=90))
    lost = [one for one in told if one[2] == "DISCONNECTED"]
    assert not [at for at, _, _ in lost if 20 * S <= at < 21 * S]
