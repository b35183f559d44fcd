"""A deferred member's own objects take the steps of the phases that it went through, by the machine of every member.

The books have these steps already: no time passes, nothing is sent, nothing is scheduled.
"""

from __future__ import annotations

from groupsim.sim.client.client import Client
from groupsim.sim.client.polling.poll_schedule import PollSchedule
from groupsim.sim.fastpath.phases.columns import RoundColumns
from groupsim.sim.protocol.classic.member import ClassicMember
from groupsim.sim.protocol.effects import Adopt, Send
from groupsim.sim.protocol.messages import Error, JoinGroup, OffsetFetchResponse
from groupsim.sim.units import FOREVER


def set_timers(machine: ClassicMember, heartbeat_due: int, commit_due: int, waiting_since: int) -> None:
    """The machine's timers as they are by now; `FOREVER`: nothing is consumed."""
    machine.restore_heartbeats(heartbeat_due, waiting_since)
    if machine.commit_due < FOREVER and commit_due < FOREVER:
        machine.commit_due = commit_due


def replay_rejoin(client: Client, columns: RoundColumns, slot: int) -> JoinGroup:
    """Told of the rebalance, it commits and asks to join; what it owns it gives up, unless it is cooperative."""
    machine, generation, joining = client.machine, client.machine.generation, columns.joining.item(slot)
    set_timers(machine, columns.beat_due.item(slot), columns.commit_due.item(slot), columns.beat.item(slot))
    machine.on_heartbeat_response(columns.learned.item(slot), Error.REBALANCE_IN_PROGRESS, generation)
    effects = machine.on_poll(columns.polled.item(slot))
    if machine.commits == "auto":
        effects = machine.on_commit_response(joining, Error.NONE, generation)
    if not machine.cooperative:
        effects = machine.on_listener_done(joining)
        client.poll_loop.go_by(columns.polled.item(slot), None)
        client.consumption.let_go(columns.polled.item(slot))
    send = effects[-1]
    assert isinstance(send, Send)
    assert isinstance(send.body, JoinGroup)
    return send.body


def replay_sync(client: Client, columns: RoundColumns, slot: int) -> None:
    """It has joined, and asks for its assignment."""
    client.machine.on_join_response(columns.accepted.item(slot), columns.join_response[slot])


def replay_keep(client: Client, columns: RoundColumns, slot: int, slowdown: float) -> None:
    """It is assigned what it consumes already, adopts that at its next poll, and goes on at another pace."""
    machine, adopted = client.machine, columns.begun.item(slot)
    machine.on_sync_response(columns.told.item(slot), columns.sync_response[slot], machine.generation)
    client.in_flight.hold(None)
    adopt, _ = machine.on_poll(adopted)
    assert isinstance(adopt, Adopt)
    client.rebalancing.remember(adopted, adopt)
    client.do(adopted, machine.on_listener_done(adopted))
    client.books.ledger.recall_all(client.consumption.holding, adopted)
    _poll_on(client, columns, slot, schedule_of(client, columns, slot, slowdown))


def replay_resume(client: Client, columns: RoundColumns, slot: int, slowdown: float) -> None:
    """It has its assignment and knows where to begin; it consumes."""
    machine, told = client.machine, columns.told.item(slot)
    machine.on_sync_response(told, columns.sync_response[slot], machine.generation)
    adopt, _ = machine.on_poll(told)
    assert isinstance(adopt, Adopt)
    client.rebalancing.remember(told, adopt)
    machine.on_listener_done(told)
    machine.on_offsets(columns.answered.item(slot), OffsetFetchResponse(Error.NONE, columns.offsets[slot]))
    client.in_flight.hold(None)
    client.consumption.take_up(
        columns.begun.item(slot), columns.handle.item(slot), columns.partitions[slot], columns.offsets[slot]
    )
    drawn: PollSchedule | None = columns.schedule[slot]
    _poll_on(client, columns, slot, drawn if drawn is not None else schedule_of(client, columns, slot, slowdown))


def _poll_on(client: Client, columns: RoundColumns, slot: int, schedule: PollSchedule) -> None:
    """It polls so; the columns say what `PollLoop.go_by` finds, from polls that its own objects need not show."""
    client.machine.waiting_since = columns.waiting_since.item(slot)
    client.poll_loop.schedule = schedule


def schedule_of(client: Client, columns: RoundColumns, slot: int, slowdown: float) -> PollSchedule:
    """How it polls from then on."""
    poll_us = client.world.timing.poll_us
    return PollSchedule.of_columns(
        columns.start.item(slot), columns.full_passes.item(slot), columns.full_us.item(slot),
        poll_us, columns.steady_us.item(slot), columns.steady_wait_us.item(slot), slowdown,
        columns.before.item(slot), columns.held_until.item(slot), client.config.fetch_max_wait_us,
        columns.settling_of(slot, poll_us),
    )  # fmt: skip
