"""A recording as a scenario: the same members and the same faults, at the instants at which they really came.

Much of what differs from run to run is chance of phase: when, within the heartbeat period, a fault came. A recording
knows. Members join when they did, under the ids that the broker gave them. All that is done to the group comes as
long after the last Stable as on the real broker: from there all its members' heartbeats count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from groupsim.sim.model import (
    Close,
    Distribution,
    Entry,
    GcPause,
    Kill,
    Rate,
    Scenario,
    SetConfig,
    Slow,
    Start,
    StartMembers,
    Stuck,
    Subscribe,
    Target,
    Topic,
    Unsubscribe,
    Verb,
)
from groupsim.sim.randomness import mean_of
from groupsim.sim.units import MS, S
from tests.oracle.broker_instants import before_outages, has_outages, instants, names, node_of
from tests.oracle.lateness import written_since
from tests.oracle.measures import BROKER, faults, first_requests, orders, rounds
from tests.oracle.simulated import Delay, Ids, simulated
from tests.oracle.trace import Fact

EARLIER_US = 500 * MS
"""A replay begins that much before its recording, so that members can start before they are admitted."""
SHORTEST_US = -15 * MS
"""By so much a connection may be made earlier than usual."""
_TRIES = 8
"""So often a clock is set at most, besides once for each round."""
Life = tuple[str, int]
"""Member and incarnation."""


def replay(scenario: Scenario, facts: Sequence[Fact], seed: int) -> list[Fact]:
    """The simulated run that has a recording's instants and member ids, as facts.

    Parameters
    ----------
    scenario : Scenario
        As it was played, one group; its latencies should be constant, since the recording says what came when.
    facts : sequence of dict
        The recording.
    seed : int
        Of what is left to chance.
    """
    if not has_outages(facts):
        return _set_clock(scenario, facts, seed)[1]
    calm = before_outages(facts)
    clock, _ = _set_clock(replace(scenario, horizon_us=EARLIER_US + calm[-1]["at_us"]), calm, seed)
    brokers = instants(scenario, facts, clock.then)
    return simulated(_with_instants(scenario, facts, clock), seed, clock.ids, clock.delays, brokers)


def _set_clock(scenario: Scenario, facts: Sequence[Fact], seed: int) -> tuple[_Clock, list[Fact]]:
    """The clock of a replay, and the last run by which it was set."""
    (group,) = scenario.groups
    wait_us = min(group.processing.poll_timeout_us, group.client.retry_backoff_us)
    clock = _Clock(facts, wait_us + scenario.cluster.timing.poll_us)
    for _ in range(_TRIES + len(rounds(facts))):
        told = simulated(_with_instants(scenario, facts, clock), seed, clock.ids, clock.delays)
        if not clock.is_set_by(told):
            break
    return clock, told


class _Clock:
    """When something of a recording happens in its replay.

    Whatever is done to the group comes as long after the last Stable as it did on the real broker. A member starts so
    early that the coordinator admits it at its instant: who comes first is leader. One of the consumer protocol
    acknowledges in a pass through poll(), and beats from there on: it begins to poll so that its first assignment comes
    at the instant at which that came, looks for its coordinator when it did, and takes as long to connect.

    Parameters
    ----------
    facts : sequence of dict
        The recording.
    pass_us : int
        Length of a pass of a member of the consumer protocol that reads nothing.

    Attributes
    ----------
    delays : dict
        As `tests.oracle.simulated` takes them.
    """

    def __init__(self, facts: Sequence[Fact], pass_us: int) -> None:
        self._pass_us = pass_us
        self.ids = _ids(facts)
        self._stable = _stable(facts)
        self._admitted = _admitted(facts, self.ids)
        self._assigned = _assigned(facts)
        self.delays: dict[Life, Delay] = {}
        self._shifts: list[tuple[int, int]] = []
        self._leads: dict[Life, int] = {}

    def then(self, real_us: int) -> int:
        """An instant of the recording, in the replay."""
        return real_us + next((shift for since, shift in reversed(self._shifts) if since <= real_us), EARLIER_US)

    def start(self, life: Life, request_us: int) -> int:
        """When a life begins of which the first request was sent then."""
        if life not in self._admitted:
            return self.then(request_us)
        lead_us = self._leads.get(life, 0)
        if life in self.delays:
            return self.then(request_us) - self.delays[life].asking_us - lead_us
        return self.then(self._admitted[life]) - lead_us

    def is_set_by(self, told: Sequence[Fact]) -> bool:
        """Look at a run; whether it makes the clock another one."""
        before = (self._shifts, dict(self._leads), dict(self.delays))
        admitted, assigned = _admitted(told, self.ids), _assigned(told)
        for life, real_us in self._admitted.items():
            if life in admitted:
                late_us = admitted[life] - self.then(real_us)
                if life in self._assigned and life in assigned:
                    self._delay(life, late_us, assigned[life] - self.then(self._assigned[life]))
                else:
                    self._leads[life] = self._leads.get(life, 0) + late_us
        pairs = zip(self._stable, _stable(told), strict=False)
        self._shifts = [(real_us, mine_us - real_us) for real_us, mine_us in pairs]
        return before != (self._shifts, self._leads, self.delays)

    def _delay(self, life: Life, late_us: int, assigned_late_us: int) -> None:
        """Another rhythm of passes for who was assigned something so late, another connection for who came so late."""
        if life not in self.delays:
            self.delays[life], self._leads[life] = Delay(), 0
            return
        before = self.delays[life]
        connecting_us = before.connecting_us - late_us
        self._leads[life] += max(0, SHORTEST_US - connecting_us)
        self.delays[life] = Delay(
            (before.asking_us + assigned_late_us) % self._pass_us,
            max(connecting_us, SHORTEST_US),
            before.is_found_late or assigned_late_us < -self._pass_us / 2,
            self._holding(before, assigned_late_us),
        )

    def _holding(self, before: Delay, assigned_late_us: int) -> int:
        """How long the first answer is held, whole passes: of who is assigned something too early in any case."""
        passes = round(assigned_late_us / self._pass_us)
        return max(0, before.holding_us - passes * self._pass_us) if before.is_found_late else 0


def _stable(facts: Sequence[Fact]) -> list[int]:
    return [one.stable_us for one in rounds(facts) if one.stable_us >= 0]


def _admitted(facts: Sequence[Fact], ids: Ids) -> dict[Life, int]:
    """When the coordinator took each life in as a member; a static one that is back is told what it may have."""
    lives = {each[0]: life for life, each in ids.items() if each}
    found: dict[Life, int] = {}
    for fact in facts:
        is_admission = fact["what"] == "reconciled" or (fact["what"] == "membership" and fact["change"] == "added")
        if is_admission and fact["member_id"] in lives:
            found.setdefault(lives[fact["member_id"]], fact["at_us"])
    return found


def _assigned(facts: Sequence[Fact]) -> dict[Life, int]:
    """When each life was assigned something for the first time, be it nothing (consumer protocol)."""
    found: dict[Life, int] = {}
    for fact in facts:
        if fact["what"] == "assigned":
            found.setdefault((fact["member"], fact["incarnation"]), fact["at_us"])
    return found


def _ids(facts: Sequence[Fact]) -> Ids:
    found: dict[Life, list[str]] = defaultdict(list)
    for fact in facts:
        if "member_id" in fact and fact["what"] in ("joined", "request"):
            known = found[fact["member"], fact["incarnation"]]
            known += [fact["member_id"]] if fact["member_id"] not in known else []
    return found


def _with_instants(scenario: Scenario, facts: Sequence[Fact], clock: _Clock) -> Scenario:
    (group,) = scenario.groups
    names = {fact["member"] for fact in facts if fact["what"] == "request"}
    members = replace(
        group.members,
        count=max(int(name.rpartition("/")[2]) + 1 for name in names),
        start=Start(kind="at", value_us=scenario.horizon_us),
        boot=Distribution.constant(0),
    )
    timeline = [*_starts(facts, clock), *_acts(scenario, facts, clock.then)]
    topics = tuple(
        replace(one, rate=_later(one.rate, _written(scenario, one, facts, clock))) for one in scenario.topics
    )
    return replace(scenario, topics=topics, groups=(replace(group, members=members),), timeline=tuple(timeline))


def _written(scenario: Scenario, topic: Topic, facts: Sequence[Fact], clock: _Clock) -> int:
    """When the replay begins to write a topic, so that its records come as long after a fault as the recorded ones.

    The driver writes the first record of the first partition at once (``Supply.rate``), the model one n-th of a period
    later. Where rate or partitions change, or somebody spends time on records, they do not say when they came: there it
    is the instant from which faults count.
    """
    fault_us = next((one["at_us"] for one in faults(facts)), 0)
    begun_us = clock.then(fault_us) - fault_us
    is_steady = len(topic.rate.times_us) == len(topic.rate.per_partition_mrps[0]) == 1
    is_changed = any(getattr(entry.verb, "topic", None) == topic.name for entry in scenario.timeline)
    is_worked_on = any(mean_of(one.processing.per_record) for one in scenario.groups)
    rate_mrps = topic.rate.per_partition_mrps[0][0]
    if not is_steady or is_changed or is_worked_on or rate_mrps == 0:
        return begun_us
    return begun_us + written_since(facts, topic) - 1000 * S // rate_mrps // topic.partitions


def _later(rate: Rate, begin_us: int) -> Rate:
    """Records begin with the recording: a member that works finds as much of them, and they come at the same phase."""
    nothing = (0,) * len(rate.per_partition_mrps[0])
    times_us = (0, *(begin_us + one for one in rate.times_us))
    return replace(rate, times_us=times_us, per_partition_mrps=(nothing, *rate.per_partition_mrps))


def _starts(facts: Sequence[Fact], clock: _Clock) -> Iterator[Entry]:
    """Everybody's first requests; ``entry#number`` as those of `_acts`, and no entry for the first starts."""
    because = {
        (fact["target"], fact["incarnation"]): fact["entry"] or ""
        for fact in facts
        if fact["what"] == "action" and "incarnation" in fact
    }
    for life, time in first_requests(facts).items():
        member, incarnation = life
        name = f"{because[life]}#start-{member}-{incarnation}"
        yield Entry(id=name, at_us=max(clock.start(life, time), 0), verb=StartMembers(target=_member(member)))


