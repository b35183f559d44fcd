"""Taking a member's own objects through what it has done with waves: late, by the machine that every member has.

The books have it already: no time passes, nothing is sent, nothing is scheduled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupsim.sim.actors.lap import Lap
from groupsim.sim.cadence import Cadence
from groupsim.sim.protocol.effects import Adopt, Send
from groupsim.sim.protocol.messages import Error, JoinGroup, OffsetFetchResponse

if TYPE_CHECKING:
    from groupsim.sim.actors.client import Client


def play_rejoin(client: Client, lap: Lap, slot: int) -> JoinGroup:
    """Told of the rebalance, it commits, gives everything up, and asks to join."""
    machine, generation, joining = client.machine, client.machine.generation, lap.joining.item(slot)
    client.hush.set_timers(lap.beat_due.item(slot), lap.commit_due.item(slot))
    machine.on_heartbeat_response(lap.learned.item(slot), Error.REBALANCE_IN_PROGRESS, generation)
    machine.on_poll(lap.polled.item(slot))
    machine.on_commit_response(joining, Error.NONE, generation)
    (send,) = machine.on_listener_done(joining)
    assert isinstance(send, Send)
    assert isinstance(send.body, JoinGroup)
    client.application.cadence = None
    client.service.let_go(lap.polled.item(slot))
    return send.body


def play_sync(client: Client, lap: Lap, slot: int) -> None:
    """It has joined, and asks for its assignment."""
    client.machine.on_join_response(lap.accepted.item(slot), lap.join_response[slot])


def play_resume(client: Client, lap: Lap, slot: int, slowdown: float) -> None:
    """It has its assignment and knows where to begin; it consumes."""
    machine, told = client.machine, lap.told.item(slot)
    machine.on_sync_response(told, lap.sync_response[slot], machine.generation)
    adopt, _ = machine.on_poll(told)
    assert isinstance(adopt, Adopt)
    client.remember(told, adopt)
    machine.on_listener_done(told)
    machine.on_offsets(lap.answered.item(slot), OffsetFetchResponse(Error.NONE, lap.offsets[slot]))
    client.requests.hold(None)
    client.service.take_up(lap.begun.item(slot), lap.handle.item(slot), lap.partitions[slot], lap.offsets[slot])
    drawn: Cadence | None = lap.cadence[slot]
    client.application.cadence = drawn if drawn is not None else Cadence.of_columns(
        lap.begun.item(slot), lap.full_passes.item(slot), lap.full_us.item(slot), client.world.timing.poll_us,
        lap.steady_us.item(slot), lap.steady_wait_us.item(slot), slowdown,
    )  # fmt: skip
