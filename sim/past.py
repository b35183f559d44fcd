"""The past of groups that begin aged: they start before 0, and have been stable for so long when the run begins.

A run with such groups has room for their past in front of it: its clock begins earlier, everything that a scenario
dates is that much later on it (`Scenario.origin_us`), and the books count from there. Nothing is invented for 0: the
group starts, its members join in one round, and what they then do goes on by the rules of every other moment, quietly
in both fidelities, until 0. Topics have their first rate meanwhile, and nothing else happens.

Who polls in passes that are all alike is a closed form, however long that is. Passes that are drawn, and those that end
with a commit, are gone through one by one, so only the last minutes of such a group are (`WALKED_US`). How late
heartbeats were in the rest is no more than a sum: of as many as there were, each late as the rule has it
(`sim.client.heartbeat_thread`). Where passes are drawn, the sum of thousands is a normal draw with mean and variance
of some heartbeats to come; where they are not, it is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from statistics import NormalDist, fmean, pvariance
from typing import Final

from groupsim.sim.client.client import Client
from groupsim.sim.client.heartbeat_thread import Cadence, next_beat
from groupsim.sim.client.poll_schedule import PollSchedule
from groupsim.sim.errors import ScenarioError
from groupsim.sim.fastpath.heartbeats import Heartbeats
from groupsim.sim.fastpath.trains import Train
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
_RECONCILED_US: Final = MINUTE
"""A consumer group is stable after some heartbeats, each 15 s after the last at most."""


# --- the scenario -----------------------------------------------------------------------------------------------------


def with_past(scenario: Scenario) -> Scenario:
    """The same with the past of its aged groups in front of it; a scenario without such is as it was."""
    origin = max((_past_us(scenario, group) for group in scenario.groups if group.is_aged), default=0)
    if not origin:
        return scenario
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
    is_classic = group.client.group_protocol == "classic"
    return _gone_through_us(group) + (gathering_us(scenario) if is_classic else _RECONCILED_US)


def gathering_us(scenario: Scenario) -> int:
    """The initial delay of an aged group at its first round, microseconds."""
    return max(scenario.cluster.config.initial_rebalance_delay_us, _GATHERING_US)


def _gone_through_us(group: Group) -> int:
    """What of its age a group goes through."""
    age_us = group.members.start.value_us
    clients = [group.client, *(one.client for one in group.overrides if one.client is not None)]
    processings = [group.processing, *(one.processing for one in group.overrides if one.processing is not None)]
    is_closed = all(
        one.per_record.kind == "constant" and one.commit in ("auto", "none") and not one.commit_every_us
        for one in processings
    ) and all(one.auto_commit_interval_us >= S for one in clients)
    return age_us if is_closed else min(age_us, WALKED_US)


# --- the run ----------------------------------------------------------------------------------------------------------


def _aged(world: World) -> list[Group]:
    return [spec for spec in world.scenario.groups if spec.is_aged]


def gather(world: World) -> None:
    """Members of aged groups that have not started yet will join in one round."""
    config = world.scenario.cluster.config
    patient = replace(config, initial_rebalance_delay_us=gathering_us(world.scenario))
    for spec in _aged(world):
        world.groups[spec.name].machine.on_config(world.env.now, patient)


def live_through(world: World, *, is_loud: bool) -> None:
    """Bring a world to 0: from here on the run is that of the scenario; ``is_loud``: in message fidelity.

    Raises
    ------
    ScenarioError
        A group that begins aged is not Stable.
    """
    env, origin = world.env, world.scenario.origin_us
    drifting = [one for one in _aged(world) if _rest_us(one)]
    if drifting:
        env.run_before(origin - WALKED_US + _SETTLED_US)
        env.close_at(origin - WALKED_US + _SETTLED_US)
        for spec in drifting:
            _drift(world, spec)
    env.run_before(origin)
    env.close_at(origin)
    for spec in _aged(world):
        _arrive(world, spec)
    if is_loud:
        world.be_loud()


def _arrive(world: World, spec: Group) -> None:
    """An aged group is at 0: whether it is what the scenario says, and what it counts from here."""
    group = world.groups[spec.name]
    group.machine.on_config(world.env.now, world.scenario.cluster.config)
    group.fast_path.settle()
    state = group.books.record.states[-1][1] if group.books.record.states else "Dead"
    if state != "Stable" and spec.members.count:
        raise ScenarioError(f"group {spec.name} begins aged, and is not Stable after that time but {state}")
    for consumer in world.members[spec.name]:
        client = consumer.client
        if client is not None:
            client.life.rejoins = 0
            holding = client.consumption.holding
            if holding.partitions.size and holding.total_rate >= holding.capacity:
                raise ScenarioError(
                    f"group {spec.name} begins aged, and {consumer.name} cannot keep up: {holding.total_rate * 1e6:,.0f}"
                    f" records/s are produced for it, and it processes {holding.capacity * 1e6:,.0f}; so it would begin"
                    " with lag"
                )


def _rest_us(group: Group) -> int:
    """What of its age a group does not go through."""
    return group.members.start.value_us - _gone_through_us(group)


def _drift(world: World, spec: Group) -> None:
    """Heartbeats are where the rest of the past has left them."""
    now, group = world.env.now, world.groups[spec.name]
    group.fast_path.settle()
    for consumer in world.members[spec.name]:
        client = consumer.client
        if client is None or not isinstance(client.machine, ClassicMember):
            continue  # who has no heartbeat thread that waits for the application is on time
        client.elision.wake()
        if client.config.behaviour.background_heartbeat and client.machine.is_settled:
            chance = (world.streams.draw(_CHANCE, "aged", client.label)(0) + 0.5) / _CHANCES
            due = _drifted(client, now, _rest_us(spec), chance)
            client.machine.restore_heartbeats(due, due - client.poll_loop.cadence.interval_us)
            group.rouse(client.machine.member_id, now)
        client.drive(now)


def _drifted(client: Client, now: int, rest_us: int, chance: float) -> int:
    """When the first heartbeat is due after ``rest_us`` that ended ``now``."""
    machine, schedule, cadence = client.machine, client.poll_loop.schedule, client.poll_loop.cadence
    due, since = machine.heartbeat_due, machine.waiting_since
    if schedule is None or schedule.passes_from(now) is not None:
        beating = Heartbeats(Train(due, 0, cadence.interval_us, (0, 0), 0), cadence, since)
        beating.send(schedule, now + rest_us)
        due = beating.train.due
    else:
        late = list(islice(_lateness(schedule, cadence, due, since), _SAMPLE))
        beats = rest_us / (cadence.interval_us + fmean(late))
        due += round(beats * fmean(late) + NormalDist().inv_cdf(chance) * (beats * pvariance(late)) ** 0.5)
    return now + (due - rest_us - now) % cadence.interval_us


def _lateness(schedule: PollSchedule, cadence: Cadence, due: int, since: int) -> Iterator[int]:
    """By how much each heartbeat from the one that is due at ``due`` on is late, microseconds."""
    while True:
        since = next_beat(schedule, cadence, due, since)
        yield since - due
        due = since + cadence.interval_us
