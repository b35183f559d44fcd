"""What parked members do is told as time passes, some transactions at a time: until then nothing of it need be kept.

All of them have been worked out up to the same instant, a *goal*, which is moved when that is near. A member that is
parked meanwhile waits until then, and catches up with the others first: so there are many in a column, although each
comes and goes as its own pauses will have it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import numpy as np

from groupsim.sim.client.producing.transactional_client import TransactionalClient
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.cluster.transactions.transactions import Transactions
from groupsim.sim.fastpath.transactions.ahead import Ahead, Done, Told
from groupsim.sim.fastpath.transactions.books import Foretelling, tell_requests, tell_services, writes
from groupsim.sim.fastpath.transactions.columns import Column
from groupsim.sim.fastpath.transactions.cycle import CycleLaw
from groupsim.sim.fastpath.transactions.gathering import (
    Parked,
    completion_us,
    holdings,
    is_like,
    members,
    standing,
    surface,
)
from groupsim.sim.fastpath.transactions.resumption import go_on
from groupsim.sim.kernel.alarm import Alarm
from groupsim.sim.kernel.environment import Environment, Kind, message_key
from groupsim.sim.units import FOREVER, S

_SPAN_US: Final = 10 * S
"""So far a goal is ahead: who is parked waits no longer, and has no more to catch up with."""


class Telling:
    """Of members of a group that are like one another, from when they are parked until each goes on by itself.

    Parameters
    ----------
    env : Environment
    group : GroupHost
    host : Transactions
    parked : sequence of Parked
        The first of them.
    clear_until_us : int, microseconds
        Before that nobody is disturbed.
    ticks : int64 array, shape (k,), microseconds
        When lag is sampled.
    key : int
        Of its events.
    settle : callable
        Told when more has been told.
    """

    def __init__(
        self, env: Environment, group: GroupHost, host: Transactions, parked: Sequence[Parked], clear_until_us: int,
        ticks: Column, key: int, settle: Callable[[], None],
    ) -> None:  # fmt: skip
        self._env, self._group, self._host = env, group, host
        self._clear_until_us, self._ticks, self._settle = clear_until_us, ticks, settle
        self._parked: list[Parked] = []
        self._waiting = [(env.now, one) for one in parked]
        """When each joins, and who it is."""
        self._goal_us = 0
        self._told_until_us = FOREVER
        client = parked[0].client
        self._ahead = Ahead(CycleLaw(group.books.ledger, surface(group, host, client)))
        self._topic, self._heartbeat = client.transactions.output.topic, client.machine.heartbeat_api
        self._shard_keys, self._request_keys = np.zeros((2, 0), np.int64)
        self._seen = Foretelling(group.books.ledger, ticks)
        self._alarm = Alarm(env, key, self.go_on)

    @property
    def untold_us(self) -> int:
        """Nothing that happens before that is told later, microseconds."""
        return min([self._told_until_us, *(one.since_us for _, one in self._waiting)])

    # --- who joins ----------------------------------------------------------------------------------------------------

    def takes(self, client: TransactionalClient, now: int, least_us: int) -> bool:
        """Whether a member can join that is parked now, and be worked out for so long before it is disturbed."""
        ends_us = min(client.suspension.next_start, self._clear_until_us)
        is_open = self._told_until_us < FOREVER and self._joins_us(now) + least_us <= ends_us
        return is_open and is_like(client, self._parked[0].client)

    def _joins_us(self, now: int) -> int:
        """When one joins that is parked now: after its last transaction is complete, and before lag is sampled."""
        ripe_us, tick = now + completion_us(self._host), np.searchsorted(self._ticks, now)
        seen_us = int(self._ticks[tick]) if tick < len(self._ticks) else FOREVER
        joins_us = min(max(self._alarm.deadline, ripe_us), seen_us - 1)
        return joins_us if joins_us >= ripe_us else FOREVER

    def join(self, one: Parked) -> None:
        """A member waits from now on."""
        self._waiting.append((self._joins_us(one.since_us), one))
        self._watch()

    def _watch(self) -> None:
        # Who is found through then goes on later than that.
        told_us = self._told_until_us - 1 if self._told_until_us < FOREVER else FOREVER
        self._alarm.set(min([told_us, *(joins_us for joins_us, _ in self._waiting)]))

    def _take_in(self, now: int) -> None:
        joining = [one for joins_us, one in self._waiting if joins_us <= now]
        if not joining:
            return
        self._told_until_us = self.untold_us
        self._waiting = [(joins_us, one) for joins_us, one in self._waiting if joins_us > now]
        self._parked += joining
        host, clients = self._host, [one.client for one in joining]
        held, begun = holdings(self._group.books, joining)
        self._ahead.join(members(host, joining, self._clear_until_us), held, standing(host, joining), begun)
        shards = [host.shard_of(one.transactions.life.transactional_id).key for one in clients]
        requests = [message_key(one.consumer.entity, Kind.REQUEST) for one in clients]
        self._shard_keys = np.concatenate([self._shard_keys, np.array(shards)])
        self._request_keys = np.concatenate([self._request_keys, np.array(requests)])
        self._seen.join([one.consumption.slot for one in clients])

    # --- what they do -------------------------------------------------------------------------------------------------

    def go_on(self, now: int) -> None:
        """Tell all that happens by now, and something after it; who is through goes on by itself."""
        self._take_in(now)
        self._reach()
        while self._told_until_us <= now + 1:
            self._goal_us = max(self._goal_us, now) + _SPAN_US
            self._reach()
        self._settle()
        self._watch()

    def _reach(self) -> None:
        for told in self._ahead.work_out(self._goal_us):
            self._tell(told)
            for done in self._ahead.parted():
                self._follow(self._parked[done.row], done)
            self._told_until_us = self._ahead.untold_us

    def _tell(self, told: Sequence[Told]) -> None:
        if told:
            tell_services(self._group.books.ledger, told)
            tell_requests(self._group.books, told, self._heartbeat)
            written = writes(told, self._shard_keys, self._request_keys)
            self._host.output.pass_over(self._topic, self._group.name, *written)
            self._seen.tell(self._env.now, told)

    def _follow(self, one: Parked, done: Done) -> None:
        """Let a member go on, at its time; if that is past, late."""
        key, back_us = message_key(one.client.consumer.entity, Kind.RESPONSE), int(done.standing.back_us[0])
        follow = partial(go_on, self._group, self._host, one.client, done, one.renewed_us)
        if back_us > self._env.now:
            self._env.at(back_us, key, lambda _: follow())
        else:
            self._env.replay((back_us, key), follow)
