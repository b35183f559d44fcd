"""What parked members do is told as time passes, some transactions at a time: until then nothing of it need be kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from groupsim.sim.cluster.group_host import GroupHost
from groupsim.sim.cluster.transactions import Transactions
from groupsim.sim.fastpath.transactions.ahead import Ahead, Done, Told
from groupsim.sim.fastpath.transactions.books import Foretelling, tell_requests, tell_services, writes
from groupsim.sim.fastpath.transactions.columns import Column
from groupsim.sim.fastpath.transactions.cycle import CycleLaw
from groupsim.sim.fastpath.transactions.gathering import Parked, holdings, members, standing, surface
from groupsim.sim.fastpath.transactions.resumption import go_on
from groupsim.sim.kernel.environment import Environment, Kind, message_key
from groupsim.sim.units import FOREVER


class Telling:
    """Of some members of a group, from when they were parked until each goes on by itself.

    Parameters
    ----------
    env : Environment
    group : GroupHost
    host : Transactions
    parked : sequence of Parked
    clear_until_us : int, microseconds
        Before that nobody is disturbed.
    ticks : int64 array, shape (k,), microseconds
        When lag is sampled.
    key : int
        Of its events.
    settle : callable
        Told when more has been told.

    Attributes
    ----------
    untold_us : int, microseconds
        Nothing that happens before that is told later.
    """

    def __init__(
        self, env: Environment, group: GroupHost, host: Transactions, parked: Sequence[Parked], clear_until_us: int,
        ticks: Column, key: int, settle: Callable[[], None],
    ) -> None:  # fmt: skip
        self._env, self._group, self._host, self._parked = env, group, host, parked
        self._key, self._settle = key, settle
        ledger, clients = group.books.ledger, [one.client for one in parked]
        law = CycleLaw(ledger, surface(group, host, clients[0]))
        held, begun = holdings(group.books, parked)
        they = members(host, parked, clear_until_us), held, standing(host, parked), begun
        self._ahead = Ahead(law, *they, len(group.books.partitions))
        self._portions = filter(None, self._ahead.run())
        self._topic, self._heartbeat = clients[0].transactions.output.topic, clients[0].machine.heartbeat_api
        self._shard_keys = np.array([host.shard_of(one.transactions.life.transactional_id).key for one in clients])
        self._request_keys = np.array([message_key(one.consumer.entity, Kind.REQUEST) for one in clients])
        self._seen = Foretelling(ledger, [one.consumption.slot for one in clients], ticks)
        self.untold_us = self._ahead.untold_us

    def go_on(self, _: Any = None) -> None:
        """Tell all that happens by now, and something after it; who is through goes on by itself."""
        while self.untold_us <= self._env.now + 1:
            self._tell(next(self._portions, ()))
            for done in self._ahead.parted():
                self._follow(self._parked[done.row], done)
            self.untold_us = self._ahead.untold_us
        self._settle()
        if self.untold_us < FOREVER:
            # Who is found through then goes on later than that.
            self._env.at(self.untold_us - 1, self._key, self.go_on)

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