def _acts(scenario: Scenario, facts: Sequence[Fact], then: Callable[[int], int]) -> Iterator[Entry]:
    written = {entry.id: entry for entry in scenario.timeline}
    done = [fact for fact in orders(facts) if "incarnation" not in fact]  # Starts come with the first request.
    called = names(scenario, facts) if has_outages(facts) else {}
    for number, fact in enumerate(done):
        is_outage = fact["target"].startswith(BROKER)
        verb = _done_to(fact, called) if is_outage else _verb(written[fact["entry"]], fact)
        yield Entry(id=f"{fact['entry']}#{number}", at_us=max(then(fact["at_us"]), 0), verb=verb)


def _verb(entry: Entry, fact: Fact) -> Verb:
    """What was done to one member, or what the entry says of a topic."""
    told = entry.verb
    for_us = Distribution.constant(fact.get("for_us", 0))
    match fact["verb"]:
        case "kill":
            return Kill(target=_member(fact["target"]))
        case "close":
            return Close(target=_member(fact["target"]))
        case "gc_pause":
            return GcPause(target=_member(fact["target"]), duration=for_us)
        case "stuck":
            return Stuck(target=_member(fact["target"]), duration=for_us)
        case "slow":
            return Slow(target=_member(fact["target"]), factor=fact["factor"], duration=for_us)
        case _ if isinstance(told, SetConfig | Subscribe | Unsubscribe):
            return replace(told, target=_member(fact["target"]))
        case _:
            return told


def _done_to(fact: Fact, called: Mapping[int, int]) -> Verb:
    """What was done to one broker."""
    target = Target("broker", str(called[node_of(fact["target"])]))
    verbs = {"kill": Kill, "close": Close, "start": StartMembers}
    verb: Verb = verbs[fact["verb"]](target=target)
    return verb


def _member(name: str) -> Target:
    group, _, index = name.partition("/")
    return Target("group", group, "index", (int(index),))
