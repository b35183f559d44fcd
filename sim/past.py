"""The past of groups that begin aged: they start before 0, and have been stable for so long when the run begins.

A run with such groups has room for their past in front of it: its clock begins earlier, everything that a scenario
dates is that much later on it (`Scenario.origin_us`), and the books count from there. Nothing is invented for 0: the
group starts, its members join in one round, and what they then do goes on by the rules of every other moment, quietly
in both fidelities, until 0. Topics have their first rate meanwhile, and nothing else happens.

Who polls in passes that are all alike is a closed form, however long that is. Passes that are drawn, and those that
end with a commit, are gone through one by one, so only the last minutes of such a group are (`WALKED_US`). How late
heartbeats were in the rest is no more than a sum: of as many as there were, each late as the rule has it
(`sim.client.polling.heartbeat_thread`). Where passes are drawn, the sum of thousands is a normal draw with mean and
variance of heartbeats to come, the same for all members that draw alike; where they are not, it is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import NormalDist, fmean, pvariance
from typing import Final

from groupsim.sim.client.client import Client
from groupsim.sim.client.polling.drawn_schedule import DrawnPollSchedule
from groupsim.sim.client.polling.heartbeat_thread import Cadence, next_beat
from groupsim.sim.client.polling.poll_schedule import PollSchedule
from groupsim.sim.config import ClientConfig
from groupsim.sim.errors import CannotBeginAged
from groupsim.sim.fastpath.quiet.heartbeats import Heartbeats
from groupsim.sim.fastpath.quiet.trains import RecentTrain
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.model import Distribution, Entry, Group, Scenario, Topic
from groupsim.sim.protocol.classic.member import ClassicMember
from groupsim.sim.units import FOREVER, MINUTE, S
from groupsim.sim.world import World

WALKED_US: Final = 5 * MINUTE
_SETTLED_US: Final = 30 * S
"""From when on within that heartbeats are where the rest of the past leaves them."""
_SAMPLE: Final = 64
"""Heartbeats that tell how late the others were."""
_CHANCES: Final = 10**9
_CHANCE: Final = Distribution("uniform", (0, _CHANCES - 1))
_GATHERING_US: Final = 3 * S
"""All members of a classic group join in one round: its initial delay is at least this, the default."""
_RECONCILED_US: Final = 10 * MINUTE
"""A consumer group is stable after some heartbeats, each 15 s after the last at most, and some polls, which a backlog
makes long. Members that work for 9 parts of 10 have processed by then what came in the first minute, when some
partitions were nobody's."""


# --- the scenario -----------------------------------------------------------------------------------------------------


def with_past(scenario: Scenario) -> Scenario:
    """The same with the past of its aged groups in front of it; a scenario without such is as it was."""
    origin = max((_past_us(scenario, group) for group in scenario.groups if group.is_aged), default=0)
    if not origin:
        return scenario
    origin += -origin % scenario.sample_every_us  # What is counted by samples is cut at 0.
    to = scenario.measure_to_us
    return replace(
        scenario,
        origin_us=origin,
        horizon_us=origin + scenario.horizon_us,
        measure_from_us=origin + scenario.measure_from_us,
        measure_to_us=None if to is None else origin + to,
        topics=tuple(_topic(origin, topic) for topic in scenario.topics),
        groups=tuple(_group(origin, scenario, group) for group in scenario.groups),
        timeline=tuple(_entry(origin, entry) for entry in scenario.timeline),
    )


def _topic(origin: int, topic: Topic) -> Topic:
    """Its first rate is that of the past, too."""
    first, *others = topic.rate.times_us
    return replace(topic, rate=replace(topic.rate, times_us=(first, *(origin + time for time in others))))


def _group(origin: int, scenario: Scenario, group: Group) -> Group:
    start = group.members.start
    offset_us = start.offset_us + origin - (_past_us(scenario, group) if group.is_aged else 0)
    return replace(group, members=replace(group.members, start=replace(start, offset_us=offset_us)))


def _entry(origin: int, entry: Entry) -> Entry:
    until_us = entry.until_us + origin if entry.until_us < FOREVER else FOREVER
    return replace(entry, at_us=entry.at_us + origin, until_us=until_us)


