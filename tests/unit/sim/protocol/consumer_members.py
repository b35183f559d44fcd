"""A member of the consumer protocol, with its clock, its coordinator and its application in the test's hands."""

from __future__ import annotations

from typing import Any

import numpy as np

from groupsim.sim.config import ClientConfig
from groupsim.sim.protocol.consumer.member.member import ConsumerMember
from groupsim.sim.protocol.consumer.messages import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatResponse
from groupsim.sim.protocol.effects import Adopt, Commit, Disconnect, Drop, Effects, Listen, Raise, Send
from groupsim.sim.protocol.messages import (
    Acknowledgement,
    Error,
    OffsetCommit,
    OffsetFetchResponse,
    Positions,
)
from groupsim.sim.units import FOREVER, MS
from tests.support.turns import Turns


def positions(*numbers: int) -> Positions:
    """An assignment."""
    return np.array(numbers, np.int32)


class ConsumerHarness:
    """One member, milliseconds. `told` is what the application was told, `in_flight` what is not answered yet,
    `interval_ms` the heartbeat interval that the coordinator names.

    Nothing polls by itself: a test says `pass_by` for each pass through poll().
    """

    def __init__(self, *, static: bool = False, commits: str = "auto", on_revoked: bool = False, **config: Any) -> None:
        self.member = ConsumerMember(
            group_id="g", name="m", member_id="id", config=ClientConfig(group_protocol="consumer", **config),
            instance_id="m" if static else None, jitter=lambda number: 1_000, commits=commits,
            commit_on_revoked=on_revoked,
        )  # fmt: skip
        self.member.on_metadata({"t": 10, "u": 10})
        self.member.subscribe(("t",), None)
        self.now = 0
        self.slow_listener = False
        self.interval_ms = 5_000
        self.in_flight: list[Any] = []
        self.told: list[str] = []

    # --- what the shell does ------------------------------------------------------------------------------------------

    def do(self, effects: Effects) -> ConsumerHarness:
        """Carry effects out."""
        for effect in effects:
            match effect:
                case Send(_, body):
                    self.in_flight.append(body)
                case Commit():
                    self.told.append(f"commit {effect.positions.tolist()} {effect.generation}")
                    offsets = np.zeros(len(effect.positions), np.int64)
                    self.in_flight.append(
                        OffsetCommit(
                            effect.member_id, None, effect.generation, effect.positions, offsets, effect.is_awaited
                        )
                    )
                case Listen(callback, partitions):
                    self.told.append(f"{callback} {partitions.tolist()}")
                    if not self.slow_listener:
                        self.listened()
                case Drop(partitions, lost):
                    self.told.append(f"{'forget' if lost else 'drop'} {partitions.tolist()}")
                case Adopt(partitions, added):
                    self.told.append(f"adopt {partitions.tolist()} {added.tolist()}")
                case Disconnect():
                    lost, self.in_flight = self.in_flight, []
                    for body in lost:
                        self.answer(body, Error.DISCONNECTED)
                case Raise(error):
                    self.told.append(f"raise {error.value}")
                case _:
                    self.told.append(type(effect).__name__.lower())
        return self

    def answer(self, body: Any, error: Error) -> None:
        """An answer without content."""
        response: Any = Acknowledgement(error)
        self.do(self.member.on_response(self.now * MS, body, response))

    def pass_by(self, times: int = 1) -> ConsumerHarness:
        """The application passes through poll()."""
        for _ in range(times):
            self.do(self.member.on_poll(self.now * MS))
        return self

    def listened(self) -> ConsumerHarness:
        """The listener returns."""
        return self.do(self.member.on_listener_done(self.now * MS))

    def sleep(self, ms: int) -> ConsumerHarness:
        """Let time pass, deadline by deadline; the application is busy."""
        until = (self.now + ms) * MS
        turns = Turns()
        while (due := self.member.deadline) <= until and due < FOREVER:
            turns.take()
            self.now = max(self.now, due // MS)
            self.do(self.member.on_deadline(self.now * MS))
        self.now = until // MS
        return self

    # --- answers ------------------------------------------------------------------------------------------------------

    def take(self, kind: type) -> Any:
        """The first request of that kind that is under way, which is no longer."""
        at = next(at for at, body in enumerate(self.in_flight) if isinstance(body, kind))
        return self.in_flight.pop(at)

    def found(self, node: int | None = 1) -> ConsumerHarness:
        """The coordinator lookup is answered."""
        self.in_flight = [one for one in self.in_flight if type(one).__name__ != "FindCoordinator"]
        return self.do(self.member.on_coordinator(self.now * MS, node))

    def beaten(
        self, epoch: int = 1, *assignment: int, error: Error = Error.NONE, empty: bool = False
    ) -> ConsumerHarness:
        """A heartbeat is answered; without partitions there is no assignment in it, unless it is said to be empty."""
        body = self.take(ConsumerGroupHeartbeat)
        given = positions(*assignment) if assignment or empty else None
        response = ConsumerGroupHeartbeatResponse(error, body.member_id, epoch, self.interval_ms * MS, given)
        return self.do(self.member.on_response(self.now * MS, body, response))

    def committed(self, error: Error = Error.NONE) -> ConsumerHarness:
        """A commit is answered."""
        self.answer(self.take(OffsetCommit), error)
        return self

    def fetched(self, error: Error = Error.NONE) -> ConsumerHarness:
        """OffsetFetch is answered."""
        body = next(one for one in self.in_flight if type(one).__name__ == "OffsetFetch")
        self.in_flight.remove(body)
        response = OffsetFetchResponse(error, np.zeros(len(body.positions), np.int64))
        return self.do(self.member.on_response(self.now * MS, body, response))

    @property
    def beats(self) -> list[ConsumerGroupHeartbeat]:
        """Heartbeats that are under way."""
        return [one for one in self.in_flight if isinstance(one, ConsumerGroupHeartbeat)]

    @property
    def beat(self) -> ConsumerGroupHeartbeat:
        """The heartbeat that is under way."""
        (one,) = self.beats
        return one

    @property
    def acknowledged(self) -> list[int] | None:
        """What the heartbeat under way says is owned; None: nothing about it."""
        return None if self.beat.owned is None else self.beat.owned.tolist()

    def joining(self) -> ConsumerHarness:
        """The first heartbeat is on its way."""
        return self.sleep(0).found().pass_by()

    def stable(self, *partitions: int, epoch: int = 1) -> ConsumerHarness:
        """A member that has positions for its partitions, and nothing under way."""
        self.joining().beaten(epoch, *(partitions or (0, 1)), empty=True).pass_by(2).beaten(epoch)
        if self.member.uninitialised.size:
            self.pass_by().fetched()
        self.told.clear()
        assert self.member.is_settled
        assert not self.in_flight
        return self
