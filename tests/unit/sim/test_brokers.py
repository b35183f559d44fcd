"""What brokers do with requests: which partition's coordinator has a group, when an answer leaves, what is counted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from groupsim.sim.books.record import GroupRecord
from groupsim.sim.books.requests import RequestCounts
from groupsim.sim.client.requests import Requests
from groupsim.sim.cluster.coordinator import partition_for
from groupsim.sim.gauge import Gauge
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.protocol.messages import NO_PARTITIONS, Api, Error, OffsetCommit
from groupsim.sim.randomness import Streams
from groupsim.sim.simulation import _build
from groupsim.sim.units import MS, S
from tests.unit.sim.scenes import scene


@pytest.mark.parametrize(
    ("group_id", "java_hash"),
    [("", 0), ("a", 97), ("hello world", 1_794_106_052), ("foobar", -1_268_878_963), ("polygenelubricants", -(2**31))],
)
def test_a_group_s_partition_is_that_of_its_java_hash(group_id: str, java_hash: int) -> None:
    """Utils.abs: the sign goes, and with it what has no positive counterpart."""
    assert partition_for(group_id, 50) == (0 if java_hash == -(2**31) else abs(java_hash) % 50)
    assert partition_for(group_id, 2**31 - 1) == (0 if java_hash == -(2**31) else abs(java_hash) % (2**31 - 1))


class _Line:
    """A connection that only remembers when answers leave."""

    request_key = (0, 0)

    def __init__(self) -> None:
        self.left: list[tuple[Error, int]] = []

    def reply(self, exchange: Exchange, response: Any, leave_us: int) -> None:
        self.left.append((response.error, leave_us))


def test_a_commit_is_answered_when_it_is_in_the_log_and_a_refused_one_at_once() -> None:
    """OffsetMetadataManager.commitOffset throws before anything is appended."""
    world = _build(scene(), Streams(1, 0), Gauge(), is_loud=True)
    world.env.run_before(10 * S)
    host, line, now = world.groups["g"], _Line(), world.env.now
    (member,) = host.machine.roster
    for generation in (host.machine.generation, host.machine.generation - 1):
        body = OffsetCommit(member.member_id, None, generation, NO_PARTITIONS, np.empty(0, np.int64))
        host.handle(Exchange(line, Api.OFFSET_COMMIT, body, "g", 0, now, 1, 1, now + S))  # type: ignore[arg-type]
    timing = host.cluster.timing
    assert line.left == [
        (Error.NONE, now + timing.service_us + timing.append_us),
        (Error.ILLEGAL_GENERATION, now + timing.service_us),
    ]


@pytest.mark.parametrize(("sent", "counts"), [(9, 0), (10, 1), (20, 1), (21, 0)])
def test_a_request_counts_if_it_was_sent_within_the_window_both_ends_included(sent: int, counts: int) -> None:
    exchange: Any = SimpleNamespace(api=Api.HEARTBEAT, sent_us=sent)
    reply: Any = SimpleNamespace(waiter=Exchange(None, Api.HEARTBEAT, None, "g", 0, sent, 0, 0, 0),  # type: ignore[arg-type]
                                 response=SimpleNamespace(error=Error.NONE))  # fmt: skip
    for count in (
        lambda one: one.count(exchange, Error.NONE),
        lambda one: one.count_answers([reply]),
        lambda one: one.count_quietly(Api.HEARTBEAT, Error.NONE, [sent], 1),
    ):
        record = GroupRecord()
        count(RequestCounts(record, (10, 20)))
        assert record.requests["Heartbeat", "NONE"] == counts


class _Machine:
    """A member that only remembers that its coordinator was lost, and what it was told."""

    coordinator = None

    def __init__(self) -> None:
        self.told: list[Any] = []

    def mark_coordinator_unknown(self, now: int) -> list[Any]:
        self.told.append("coordinator lost")
        return []

    def on_response(self, now: int, request: Any, response: Any) -> list[Any]:
        self.told.append((request, response.error))
        return []


def _requests(machine: _Machine) -> tuple[Requests, Any]:
    client = SimpleNamespace(
        env=None, machine=machine, label="g/0", is_over=False, frozen=None, late=[],
        consumer=SimpleNamespace(entity=1), world=SimpleNamespace(streams=Streams(1, 0)),
        do=lambda now, effects: None, drive=lambda now: None,
    )  # fmt: skip
    client.env = SimpleNamespace(now=5 * MS)
    in_flight = SimpleNamespace(connection=object(), pending={})
    return Requests(client, in_flight, None, None, None), in_flight  # type: ignore[arg-type]


def test_what_happens_to_another_connection_says_nothing_about_the_coordinator() -> None:
    """NetworkClient: a node is disconnected; what is in flight to others goes on."""
    machine = _Machine()
    requests, in_flight = _requests(machine)
    others, own = object(), in_flight.connection
    requests._reset_by_peer(others)  # type: ignore[arg-type]
    assert machine.told == []
    late = Exchange(others, Api.HEARTBEAT, "other", "g", 0, 0, 1, 1, 4 * MS)  # type: ignore[arg-type]
    mine = Exchange(own, Api.HEARTBEAT, "mine", "g", 1, 0, 1, 1, 9 * MS)
    in_flight.pending = {late: None, mine: None}
    requests.on_timeout(5 * MS)
    assert machine.told == []
    in_flight.pending[late] = None
    requests.disconnect(5 * MS, None)  # type: ignore[arg-type]
    assert machine.told == [("mine", Error.DISCONNECTED)]
    assert list(in_flight.pending) == [late]
    assert (mine.abandoned, in_flight.connection) == (True, None)


def test_what_happens_to_the_coordinator_s_connection_is_its_loss() -> None:
    machine = _Machine()
    requests, in_flight = _requests(machine)
    requests._reset_by_peer(in_flight.connection)
    assert machine.told == ["coordinator lost"]
    mine = Exchange(in_flight.connection, Api.HEARTBEAT, "mine", "g", 1, 0, 1, 1, 5 * MS)
    in_flight.pending = {mine: None}
    requests.on_timeout(5 * MS - 1)
    assert len(machine.told) == 1
    requests.on_timeout(5 * MS)
    assert machine.told[1:] == [("mine", Error.DISCONNECTED), "coordinator lost"]
