"""How many requests the members of groups send to their shard while nothing happens, read off the scenario.

How a shard's queue is simulated is decided by it (`sim.cluster.groups.shards`), so it must be known before a run and
be the same in both fidelities. It counts the most members that a group can have, with their heartbeats and their
commits: by auto-commit's interval, or one a pass, but no more of these than there are records. What comes with a
rebalance does not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from groupsim.sim.cluster.shard.waiting_time import Stream, utilisation
from groupsim.sim.config import ClientConfig, EventTimes
from groupsim.sim.model import Group, Processing, Scenario, Topic
from groupsim.sim.randomness import mean_of
from groupsim.sim.units import S


class Offered(NamedTuple):
    """What a group offers its shard.

    Parameters
    ----------
    members : int
        The most that it can have.
    heartbeats, commits : Stream
        A heartbeat takes what those of its members take on average.
    session_us : int, microseconds
        The shortest session of a member.
    is_paced : bool
        The next heartbeat waits for the answer to the last one: in the consumer protocol, not in the classic one.
    """

    members: int
    heartbeats: Stream
    commits: Stream
    session_us: int
    is_paced: bool


def offered_by(scenario: Scenario, spec: Group, members: int, topics: Mapping[str, Topic]) -> Offered:
    """What a group with so many members offers while nothing happens; ``topics``: those of the scenario, by name."""
    times, kinds = scenario.cluster.event_times, _kinds(spec, members)
    sessions = [_session_us(scenario, spec, client) for client, _ in kinds]
    beats = [
        Stream(count * S / heartbeat_us(scenario, spec, client), _beat_us(times, client))
        for (client, _), count in kinds.items()
    ]
    commits = 0.0
    for (client, processing), count in kinds.items():
        each = S / _commit_us(scenario, client, processing)
        if not _is_automatic(client, processing):
            each = min(each, _records_per_s(spec, topics) / max(members, 1))
        commits += count * each
    if spec.client.group_protocol == "zookeeper" or spec.subscription.assign is not None:
        beats = []
    return Offered(
        members, _together(beats), Stream(commits, times.commit_us), min(sessions, default=0),
        is_paced=all(client.group_protocol == "consumer" for client, _ in kinds),
    )  # fmt: skip


def _beat_us(times: EventTimes, client: ClientConfig) -> int:
    return times.consumer_heartbeat_us if client.group_protocol == "consumer" else times.heartbeat_us


def _together(streams: Sequence[Stream]) -> Stream:
    """All of them as one, which takes what they take on average."""
    rate = sum((one.rate_per_s for one in streams), 0.0)
    return Stream(rate, round(utilisation(streams) * S / rate) if rate else 0)


def shard_streams(offered: Iterable[Offered]) -> tuple[Stream, ...]:
    """What the groups of a shard offer it together, by service time."""
    rates: Counter[int] = Counter()
    for one in offered:
        for stream in (one.heartbeats, one.commits):
            rates[stream.service_us] += stream.rate_per_s  # type: ignore[assignment]
    return tuple(Stream(rate, service_us) for service_us, rate in sorted(rates.items()) if rate and service_us)


def heartbeat_us(scenario: Scenario, spec: Group, client: ClientConfig) -> int:
    """A member's heartbeat interval, microseconds."""
    if client.group_protocol != "consumer":
        return client.heartbeat_interval_us
    own = spec.group_config.consumer_heartbeat_interval_us
    return own if own is not None else scenario.cluster.config.consumer_heartbeat_interval_us


def _session_us(scenario: Scenario, spec: Group, client: ClientConfig) -> int:
    if client.group_protocol != "consumer":
        return client.session_timeout_us
    own = spec.group_config.consumer_session_timeout_us
    return own if own is not None else scenario.cluster.config.consumer_session_timeout_us


def _kinds(spec: Group, members: int) -> Mapping[tuple[ClientConfig, Processing], int]:
    """How many members there are of each configuration."""
    if not spec.overrides:
        return {(spec.client, spec.processing): members}
    overrides = [spec.override_of(index) for index in range(members)]
    return Counter((one.client or spec.client, one.processing or spec.processing) for one in overrides)


def _is_automatic(client: ClientConfig, processing: Processing) -> bool:
    return processing.commit == "auto" and client.enable_auto_commit


def _commit_us(scenario: Scenario, client: ClientConfig, processing: Processing) -> float:
    """The least time between two commits of a member, microseconds; infinite if it does not commit."""
    is_automatic = _is_automatic(client, processing)
    if processing.commit in ("auto", "none") and not is_automatic:
        return float("inf")
    fixed_us = scenario.cluster.timing.poll_us + processing.per_poll_us
    pass_us = min(fixed_us + mean_of(processing.per_record), processing.poll_timeout_us)
    return max(pass_us, client.auto_commit_interval_us if is_automatic else processing.commit_every_us, 1)


def _records_per_s(spec: Group, topics: Mapping[str, Topic]) -> float:
    """The most that is produced a second to the topics that a group can read; infinite for a pattern."""
    wanted = [one.subscription or spec.subscription for one in spec.overrides] + [spec.subscription]
    names = {name for one in wanted for name in (*one.topics, *(one.assign or ()))}
    if any(one.pattern or one.re2 for one in wanted) or not names <= topics.keys():
        return float("inf")
    return sum(_rate_per_s(topics[name].rate.per_partition_mrps, topics[name].partitions) for name in sorted(names))


def _rate_per_s(steps: tuple[tuple[int, ...], ...], partitions: int) -> float:
    most = 0.0
    for row in steps:
        known = row[:partitions]
        most = max(most, sum(known) + (partitions - len(known)) * (sum(row) / len(row)))
    return most / 1000