def _past_us(scenario: Scenario, group: Group) -> int:
    """How long before 0 an aged group starts."""
    return _gone_through_us(group) + _joining_us(scenario, group)


def _joining_us(scenario: Scenario, group: Group) -> int:
    """How long it takes until an aged group is Stable for the first time, but for the way of messages.

    Who comes while the first member of a classic group waits buys it a second window
    (``GroupMetadataManager.tryCompleteInitialRebalanceElseSchedule``, Kafka 4.4).
    """
    if not _is_classic(group):
        return _RECONCILED_US
    window_us = gathering_us(scenario)
    left_us = max(min(one.rebalance_timeout_us for one in _clients(group)) - window_us, 0)
    return window_us + (min(window_us, left_us) if group.members.count > 1 else 0)


def _is_classic(group: Group) -> bool:
    return all(one.group_protocol == "classic" for one in _clients(group))


def _clients(group: Group) -> list[ClientConfig]:
    """Configurations of its members."""
    return [group.client, *(one.client for one in group.overrides if one.client is not None)]


def gathering_us(scenario: Scenario) -> int:
    """The initial delay of an aged group at its first round, microseconds."""
    return max(scenario.cluster.config.initial_rebalance_delay_us, _GATHERING_US)


def _gone_through_us(group: Group) -> int:
    """What of its age a group goes through."""
    age_us = group.members.start.value_us
    processings = [group.processing, *(one.processing for one in group.overrides if one.processing is not None)]
    is_closed = all(
        one.per_record.kind == "constant" and one.commit in ("auto", "none") and not one.commit_every_us
        for one in processings
    ) and all(one.auto_commit_interval_us >= S for one in _clients(group))
    return age_us if is_closed else min(age_us, WALKED_US)


# --- the run ----------------------------------------------------------------------------------------------------------


def _aged(world: World) -> list[Group]:
    return [spec for spec in world.scenario.groups if spec.is_aged]


def gather(world: World) -> None:
    """Members of aged groups that have not started yet will join in one round, before which there are no records."""
    config = world.scenario.cluster.config
    patient = replace(config, initial_rebalance_delay_us=gathering_us(world.scenario))
    for spec in _aged(world):
        group = world.groups[spec.name]
        group.machine.on_config(world.env.now, patient)
        if _is_classic(spec):  # Others read while they join.
            group.books.ledger.begins_us = spec.members.start.offset_us + _joining_us(world.scenario, spec)


def live_through(world: World, *, is_loud: bool) -> None:
    """Bring a world to 0: from here on the run is that of the scenario; ``is_loud``: in message fidelity.

    Raises
    ------
    CannotBeginAged
        Groups are not Stable then, or have lag.
    """
    env, origin = world.env, world.scenario.origin_us
    drifting = [one for one in _aged(world) if _rest_us(one)]
    if drifting:
        _go_to(env, origin - WALKED_US + _SETTLED_US)
        for spec in drifting:
            _drift(world, spec)
    _go_to(env, origin)
    unfit = {spec.name: reason for spec in _aged(world) if (reason := _arrive(world, spec))}
    if unfit:
        raise CannotBeginAged(unfit)
    if is_loud:
        _be_loud(world)


def _go_to(env: Environment, time: int) -> None:
    """All that comes before ``time`` has happened, and it is that time."""
    env.run_before(time)
    env.close_at(time)


def _be_loud(world: World) -> None:
    """Every heartbeat, poll, commit and metadata refresh is an event from now on."""
    world.is_loud = True
    for name, group in world.groups.items():
        group.fast_path.be_loud()
        for consumer in world.members[name]:
            consumer.be_loud()


def _arrive(world: World, spec: Group) -> str:
    """An aged group is at 0, and counts from here: why it is not what the scenario says, or the empty string."""
    group = world.groups[spec.name]
    group.machine.on_config(world.env.now, world.scenario.cluster.config)
    group.fast_path.settle()
    state = group.books.record.states[-1][1] if group.books.record.states else "Dead"
    if state != "Stable" and spec.members.count:
        return f"after that time it is not Stable but {state}"
    reason = ""
    for consumer in world.members[spec.name]:
        if consumer.client is not None:
            consumer.client.life.rejoins = 0
            reason = reason or _lags(consumer.client)
    return reason


