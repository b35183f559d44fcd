"""What a member that is ending a transaction does not do meanwhile, and what comes too late for one that is over."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from groupsim.sim.books.consumption import Consumption
from groupsim.sim.client.in_flight import InFlight
from groupsim.sim.client.polling.poll_loop import PollLoop
from groupsim.sim.cluster.transactions.transactions import Transactions
from groupsim.sim.config import CoordinatorConfig, Timing
from groupsim.sim.model import Cluster, Kill
from groupsim.sim.protocol.messages import Api
from groupsim.sim.units import MS, S
from tests.unit.sim.scenes import entry, lasting, member, rows
from tests.unit.sim.transactional_scenes import SLOW_LOG, answers, output, played, transform

NO_DELAY = CoordinatorConfig(initial_rebalance_delay_us=0)


class Holds:
    """What happens to members while their threads end transactions.

    Attributes
    ----------
    beats : list of (int, int)
        Heartbeats that were sent meanwhile: how long after the thread's step began in which the transaction's end did,
        or after the last one; and how long steps are.
    steps : list of (int, int)
        When the step in hand began, as the thread knows it and as it is, where a transaction begins or has ended.
    begun : int
        First fetches that were read meanwhile.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.beats: list[tuple[int, int]] = []
        self.steps: list[tuple[int, int]] = []
        self.begun = 0
        self._since: dict[PollLoop, int] = {}
        self._loops: dict[object, PollLoop] = {}
        hold, release, exchange, begin = PollLoop.hold, PollLoop.release, InFlight.exchange, Consumption.begin

        def held(loop: PollLoop, now: int) -> None:
            client: Any = loop._client
            self._loops[client.in_flight] = self._loops[client.consumption] = loop
            since = client.machine.waiting_since
            self._since[loop] = since if loop.schedule is None else loop._first_wake(since, now)[0]
            hold(loop, now)
            self.steps.append((client.machine.waiting_since, self._since[loop]))

        def released(loop: PollLoop, now: int) -> None:
            machine: Any = loop._client.machine
            since, step_us = self._since[loop], loop.cadence.step_us
            release(loop, now)
            if loop.schedule is not None:
                self.steps.append((machine.waiting_since, now - 1 - (now - 1 - since) % step_us))

        def sent(in_flight: InFlight, now: int, connection: Any, api: Any, body: Any) -> Any:
            loop = self._loops.get(in_flight)
            if api is Api.HEARTBEAT and loop is not None and loop.is_held and loop.schedule is not None:
                self.beats.append((now - self._since[loop], loop.cadence.step_us))
                self._since[loop] = now
            return exchange(in_flight, now, connection, api, body)

        def read(consumption: Consumption, *arguments: Any) -> None:
            self.begun += consumption in self._loops and self._loops[consumption].is_held
            begin(consumption, *arguments)

        patch.setattr(PollLoop, "hold", held)
        patch.setattr(PollLoop, "release", released)
        patch.setattr(InFlight, "exchange", sent)
        patch.setattr(Consumption, "begin", read)


@pytest.fixture
def holds(monkeypatch: pytest.MonkeyPatch) -> Holds:
    return Holds(monkeypatch)


def test_a_fetch_that_is_answered_while_a_transaction_ends_is_read_in_the_poll_that_follows(holds: Holds) -> None:
    """The heir of a killed member has partitions of its own: it commits while the first fetch is under way."""
    killed = entry(8 * S, Kill(target=member(1)))
    result = played(transform(killed, protocol="cooperative", cluster=SLOW_LOG, horizon_s=35))
    served = [one["to_us"] for one in rows(result, "unavailability", cause="resume") if one["to_us"] > 15 * S]
    assert served, "the heir has got something"
    assert holds.begun == 0


def test_the_heartbeat_thread_goes_by_its_own_steps_while_a_transaction_ends(holds: Holds) -> None:
    """``HeartbeatThread.run``: nobody is inside poll(), so that no wait there prolongs a step."""
    result = played(transform(cluster=SLOW_LOG, horizon_s=60))
    assert len(holds.beats) > 10
    assert {since % step for since, step in holds.beats} == {0}
    assert [known for known, _ in holds.steps] == [since for _, since in holds.steps]
    assert answers(result, "Heartbeat").keys() == {"NONE"}


def test_offsets_that_come_after_the_end_of_their_transaction_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """``ProducerAppendInfo.checkProducerEpoch`` of the offsets partition: the marker was there first.

    The broker of the group has asked the coordinator, and is slow to hear the answer; meanwhile a successor with the
    same id aborts the transaction. Offsets that were taken then would be undecided for ever.
    """
    asked: list[int] = []
    commit = Transactions._commit_offsets

    def spied(host: Transactions, exchange: Any) -> None:
        asked.append(exchange.sent_us)
        commit(host, exchange)

    monkeypatch.setattr(Transactions, "_commit_offsets", spied)
    slow = Cluster(config=NO_DELAY, timing=Timing(service_us=700 * MS))
    base = transform(cluster=slow, count=1, horizon_s=40)
    played(base)
    at = next(one for one in asked if one > 8 * S)
    boot = replace(base.groups[0], members=replace(base.groups[0].members, boot=lasting(MS)))
    killed = replace(base, groups=(boot,), timeline=(entry(at + 5 * MS, Kill(target=member(0), down=lasting(MS))),))
    result = played(killed)
    assert answers(result, "TxnOffsetCommit").get("INVALID_PRODUCER_EPOCH") == 1
    assert output(result)["read_committed"] == (0, 0)
    (first, second) = rows(result, "transactions")
    assert first["aborted"] == 1
    assert second["committed"] > 0, "the successor has found its offsets decided"
