"""A group at its coordinator: requests go to the machine; its replies, facts and deadline are carried out.

It adds no rule, and keeps nothing but what is on its way.
"""

from __future__ import annotations

from collections.abc import Sequence

from groupsim.sim.books.group_books import GroupBooks
from groupsim.sim.catalog import Catalog
from groupsim.sim.cluster.assignment import Layouts
from groupsim.sim.cluster.interface import FastPath
from groupsim.sim.kernel.alarm import Alarm
from groupsim.sim.kernel.environment import Environment, Kind, deadline_key
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.model import Cluster, Scenario
from groupsim.sim.protocol.classic.group import ClassicGroup, Replies
from groupsim.sim.protocol.messages import Acknowledgement, Api, Error, OffsetFetchResponse
from groupsim.sim.randomness import name_hash


class GroupHost:
    """One group.

    Parameters
    ----------
    env : Environment
    scenario : Scenario
    name : str
    catalog : Catalog
    slots : int
        Number of consumers that it can have.

    Attributes
    ----------
    fast_path : FastPath
        Set when the group's consumers are there.
    """

    fast_path: FastPath

    def __init__(self, env: Environment, scenario: Scenario, name: str, catalog: Catalog, slots: int) -> None:
        self._env = env
        self.name = name
        self.cluster: Cluster = scenario.cluster
        self._service_us = scenario.cluster.timing.service_us
        self._append_us = scenario.cluster.timing.append_us
        self.machine = ClassicGroup(name, scenario.cluster.config, self._append_us)
        self.books = GroupBooks(env, scenario, name, catalog, slots)
        self.layouts = Layouts(self.books.partitions)
        self._alarm = Alarm(env, deadline_key(name_hash("group", name), Kind.TIMER), self._fire)

    # --- requests -----------------------------------------------------------------------------------------------------

    def handle(self, exchange: Exchange) -> None:
        """Work on a request; what is not answered now is parked in the machine."""
        now, body = self._env.now, exchange.body
        machine, leave = self.machine, self._env.now + self._service_us
        match exchange.api:
            case Api.HEARTBEAT:
                self._answer(exchange, Acknowledgement(machine.on_heartbeat(now, body)), leave)
                self._alarm.set(machine.deadline)
            case Api.OFFSET_COMMIT:
                error = machine.on_commit(now, body)
                if error is Error.NONE:
                    moment = (now, exchange.connection.request_key)
                    self.books.ledger.commit(body.positions, body.offsets, moment, contested=self.books.is_broadcast)
                self._answer(exchange, Acknowledgement(error), leave + self._append_us)
                self._alarm.set(machine.deadline)
            case Api.OFFSET_FETCH:
                if self.books.is_broadcast:
                    # Everybody commits the same partitions: what quiet members have committed by now counts.
                    self.fast_path.wake_all()
                offsets = self.books.ledger.committed[body.positions]
                self._answer(exchange, OffsetFetchResponse(Error.NONE, offsets), leave)
            case Api.JOIN_GROUP:
                self.fast_path.before_decision()
                # A static instance joins anew: the member that has its id so far is about to be fenced.
                self.fast_path.wake(machine.roster.static.get(body.instance_id or "", ""))
                self.books.meet(body.member_id or body.fresh_id, body.protocols[0][1].topics if body.protocols else ())
                self._settle(machine.on_join(now, body, exchange))
            case Api.SYNC_GROUP:
                self._settle(machine.on_sync(now, body, exchange))
            case _:
                self.fast_path.before_decision()
                error, replies = machine.on_leave(now, body)
                self._answer(exchange, Acknowledgement(error), leave)
                self._settle(replies)

    def _answer(self, exchange: Exchange, response: Acknowledgement | OffsetFetchResponse, leave_us: int) -> None:
        self.books.requests.count(exchange, response.error)
        exchange.connection.reply(exchange, response, leave_us)

    def receive(self, exchanges: Sequence[Exchange], times: Sequence[int]) -> None:
        """JoinGroups or SyncGroups that have arrived by now, of members that are known here."""
        replies: Replies = []
        arrivals = list(zip(exchanges, times, strict=True))
        # The latest may end the phase; the order of the others decides nothing.
        arrivals.append(arrivals.pop(max(range(len(times)), key=times.__getitem__)))
        for exchange, time in arrivals:
            work = self.machine.on_join if exchange.api is Api.JOIN_GROUP else self.machine.on_sync
            replies += work(time, exchange.body, exchange)
        if replies:
            self._settle(replies)

    def _fire(self, now: int) -> None:
        self.fast_path.before_decision(join_ends=self.machine.join_due <= now)
        self._settle(self.machine.on_deadline(now))

    def _settle(self, replies: Replies) -> None:
        """Write down what happened, answer, and watch the next deadline."""
        facts, self.machine.facts = self.machine.facts, []
        for fact in facts:
            self.books.note(fact, self.machine)
        leave = self._env.now + self._service_us
        self.books.requests.count_answers(replies)
        for reply in self.fast_path.after_decision(replies, leave):
            assert isinstance(reply.waiter, Exchange)
            reply.waiter.connection.reply(reply.waiter, reply.response, leave)
        self._alarm.set(self.machine.deadline)

    # --- quiet members ------------------------------------------------------------------------------------------------

    def suspend(self, member_id: str) -> int:
        """From now on the member's renewals are arithmetic; its last renewal so far, microseconds."""
        member = self.machine.roster.get(member_id)
        assert member is not None
        renewed_us = self.machine.session_due(member_id) - member.session_timeout_us
        self.machine.suspend(member_id)
        return renewed_us

    def rouse(self, member_id: str, renewed_us: int) -> None:
        """The member is loud again; its session counts from its last renewal."""
        self.machine.resume(member_id, renewed_us)
        self._alarm.set(self.machine.deadline)

    def finish(self, horizon: int) -> None:
        """Cut what is open at the horizon."""
        self.books.finish(horizon, self.machine.generation, len(self.machine.roster))