def _lags(client: Client) -> str:
    """Why a member that has been there for long would have lag; empty if it keeps up."""
    holding = client.consumption.holding
    if not holding.partitions.size or holding.total_rate < holding.capacity:
        return ""
    produced, processed = f"{holding.total_rate * 1e6:,.0f}", f"{holding.capacity * 1e6:,.0f}"
    return (
        f"it would begin with lag, for {client.consumer.name} cannot keep up: {produced} records/s are produced for it,"
        f" and it processes {processed}"
    )


def _rest_us(group: Group) -> int:
    """What of its age a group does not go through."""
    return group.members.start.value_us - _gone_through_us(group)


def _drift(world: World, spec: Group) -> None:
    """Heartbeats are where the rest of the past has left them."""
    now, group, rest_us = world.env.now, world.groups[spec.name], _rest_us(spec)
    group.fast_path.settle()
    beating = list(_beating(world, spec))
    late: dict[tuple[object, ...], list[int]] = {}
    for client in beating:
        schedule = client.poll_loop.schedule
        if isinstance(schedule, DrawnPollSchedule):
            late.setdefault(_alike(client, schedule), []).extend(lateness(schedule, *_beat(client), _SAMPLE))
    for client in beating:
        schedule, (cadence, due, since) = client.poll_loop.schedule, _beat(client)
        if isinstance(schedule, DrawnPollSchedule):
            chance = (world.streams.draw(_CHANCE, "aged", client.label)(0) + 0.5) / _CHANCES
            due += total_lateness(late[_alike(client, schedule)], cadence, rest_us, chance)
        else:
            due = due_after(schedule, cadence, due, since, now + rest_us)
        due = now + (due - rest_us - now) % cadence.interval_us
        client.machine.restore_heartbeats(due, due - cadence.interval_us)
        group.rouse(client.machine.member_id, now)
        client.drive(now)


def _beating(world: World, spec: Group) -> Iterator[Client]:
    """Members whose heartbeat thread waits for the application; all others beat on time."""
    for consumer in world.members[spec.name]:
        client = consumer.client
        if client is None or not isinstance(client.machine, ClassicMember):
            continue
        client.elision.wake()
        if client.config.behaviour.background_heartbeat and client.machine.is_settled:
            yield client


def _beat(client: Client) -> tuple[Cadence, int, int]:
    """How often a member beats, when it does next, and when the step in hand of its heartbeat thread began."""
    return client.poll_loop.cadence, client.machine.heartbeat_due, client.machine.waiting_since


def _alike(client: Client, schedule: DrawnPollSchedule) -> tuple[object, ...]:
    """Members of whom this is the same are late by the same law, and drift apart by what they draw alone."""
    return (client.poll_loop.cadence, *schedule.law)


def due_after(schedule: PollSchedule | None, cadence: Cadence, due: int, since: int, end: int) -> int:
    """When the first heartbeat is due from ``end`` on, of a member whose passes are all alike; microseconds.

    Parameters
    ----------
    schedule : PollSchedule or None
        None: it waits inside poll() all the time.
    cadence : Cadence
    due, since : int, microseconds
        When the next heartbeat is due, and when the step in hand of the heartbeat thread began.
    end : int, microseconds
    """
    beating = Heartbeats(RecentTrain(due, 0, 0, cadence.interval_us, (0, 0), keep_us=0), cadence, since)
    beating.send(schedule, end)
    return beating.train.due


def lateness(schedule: PollSchedule, cadence: Cadence, due: int, since: int, count: int) -> Iterator[int]:
    """By how much each of ``count`` heartbeats is late, from the one that is due at ``due`` on; microseconds."""
    for _ in range(count):
        since = next_beat(schedule, cadence, due, since)
        yield since - due
        due = since + cadence.interval_us


def total_lateness(late: Sequence[int], cadence: Cadence, span_us: int, chance: float) -> int:
    """By how much all heartbeats within ``span_us`` are late together, microseconds.

    Parameters
    ----------
    late : sequence of int, microseconds
        By how much some are.
    cadence : Cadence
    span_us : int
    chance : float
        The place of the sum in its distribution, between 0 and 1.
    """
    beats: float = span_us / (cadence.interval_us + fmean(late))
    deviation: float = (beats * pvariance(late)) ** 0.5
    return round(beats * fmean(late) + NormalDist().inv_cdf(chance) * deviation)
