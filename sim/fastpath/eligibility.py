"""Which members may go through a phase with others: those of plain configuration. The rest take steps as events."""

from __future__ import annotations

from groupsim.assignors import Assignor, CooperativeStickyAssignor
from groupsim.sim.client.client import Client
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.kernel.network import Exchange


def has_cohort(group: GroupHost) -> bool:
    """Whether nothing about a group makes the order of its members' steps matter."""
    machine, books = group.machine, group.books
    room = len(machine.roster) + len(machine.roster.pending) < machine.config.max_size
    is_calm = group.is_calm and bool(books.partitions.is_readable.all())
    return (
        room
        and is_calm
        and not (books.is_broadcast or books.assigns_by_hand or machine.is_old or not books.ledger.keeps_everything)
    )


def is_plain(client: Client) -> bool:
    """Whether a client of this configuration can go through phases with others.

    It has no listeners that take time, leaders do not send it to followers, and nothing bounds its fetches.
    """
    machine, processing, behaviour = client.machine, client.processing, client.config.behaviour
    return not (
        client.world.is_loud
        or client.world.catalog.sends_elsewhere(client.config.client_rack)
        or client.fetcher.pacing.bounds.are_felt
        or machine.commits == "before_processing"
        or processing.commit_every_us
        or machine.commit_on_revoked
        or processing.on_revoked_us
        or processing.on_assigned_us
        or not behaviour.background_heartbeat
        or not behaviour.heartbeat_in_completing
    )


def has_memory(client: Client) -> bool:
    """Whether an assignor puts something of its own into the subscription, or wants to hear of every assignment.

    What cooperative-sticky remembers, a generation, is known to whoever deals with a cooperative member
    (`sim.fastpath.phases.deferred`).
    """
    return any(
        (
            type(one).on_assignment is not Assignor.on_assignment
            or type(one).subscription_user_data is not Assignor.subscription_user_data
        )
        and not (client.machine.cooperative and type(one) is CooperativeStickyAssignor)
        for one in client.assignors
    )


def is_parked(client: Client, exchange: Exchange, now: int) -> bool:
    """Whether a member waits for the answer to this request of a rebalance, and for nothing else."""
    machine, in_flight, poll_loop = client.machine, client.in_flight, client.poll_loop
    connection = in_flight.connection
    return (
        not machine.cooperative
        and len(in_flight.pending) == 1
        and exchange in in_flight.pending
        and not client.inbox
        and connection is exchange.connection
        and connection.is_calm
        and client.frozen is None
        and client.command is None
        and poll_loop.schedule is None
        and not poll_loop.is_at_work
        and poll_loop.stuck_until <= now
        and machine.failed is None
        and machine.pattern is None
        and not machine.listening
        and not machine.owned.size
        and not machine.uninitialised.size
        and not client.consumption.partitions.size
        and client.fetcher.reaches_everything
        and not client.fetcher.is_under_way
        and exchange.given_up_us > now + machine.config.heartbeat_interval_us
    )
