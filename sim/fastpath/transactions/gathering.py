"""Parked members as columns: what each is, what it reads, and how far it has come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from groupsim.sim.books.group_books import GroupBooks
from groupsim.sim.books.offsets.production import Offsets
from groupsim.sim.client.client import Client
from groupsim.sim.client.polling.drawn_schedule import DrawnPollSchedule
from groupsim.sim.client.polling.heartbeat_thread import Cadence
from groupsim.sim.client.polling.pace import Load, Pace
from groupsim.sim.client.producing.transactional_client import TransactionalClient
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.cluster.transactions.transactions import Transactions
from groupsim.sim.fastpath.transactions.chain import Surface
from groupsim.sim.fastpath.transactions.columns import Costs, Held, Members, Standing, paces
from groupsim.sim.protocol.classic.member import ClassicMember
from groupsim.sim.protocol.transactions.messages import LAST_EPOCH
from groupsim.sim.units import FOREVER


@dataclass(frozen=True, slots=True)
class Parked:
    """A member that waits.

    Parameters
    ----------
    client : TransactionalClient
    since_us : int, microseconds
        When its thread came back from the commit.
    renewed_us : int, microseconds
        Last renewal of its session.
    """

    client: TransactionalClient
    since_us: int
    renewed_us: int


def beats_on_time(client: Client) -> bool:
    """Whether the thread that sends its heartbeats waits for nobody, as in the consumer protocol."""
    return not isinstance(client.machine, ClassicMember)


def is_like(client: Client, other: Client) -> bool:
    """Whether latencies of both are of one law, and what records cost them."""
    return client.path.law is other.path.law and client.processing.per_record == other.processing.per_record


def completion_us(host: Transactions) -> int:
    """How long after a member's thread is back all markers are written, and its coordinator has noted that, at most."""
    return 2 * (host.trip_us + host.append_us)


def surface(group: GroupHost, host: Transactions, client: TransactionalClient) -> Surface:
    """What the cluster is to members of a group, of which ``client`` is one."""
    law = client.path.law
    assert law is not None
    return Surface(
        client.world.timing.poll_us, host.trip_us, host.service_us, host.append_us, host.retry_us,
        group.watermark, law, client.path.waits("heartbeat"), beats_on_time(client),
    )  # fmt: skip


def members(host: Transactions, parked: Sequence[Parked], clear_until_us: int) -> Members:
    """What they are; nothing disturbs anybody before ``clear_until_us``."""
    clients = [one.client for one in parked]
    kept_us = [host.kept_until_us(one.transactions.life.transactional_id) for one in clients]
    pauses_us = [one.suspension.next_start for one in clients]
    paced = [_pace_of(one) for one in clients]
    return Members(
        slots=np.array([one.consumption.slot for one in clients]),
        pace=paces(paced),
        cost_us=np.array([one.transactions.cost_us for one in clients]),
        costs=_costs(clients, paced),
        cadence=Cadence(*np.array([one.poll_loop.cadence for one in clients]).T),
        beat_interval_us=np.array([one.machine.heartbeat_interval_us for one in clients]),
        other_key=np.array([one.path.keys["other"] for one in clients], np.uint64),
        beat_key=np.array([one.path.keys["heartbeat"] for one in clients], np.uint64),
        producer_id=np.array([one.transactions.output.producer_id for one in clients]),
        limit_us=np.minimum(np.minimum(kept_us, pauses_us), clear_until_us),
        patience_us=np.array([_patience_us(one) for one in clients]),
        most=np.array([LAST_EPOCH - 2 - one.transactions.output.epoch for one in clients]),
    )


def _pace_of(client: TransactionalClient) -> Pace:
    """It is the same whatever waits."""
    held = client.consumption.partitions
    return client.fetcher.pacing.pace(len(held), Load(client.books.ledger.rate_of(held), 0.0))


def _costs(clients: Sequence[TransactionalClient], paced: Sequence[Pace]) -> Costs | None:
    law = clients[0].processing.per_record
    if law.kind == "constant":
        return None
    return Costs(
        law,
        key=np.array([one.fetcher.pacing.record_cost.key for one in clients], np.uint64),
        fixed_us=np.array([one.fetcher.pacing.fixed_us(pace) for one, pace in zip(clients, paced, strict=True)]),
        record_wait_us=np.array([one.processing.record_wait_us for one in clients]),
    )


def _batches(client: TransactionalClient) -> int:
    """Number of the batch that its next poll() begins."""
    schedule = client.poll_loop.known_schedule
    return schedule.number_at(client.poll_loop.held_us) if isinstance(schedule, DrawnPollSchedule) else 0


def _waits_since(client: TransactionalClient) -> int:
    """When the step in hand of its heartbeat thread began, microseconds; 0: there are none."""
    return 0 if beats_on_time(client) else int(client.machine.waiting_since)


def _refers(client: TransactionalClient) -> bool:
    """Whether the pass before its next poll has submitted an event."""
    events = client.poll_loop.known_schedule.events
    return events is not None and events.refers_before(client.poll_loop.held_us)


def _waiting(client: TransactionalClient, now: int) -> float:
    """Records that the poll() returns which is then."""
    return float(client.fetcher.pacing.waiting(now, client.consumption.holding.offset).backlog)


def _patience_us(client: TransactionalClient) -> int:
    """How long a transaction may take at most, from the commit before it."""
    config, interval_us = client.config, int(client.machine.heartbeat_interval_us)
    return min(client.transactions.timeout_us, config.max_poll_interval_us, config.request_timeout_us, interval_us)


def holdings(books: GroupBooks, parked: Sequence[Parked]) -> tuple[Held, Offsets]:
    """What they read, and where they are in it."""
    held = [one.client.consumption.holding for one in parked]
    positions, outputs = (
        np.concatenate([one.partitions for one in held]),
        parked[0].client.transactions.output.partitions,
    )
    output = books.partitions.number[positions].astype(np.int64) % outputs
    lengths = np.array([len(one.partitions) for one in held])
    offsets: Offsets = np.concatenate([one.offset for one in held])
    return Held.by(positions, lengths, output, books.ledger.rate_mrps[positions]), offsets


def standing(host: Transactions, parked: Sequence[Parked]) -> Standing:
    """How far they have come."""
    clients = [one.client for one in parked]
    names = [one.transactions.life.transactional_id for one in clients]
    numbers, machines = [one.in_flight.numbers for one in clients], [one.machine for one in clients]
    return Standing(
        back_us=np.array([one.since_us for one in parked]),
        waiting=np.array([_waiting(one.client, one.since_us) for one in parked]),
        free_us=np.array([host.shard_of(name).free_from(name) for name in names]),
        batches=np.array([_batches(one) for one in clients]),
        refers=np.array([_refers(one) for one in clients]),
        other=np.array([one["other"] for one in numbers]),
        beats=np.array([one["heartbeat"] for one in numbers]),
        beat_due_us=np.array([one.heartbeat_due for one in machines]),
        waits_since_us=np.array([_waits_since(one) for one in clients]),
        renewed_us=np.array([one.renewed_us for one in parked]),
        answered_us=np.full(len(parked), -FOREVER),
    )
