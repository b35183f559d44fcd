"""What a scenario gives a run to do, as far as it can be told without running it: starts, rebalances, pauses, waits.

Expectations, not draws: an entry that fires every five minutes fires twelve times an hour; a pause that outlasts the
session once in fifty times costs an eviction fifty pauses. Members that come within one heartbeat share a rebalance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from groupsim.scenarios.sweep.moments import beyond, mean_us, spread_us
from groupsim.sim.model import (
    AddPartitions,
    Close,
    CreateTopic,
    Cut,
    Distribution,
    Entry,
    GcPause,
    Group,
    Kill,
    Restart,
    RollingRestart,
    Scale,
    Scenario,
    Slow,
    SlowHost,
    StartMembers,
    Stuck,
    Subscribe,
    Target,
    Unsubscribe,
)
from groupsim.sim.units import MS

COOPERATIVE: Final = "cooperative-sticky"
REBALANCES_PER_EVICTION: Final = 1.3
"""One for the eviction, and one for the return unless it falls into the first. Measured on gc-storm, 10 to 1,000."""
PROBE_US: Final = 100 * MS
"""How often a rolling restart looks whether its batch is ready (`sim.timeline.rollout`)."""


@dataclass(frozen=True, slots=True)
class Work:
    """What one group, or one entry of the timeline, gives a run to do.

    Parameters
    ----------
    starts : float
        Processes that start.
    rebalances : float
    pauses : float
        Members that are paused, each time counted.
    probes : float
        Looks of a rolling restart at whether its batch is ready.
    """

    starts: float = 0.0
    rebalances: float = 0.0
    pauses: float = 0.0
    probes: float = 0.0

    def __add__(self, other: Work) -> Work:
        return Work(
            self.starts + other.starts, self.rebalances + other.rebalances, self.pauses + other.pauses,
            self.probes + other.probes,
        )  # fmt: skip


def work_of(scenario: Scenario, group: Group) -> Work:
    """What the timeline and the start of a group come to."""
    total = _start_up(scenario, group)
    for entry in scenario.timeline:
        total += _Entry(scenario, group, entry).work()
    return total


def _start_up(scenario: Scenario, group: Group) -> Work:
    """All members start; a group that begins is held open for the initial delay, again with each that comes."""
    count, start, delay_us = (
        group.members.count,
        group.members.start,
        scenario.cluster.config.initial_rebalance_delay_us,
    )
    if group.subscription.assign is not None or not count:
        return Work(starts=count)
    span_us = {"at": 0, "within": start.value_us, "every": start.value_us * (count - 1)}[start.kind]
    apart_us = span_us / count + spread_us(group.members.boot) / count
    rounds = 1.0
    if apart_us > delay_us or not delay_us:
        rounds += merged(count - 1, span_us + spread_us(group.members.boot), group.client.heartbeat_interval_us)
    return Work(starts=count, rebalances=rounds)


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry of the timeline and one group."""

    scenario: Scenario
    group: Group
    entry: Entry

    def work(self) -> Work:
        """What the entry gives to do."""
        verb = self.entry.verb
        match verb:
            case GcPause():
                return self._pauses(verb.target, verb.duration, self.group.client.session_timeout_us)
            case Stuck():
                return self._pauses(verb.target, verb.duration, self.group.client.max_poll_interval_us)
            case Slow() | SlowHost():
                return self._slow(verb)
            case RollingRestart():
                return self._rollout(verb) if self._hit(verb.target) else Work()
            case Cut():
                lost = beyond(verb.duration, self.group.client.session_timeout_us)
                return Work(rebalances=2 * lost * self._firings() * any(self._hit(one) for one in verb.between))
            case AddPartitions() | CreateTopic():
                return Work(rebalances=self._firings() * self._reads(verb))
            case _:
                return self._comings(verb)

    def _comings(self, verb: object) -> Work:
        """Members that stop, start, or both."""
        hits = self._hit(verb.target) * self._firings() if hasattr(verb, "target") else 0.0
        if not hits:
            return Work()
        match verb:
            case Kill():
                back = self._coming(hits, verb.down) if verb.down is not None else Work()
                lost = 0.0 if verb.down is not None and self._bridges(verb.down) else 1.0
                late = beyond(verb.down, self.group.client.session_timeout_us) if verb.down is not None else 0.0
                return Work(back.starts, self._firings() * lost + late * back.rebalances)
            case Restart():
                back = self._coming(hits, verb.down)
                gone = 0.0 if self._bridges(verb.down) else self._firings()
                return Work(back.starts, gone + back.rebalances * (gone > 0))
            case Close():
                return Work(rebalances=self._firings() * (hits < self.group.members.count))
            case Scale() | StartMembers():
                return self._scale(verb)
            case Subscribe() | Unsubscribe():
                return Work(rebalances=self._firings())
            case _:
                return Work()

    def _coming(self, count: float, down: Distribution) -> Work:
        window_us = self.group.client.heartbeat_interval_us
        return Work(starts=count, rebalances=merged(count, spread_us(down), window_us))

    def _scale(self, verb: Scale | StartMembers) -> Work:
        count = self.group.members.count
        new = max(0, verb.to - count) if isinstance(verb, Scale) else count
        if not new:
            return Work(rebalances=self._firings())
        span_us = min(verb.every_us * new, self._left_us()) + spread_us(self.group.members.boot)
        rounds = merged(new, span_us, self.group.client.heartbeat_interval_us)
        return Work(starts=new * self._firings(), rebalances=rounds * self._firings())

    def _pauses(self, target: Target, duration: Distribution, patience_us: int) -> Work:
        pauses = self._firings() * self._hit(target)
        evicted = pauses * beyond(duration, patience_us - self.group.client.heartbeat_interval_us / 2)
        at_most = math.inf if self.entry.per_member else 2 * self._firings()
        return Work(pauses=pauses, rebalances=min(REBALANCES_PER_EVICTION * evicted, at_most))

    def _slow(self, verb: Slow | SlowHost) -> Work:
        """A batch that takes longer than max.poll.interval.ms: the member leaves, and is back after it."""
        client = self.group.client
        batch_us = verb.factor * client.max_poll_records * mean_us(self.group.processing.per_record)
        if batch_us <= client.max_poll_interval_us:
            return Work()
        times = math.ceil(mean_us(verb.duration) / batch_us)
        return Work(rebalances=2 * times * self._firings())

    def _rollout(self, verb: RollingRestart) -> Work:
        """Batch by batch until the horizon: away for the time down, then boot, then a heartbeat until all join."""
        members, client = self._hit(verb.target), self.group.client
        size = min(verb.surge or verb.batch, members)
        join_us = 0 if verb.next_ == "running" or self.group.members.static else client.heartbeat_interval_us / 2
        down_us = 0.0 if verb.surge else mean_us(verb.down) + spread_us(verb.down) * (size > 1) / 2
        wait_us = down_us + mean_us(self.group.members.boot) + join_us
        batches = min(members / size, max(self._left_us(), 0) / (wait_us if verb.next_ != "gap" else verb.gap_us or 1))
        back = merged(size, spread_us(verb.down), client.heartbeat_interval_us)
        rounds = 1.0 if verb.surge else 1.0 + back * (1.5 if is_cooperative(self.group) else 1.0)
        if self.group.members.static and not verb.surge:
            rounds = 2 * min(1.0, size * beyond(verb.down, client.session_timeout_us))
        return Work(batches * size, batches * rounds, probes=0 if verb.next_ == "gap" else batches * wait_us / PROBE_US)

    def _bridges(self, down: Distribution) -> bool:
        """Whether static membership hides a restart from the group."""
        return self.group.members.static and mean_us(down) < self.group.client.session_timeout_us

    def _reads(self, verb: AddPartitions | CreateTopic) -> bool:
        name = verb.topic if isinstance(verb, AddPartitions) else verb.topic.name
        return name in self.group.subscription.topics or self.group.subscription.pattern is not None

    def _left_us(self) -> int:
        return self.scenario.horizon_us - self.entry.at_us

    def _firings(self) -> float:
        """How often the entry fires, for each member where each has a stream of its own."""
        entry, end_us = self.entry, min(self.entry.until_us, self.scenario.horizon_us)
        if entry.every is None:
            return float(entry.at_us < end_us)
        times = max(0, end_us - entry.at_us) / max(mean_us(entry.every), 1)
        return float(math.floor(times)) if entry.every.kind in ("constant", "uniform") else times

    def _hit(self, target: Target) -> float:
        """How many members of the group one firing concerns."""
        count = self.group.members.count
        if target.kind == "rack":
            racks = {broker.rack for broker in self.scenario.cluster.brokers} or {""}
            return count / len(racks)
        if target.kind == "broker" or target.name != self.group.name:
            return 0
        picked = {"all": count, "index": len(target.indices), "leader": 1, "random": target.count}
        return min(count, picked.get(target.pick, target.share * count))


def is_cooperative(group: Group) -> bool:
    """Whether a group keeps what stays through a rebalance: all that its members list is cooperative."""
    return set(group.client.partition_assignment_strategy) == {COOPERATIVE}


def merged(count: float, span_us: float, window_us: float) -> float:
    """How many rebalances ``count`` arrivals spread over a span make, those within a window sharing one."""
    slots = 1 + span_us / window_us
    return slots * (1 - math.exp(-count / slots)) if count > 1 else count
