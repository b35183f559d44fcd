"""Which members that produce wait until what follows is worked out ahead, and until when nobody can disturb them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from groupsim.sim.client.client import Client
from groupsim.sim.client.consumer import Consumer
from groupsim.sim.client.producing.transactional_client import TransactionalClient
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.cluster.transactions.transactions import Transactions
from groupsim.sim.fastpath.transactions.absences import missed_us
from groupsim.sim.fastpath.transactions.gathering import Parked, beats_on_time, completion_us, is_like
from groupsim.sim.fastpath.transactions.telling import Telling
from groupsim.sim.kernel.environment import Environment, Kind, deadline_key
from groupsim.sim.output.lag_reading import LagReading
from groupsim.sim.randomness import name_hash
from groupsim.sim.units import FOREVER, MS, S

_WORTH_US: Final = 5 * S
"""Nobody is parked for less."""
_SLACK_US: Final = 200 * MS
"""Beside its next pass a member takes so long until its thread is back again, most often."""


class Parking:
    """That of one group.

    Parameters
    ----------
    env : Environment
    group : GroupHost
    consumers : sequence of Consumer
        Those of the group.
    host : Transactions
    horizon_us : int
    sampled : (int, int), microseconds
        When lag is sampled first, and how often.
    reading : LagReading
    """

    def __init__(
        self, env: Environment, group: GroupHost, consumers: Sequence[Consumer], host: Transactions, horizon_us: int,
        sampled: tuple[int, int], reading: LagReading,
    ) -> None:  # fmt: skip
        self._env = env
        self._group = group
        self._consumers = consumers
        self._host = host
        self._horizon_us = horizon_us
        self._first_sample_us, self._sample_every_us = sampled
        self._reading = reading
        self._key = deadline_key(name_hash("parking", group.name), Kind.TIMER)
        self._parked: list[Parked] = []
        self._tellings: list[Telling] = []
        self._clear_until_us = self._closes_us = 0
        self._opens_us = 0
        """Before that there is no use in asking whether something is in sight."""

    # --- who is parked ------------------------------------------------------------------------------------------------

    def park(self, client: Client, now: int) -> bool:
        """Whether a member waits whose thread is back from a commit."""
        if not (isinstance(client, TransactionalClient) and self._may_wait(client, now)):
            return False
        telling = next((one for one in self._tellings if one.takes(client, now, _WORTH_US)), None)
        if telling is None and not self._gathers(client, now):
            return False
        client.alarms.disarm_member()
        parked = Parked(client, now, self._group.suspend(client.machine.member_id))
        if telling is not None:
            telling.join(parked)
        else:
            self._parked.append(parked)
        return True

    def _may_wait(self, client: TransactionalClient, now: int) -> bool:
        """Whether what follows is worth it, and can be worked out."""
        is_far = client.suspension.next_start >= now + _WORTH_US and not self._env.is_replaying
        return is_far and _is_plain(client) and self._is_calm(client)

    def _gathers(self, client: TransactionalClient, now: int) -> bool:
        """Whether it waits with others until all who can have come."""
        if self._parked:
            return now <= self._closes_us and is_like(client, self._parked[0].client)
        return now >= self._opens_us and self._open(now, int(client.poll_loop.known_schedule.longest_us) + _SLACK_US)

    def _open(self, now: int, wait_us: int) -> bool:
        """Whether nothing is in sight for long enough, and no lag is sampled until all are back who can be."""
        works_us, sample_us = now + wait_us + completion_us(self._host), self._next_sample(now)
        if sample_us <= works_us:
            self._opens_us = sample_us
            return False
        if not all(map(self._is_sound, self._consumers)):
            self._opens_us = now + _SLACK_US
            return False
        self._clear_until_us = min(self._next_in_sight(now), self._horizon_us)
        if self._clear_until_us < now + _WORTH_US:
            self._opens_us = max(self._clear_until_us, now + _SLACK_US)
            return False
        self._closes_us = now + wait_us
        self._env.at(works_us, self._key, self._work_ahead)
        return True

    def _next_in_sight(self, now: int) -> int:
        """When somebody may be disturbed by another, or from outside, microseconds."""
        alive = [one.incumbent for one in self._consumers if isinstance(one.incumbent, TransactionalClient)]
        absent_us = min((missed_us(self._group, one, now) for one in alive), default=FOREVER)
        return min(self._env.next_process_us(now + _WORTH_US), self._next_refresh(), self._next_expiry(), absent_us)

    def _is_sound(self, consumer: Consumer) -> bool:
        """Whether a member, if it lives, does nothing by itself that others of the group notice."""
        client, group = consumer.incumbent, self._group
        if not isinstance(client, TransactionalClient):
            return True
        machine, loop, schedule = client.machine, client.poll_loop, client.poll_loop.schedule
        return (
            consumer.crash is None
            and client.fetcher.reaches_everything
            and not client.metadata.has_news
            and (loop.is_held or client.alarms.max_poll.deadline == FOREVER)
            and (schedule is None or schedule.longest_us < client.config.max_poll_interval_us)
            and client.command is None
            and not client.is_closing
            and machine.is_settled
            and group.machine.is_steady(machine.member_id, machine.instance_id, machine.generation)
            and loop.stuck_until <= self._env.now
            and client.transactions.owns_id
        )

    def _next_refresh(self) -> int:
        """When a leader asks for metadata, which waits behind a fetch and may tell it to rejoin, microseconds."""
        alive = (one.incumbent for one in self._consumers if one.incumbent is not None)
        return min((one.alarms.metadata.deadline for one in alive), default=FOREVER)

    def _next_expiry(self) -> int:
        """When the session of one ends who is dead, microseconds."""
        alive = {one.incumbent.machine.member_id for one in self._consumers if one.incumbent is not None}
        machine = self._group.machine
        return min(
            (machine.session_due(one.member_id) for one in machine.roster if one.member_id not in alive),
            default=FOREVER,
        )

    def _next_sample(self, now: int) -> int:
        first, every = self._first_sample_us, self._sample_every_us
        return first + max(-(-(now - first) // every), 0) * every

    def _is_calm(self, client: TransactionalClient) -> bool:
        """Whether nothing of it is under way, and it has just gone through a pass like all that follow."""
        machine, loop, fetcher, group = client.machine, client.poll_loop, client.fetcher, self._group
        schedule, consumption = loop.schedule, client.consumption
        return (
            schedule is not None
            and not schedule.full_passes
            and schedule.next_poll(loop.held_us) == loop.held_us  # else it was frozen in the middle of something
            and not (client.inbox or client.late or client.in_flight.pending or fetcher.is_under_way)
            and fetcher.reaches_everything
            and client.transactions.is_between
            and self._host.foresees()
            and group.is_calm
            and not group.books.is_contested
            and group.books.ledger.keeps_everything
            and len(consumption.partitions) == len(machine.owned)
            and consumption not in group.books.delivery.zombies
            and _keeps_up(client)
            and bool((group.books.ledger.holders(consumption.partitions) == consumption.slot).all())
            and not loop.has_news
        )

    # --- what they do -------------------------------------------------------------------------------------------------

    def _work_ahead(self, _: Any) -> None:
        parked, self._parked = self._parked, []
        ticks = np.arange(self._next_sample(parked[0].since_us), self._clear_until_us, self._sample_every_us)
        telling = Telling(
            self._env, self._group, self._host, parked, self._clear_until_us, ticks, self._key, self._settle
        )
        self._tellings = [*(one for one in self._tellings if one.untold_us < FOREVER), telling]
        telling.go_on(self._env.now)

    def _settle(self) -> None:
        """Some more has been told: what is sure by now need not be kept."""
        self._reading.read_before(min(self._env.now, self.untold_us()))
        self._host.output.settle()

    def untold_us(self) -> int:
        """Nothing that members have done before that is told later, microseconds."""
        return min([one.untold_us for one in self._tellings] + [one.since_us for one in self._parked], default=FOREVER)


def _is_plain(client: TransactionalClient) -> bool:
    """Whether its heartbeat thread is Java's, fetches are neither bounded nor sent elsewhere, and nothing is lost."""
    return (
        client.config.behaviour.background_heartbeat
        and (beats_on_time(client) or client.poll_loop.cadence.step_us < FOREVER)
        and not client.fetcher.pacing.bounds.are_felt
        and not client.world.catalog.sends_elsewhere(client.config.client_rack)
        and client.path.law is not None
    )


def _keeps_up(client: TransactionalClient) -> bool:
    """Whether the next pass processes all that there is by its end."""
    holding, steady_us = client.consumption.holding, client.poll_loop.known_schedule.steady_us
    load = client.fetcher.pacing.load(client.env.now, holding.offset)
    return bool(holding.capacity * steady_us >= load.backlog + load.rate * steady_us)
