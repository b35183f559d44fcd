"""A client machine with its clock, its network and its application thread in the test's hands."""

from __future__ import annotations

from typing import Any

import numpy as np

from groupsim.sim.config import ClientConfig
from groupsim.sim.protocol.classic.member import ClassicMember
from groupsim.sim.protocol.effects import Adopt, Commit, Disconnect, Drop, Effects, Listen, Raise, RunAssignor, Send
from groupsim.sim.protocol.messages import (
    Api,
    Error,
    JoinResponse,
    OffsetFetchResponse,
    Positions,
    Subscription,
    SyncResponse,
)
from groupsim.sim.units import FOREVER, MS
from tests.support.turns import Turns


class _Assignor:
    name = "range"

    def subscription_user_data(self) -> object | None:
        return None


def positions(*numbers: int) -> Positions:
    """An assignment."""
    return np.array(numbers, np.int32)


class MemberHarness:
    """One member, milliseconds. `sent` is what went out, `heard` what the application was told.

    The application is inside poll() unless `busy`; then `drive` does nothing. Partitions below 10 are of topic "t", the
    others of "u".
    """

    def __init__(self, *, static: bool = False, cooperative: bool = False, **config: Any) -> None:
        commits = config.pop("commits", "auto")
        on_revoked = config.pop("commit_on_revoked", False)
        self.member = ClassicMember(
            group_id="g", name="m", config=ClientConfig(**config), instance_id="m" if static else None,
            assignors=[_Assignor()], cooperative=cooperative, jitter=lambda number: 1_000, commits=commits,
            commit_on_revoked=on_revoked,
        )  # fmt: skip
        self.member.subscription.topic_of = lambda position: "t" if position < 10 else "u"
        self.member.on_metadata({"t": 10, "u": 10})
        self.member.subscribe(("t",), None)
        self.now = 0
        self.busy = False
        self.slow_listener = False
        self.in_flight: list[Any] = []
        self.sent: list[Api] = []
        self.heard: list[str] = []

    # --- what the shell does ------------------------------------------------------------------------------------------

    def do(self, effects: Effects) -> MemberHarness:
        """Carry effects out."""
        for effect in effects:
            match effect:
                case Send(api, body):
                    self.sent.append(api)
                    self.in_flight.append((api, body))
                case Commit():
                    self.sent.append(Api.OFFSET_COMMIT)
                    self.in_flight.append((Api.OFFSET_COMMIT, effect))
                case Listen(callback, partitions):
                    self.heard.append(f"{callback} {partitions.tolist()}")
                    if not self.slow_listener:
                        self.do(self.member.on_listener_done(self.now * MS))
                case Disconnect():
                    self.heard.append("disconnect")
                    self._fail_in_flight()
                case Raise(error):
                    self.heard.append(f"raise {error.value}")
                case Drop() | Adopt() | RunAssignor():
                    pass
                case _:
                    self.heard.append(type(effect).__name__.lower())
        return self

    def _fail_in_flight(self) -> None:
        failed, self.in_flight = self.in_flight, []
        for api, body in failed:
            if api is Api.JOIN_GROUP:
                self.do(self.member.on_join_response(self.now * MS, JoinResponse(Error.DISCONNECTED)))
            elif api is Api.SYNC_GROUP:
                self.do(self.member.on_sync_response(self.now * MS, SyncResponse(Error.DISCONNECTED), body.generation))

    def drive(self) -> MemberHarness:
        """The application thread's turn."""
        turns = Turns()
        while not self.busy and self.member.needs_application and not self._raised:
            turns.take()
            effects = self.member.on_poll(self.now * MS)
            if not effects:
                break
            self.do(effects)
        return self

    @property
    def _raised(self) -> bool:
        return any(one.startswith("raise") for one in self.heard)

    def poll(self) -> MemberHarness:
        """The application comes by, needed or not."""
        self.do(self.member.on_poll(self.now * MS))
        return self.drive()

    def sleep(self, ms: int) -> MemberHarness:
        """Let time pass, deadline by deadline."""
        until = (self.now + ms) * MS
        turns = Turns()
        while (due := self.member.deadline) <= until and due < FOREVER:
            turns.take()
            self.now = max(self.now, due // MS)
            self.do(self.member.on_deadline(self.now * MS))
            self.drive()
        self.now = until // MS
        return self

    # --- answers ------------------------------------------------------------------------------------------------------

    def _take(self, api: Api) -> Any:
        at = next(at for at, (one, _) in enumerate(self.in_flight) if one is api)
        return self.in_flight.pop(at)[1]

    def found(self, node: int | None = 1) -> MemberHarness:
        """The coordinator lookup is answered."""
        self._take(Api.FIND_COORDINATOR)
        self.do(self.member.on_coordinator(self.now * MS, node))
        return self.drive()

    def joined(
        self, error: Error = Error.NONE, *, generation: int = 1, member_id: str = "m-1", **fields: Any
    ) -> MemberHarness:
        """JoinGroup is answered; as a follower of "x" unless told otherwise."""
        self._take(Api.JOIN_GROUP)
        leads = fields.get("leader") == member_id
        members = ((member_id, None, Subscription(("t",))),) if leads else ()
        fields = {"protocol": "range", "leader": "x", "members": members, **fields}
        self.do(
            self.member.on_join_response(self.now * MS, JoinResponse(error, generation, member_id=member_id, **fields))
        )
        return self.drive()

    def assigned(self, counts: dict[str, int]) -> MemberHarness:
        """The leader's assignor is done."""
        self.do(self.member.on_assignments(self.now * MS, {self.member.member_id: positions(0)}, counts))
        return self.drive()

    def synced(self, *partitions: int, error: Error = Error.NONE) -> MemberHarness:
        """SyncGroup is answered."""
        body = self._take(Api.SYNC_GROUP)
        response = SyncResponse(error, positions(*partitions))
        self.do(self.member.on_sync_response(self.now * MS, response, body.generation))
        return self.drive()

    def beaten(self, error: Error = Error.NONE, *, generation: int | None = None) -> MemberHarness:
        """A heartbeat is answered."""
        body = self._take(Api.HEARTBEAT)
        sent = body.generation if generation is None else generation
        self.do(self.member.on_heartbeat_response(self.now * MS, error, sent))
        return self.drive()

    def committed(self, error: Error = Error.NONE, *, generation: int | None = None) -> MemberHarness:
        """A commit is answered."""
        body = self._take(Api.OFFSET_COMMIT)
        sent = body.generation if generation is None else generation
        self.do(self.member.on_commit_response(self.now * MS, error, sent))
        return self.drive()

    def fetched(self, error: Error = Error.NONE) -> MemberHarness:
        """OffsetFetch is answered."""
        body = self._take(Api.OFFSET_FETCH)
        response = OffsetFetchResponse(error, np.zeros(len(body.positions), np.int64))
        self.do(self.member.on_offsets(self.now * MS, response))
        return self.drive()

    def last(self, api: Api) -> Any:
        """The last request of that kind that is under way."""
        return next(body for one, body in reversed(self.in_flight) if one is api)

    def flying(self) -> list[Api]:
        """What is under way."""
        return [api for api, _ in self.in_flight]

    def stable(self, *partitions: int, leader: str = "x") -> MemberHarness:
        """A member of generation 1 with positions, and nothing under way."""
        self.drive().found().joined(leader=leader)
        if leader == "m-1":
            self.assigned({"t": 10})
        self.synced(*(partitions or (0, 1)))
        self.fetched()
        self.sent.clear()
        self.heard.clear()
        assert self.member.is_settled
        return self
