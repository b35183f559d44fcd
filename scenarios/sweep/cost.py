"""What a run costs, estimated before it is run: kernel events, and seconds of one core.

Method: `expected_work` counts what a scenario is expected to cause (processes that start, rebalances, pauses,
waits of a rollout); each has a price in events and in seconds. The prices are a fit without negative coefficients to
three seeds each of the library's scenarios and of 65 variants of them (10 to 1,000 members, range, sticky and
cooperative, 3 to 100 partitions a member, hours instead of minutes), of relative errors, so that small runs count as
much as large ones. The two prices of a pass through the poll loop are of one variant each.

Error: of the twenty library scenarios eighteen lie within a factor of 1.5 in events and 1.6 in seconds, half of them
within 1.2. Two have more events than estimated: slow-consumer three times, slow-assignor six times as many, because a
group that never becomes stable is not foreseen. Of all variants, 25 that came after the fit among them, nine in ten lie
within 1.6. Seconds are those of a core of the machine that the fit was made on (a rebalance of a hundred members takes
20 ms); another core has a factor of its own, the same for all runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from groupsim.scenarios.sweep.expected_work import is_cooperative, work_of
from groupsim.scenarios.sweep.moments import mean_us
from groupsim.sim.model import Group, Scale, Scenario, Topic
from groupsim.sim.units import S

FIXED_S: Final = 0.0045
"""Building a world and its tables."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run costs.

    Parameters
    ----------
    events : float
        Kernel events, which `sim.model.Scenario.event_budget` limits.
    seconds : float
        Of one core.
    """

    events: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.events + other.events, self.seconds + other.seconds)

    def times(self, number: float) -> Cost:
        """The cost of so many of these."""
        return Cost(self.events * number, self.seconds * number)


START: Final = Cost(12.3, 290e-6)
PAUSE: Final = Cost(2.5, 31e-6)
PROBE: Final = Cost(1.02, 4.7e-6)
SAMPLE: Final = Cost(1.03, 44e-6)
REBALANCE: Final = Cost(29.0, 1.5e-3)
"""On top of what it costs by member and by partition."""
WAVE: Final = Cost(1.48, 167e-6)
"""A member in a rebalance that it goes through together with others (`sim.fastpath.eligibility`)."""
KEEP: Final = Cost(9.0, 300e-6)
"""A cooperative member in a rebalance: together with others as far as it keeps what it owns."""
ALONE: Final = Cost(10.3, 342e-6)
"""A member that takes every step of a rebalance as an event: with listeners that take time."""
PARTITION: Final = Cost(0.0, 1.5e-6)
"""A partition in a rebalance."""
OLD_SECOND: Final = Cost(1.97, 22e-6)
"""A second of a member whose heartbeats are sent from inside poll(), which are events."""
PASS: Final = Cost(1.0, 14.6e-6)
"""A pass through the poll loop that is an event: of a member that commits before it processes."""
DRAWN_PASS: Final = Cost(0.0, 50e-9)
"""A pass whose length is drawn, because a record's cost is."""


def cost_of(scenario: Scenario) -> Cost:
    """What one run of a scenario is expected to cost; the same for all seeds."""
    samples = scenario.horizon_us / scenario.sample_every_us
    total = Cost(seconds=FIXED_S) + SAMPLE.times(samples)
    for group in scenario.groups:
        total += _group(scenario, group)
    return total


def _group(scenario: Scenario, group: Group) -> Cost:
    work = work_of(scenario, group)
    partitions = sum(topic.partitions for topic in _topics(scenario, group))
    together = KEEP if is_cooperative(group) else WAVE
    each = (together if _is_plain(group) else ALONE).times(_members(scenario, group))
    round_ = REBALANCE + each + PARTITION.times(partitions)
    return (
        START.times(work.starts) + round_.times(work.rebalances) + PAUSE.times(work.pauses)
        + PROBE.times(work.probes) + _loops(scenario, group)
    )  # fmt: skip


def _loops(scenario: Scenario, group: Group) -> Cost:
    """What poll loops cost that are more than arithmetic."""
    member_s = group.members.count * scenario.horizon_us / S
    if not group.client.behaviour.background_heartbeat:
        return OLD_SECOND.times(member_s)
    if group.processing.commit == "before_processing":
        return PASS.times(member_s * _passes_per_s(scenario, group))
    if group.processing.per_record.kind != "constant":
        return DRAWN_PASS.times(member_s * _passes_per_s(scenario, group))
    return Cost()


def _passes_per_s(scenario: Scenario, group: Group) -> float:
    """How often a member polls once it has caught up; with more to do than it can, how often it has a full batch.

    Source: `sim.client.poll_schedule.pace`: overhead / (1 - load) is the length of a pass.
    """
    rate = sum(_rate_per_s(topic.rate.per_partition_mrps[0], topic.partitions) for topic in _topics(scenario, group))
    record_s, processing = mean_us(group.processing.per_record) / S, group.processing
    load = rate / max(group.members.count, 1) * record_s
    overhead_s = (scenario.cluster.timing.poll_us + processing.per_poll_us) / S
    if not rate:
        return 1 / (overhead_s + processing.poll_timeout_us / S)
    full = 1 / (overhead_s + group.client.max_poll_records * record_s)
    return max(full, (1 - load) / overhead_s)


def _rate_per_s(per_partition_mrps: tuple[int, ...], partitions: int) -> float:
    return sum(per_partition_mrps) / len(per_partition_mrps) / 1000 * partitions


def _topics(scenario: Scenario, group: Group) -> list[Topic]:
    """What a group reads; with a pattern everything, which is rarely far off."""
    named = group.subscription.topics or group.subscription.assign
    return [topic for topic in scenario.topics if not named or topic.name in named]


def _members(scenario: Scenario, group: Group) -> float:
    """How many members a rebalance has: between those at the start and those after scaling."""
    scaled = [
        entry.verb.to
        for entry in scenario.timeline
        if isinstance(entry.verb, Scale) and entry.verb.target.name == group.name
    ]
    return (group.members.count + scaled[-1]) / 2 if scaled else group.members.count


def _is_plain(group: Group) -> bool:
    """Whether members go through rebalances in waves."""
    processing = group.processing
    return not (
        processing.commit == "before_processing"
        or processing.on_revoked_us
        or processing.on_assigned_us
        or not group.client.behaviour.background_heartbeat
    )
