"""A recording as a scenario: the same members and the same faults, at the instants at which they really came.

Much of what differs from run to run is chance of phase: when, within the heartbeat period, a fault came. A recording
knows. Members join when they did, under the ids that the broker gave them. All that is done to the group comes as
long after the last Stable as on the real broker: from there all its members' heartbeats count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
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
    Unsubscribe,
    Verb,
)
from groupsim.sim.units import MS
from tests.oracle.measures import first_requests, orders, rounds
from tests.oracle.simulated import Ids, simulated
from tests.oracle.trace import Fact

EARLIER_US = 500 * MS
"""A replay begins that much before its recording, so that members can start before they are admitted."""
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
    clock = _Clock(facts)
    for _ in range(3 + len(rounds(facts))):
        told = simulated(_with_instants(scenario, facts, clock), seed, clock.ids)
        if not clock.is_set_by(told):
            break
    return told


class _Clock:
    """When something of a recording happens in its replay.

    Whatever is done to the group comes as long after the last Stable as it did on the real broker. A member starts so
    early that the coordinator admits it at its instant: who comes first is leader.
    """

    def __init__(self, facts: Sequence[Fact]) -> None:
        self.ids = _ids(facts)
        self._stable = _stable(facts)
        self._admitted = _admitted(facts, self.ids)
        self._shifts: list[tuple[int, int]] = []
        self._leads: dict[Life, int] = {}

    def then(self, real_us: int) -> int:
        """An instant of the recording, in the replay."""
        return real_us + next((shift for since, shift in reversed(self._shifts) if since <= real_us), EARLIER_US)

    def start(self, life: Life, request_us: int) -> int:
        """When a life begins of which the first request was sent then."""
        if life not in self._admitted:
            return self.then(request_us)
        return self.then(self._admitted[life]) - self._leads.get(life, 0)

    def is_set_by(self, told: Sequence[Fact]) -> bool:
        """Look at a run; whether it makes the clock another one."""
        before = (self._shifts, dict(self._leads))
        admitted = _admitted(told, self.ids)
        for life, real_us in self._admitted.items():
            if life in admitted:
                self._leads[life] = self._leads.get(life, 0) + admitted[life] - self.then(real_us)
        pairs = zip(self._stable, _stable(told), strict=False)
        self._shifts = [(real_us, mine_us - real_us) for real_us, mine_us in pairs]
        return before != (self._shifts, self._leads)


def _stable(facts: Sequence[Fact]) -> list[int]:
    return [one.stable_us for one in rounds(facts) if one.stable_us >= 0]


def _admitted(facts: Sequence[Fact], ids: Ids) -> dict[Life, int]:
    """When the coordinator took each life in as a member."""
    lives = {each[0]: life for life, each in ids.items() if each}
    return {
        lives[fact["member_id"]]: fact["at_us"]
        for fact in facts
        if fact["what"] == "membership" and fact["change"] == "added" and fact["member_id"] in lives
    }


def _ids(facts: Sequence[Fact]) -> Ids:
    found: dict[Life, list[str]] = defaultdict(list)
    for fact in facts:
        if fact["what"] == "joined" and fact["member_id"] not in found[fact["member"], fact["incarnation"]]:
            found[fact["member"], fact["incarnation"]].append(fact["member_id"])
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
    topics = tuple(replace(one, rate=_later(one.rate)) for one in scenario.topics)
    return replace(scenario, topics=topics, groups=(replace(group, members=members),), timeline=tuple(timeline))


def _later(rate: Rate) -> Rate:
    """Records begin with the recording: a member that works finds as much of them, and they come at the same phase."""
    nothing = (0,) * len(rate.per_partition_mrps[0])
    times_us = (0, *(EARLIER_US + one for one in rate.times_us))
    return replace(rate, times_us=times_us, per_partition_mrps=(nothing, *rate.per_partition_mrps))


def _starts(facts: Sequence[Fact], clock: _Clock) -> Iterator[Entry]:
    """Everybody's first requests; ``entry#number`` as those of `_acts`, and no entry for the first starts."""
    because = {
        (fact["target"], fact["incarnation"]): fact["entry"] or ""
        for fact in facts
        if fact["what"] == "action" and fact["verb"] == "start"
    }
    for life, time in first_requests(facts).items():
        member, incarnation = life
        name = f"{because[life]}#start-{member}-{incarnation}"
        yield Entry(id=name, at_us=max(clock.start(life, time), 0), verb=StartMembers(target=_member(member)))


def _acts(scenario: Scenario, facts: Sequence[Fact], then: Callable[[int], int]) -> Iterator[Entry]:
    written = {entry.id: entry for entry in scenario.timeline}
    done = [fact for fact in orders(facts) if fact["verb"] != "start"]  # Starts come with the first request.
    for number, fact in enumerate(done):
        verb = _verb(written[fact["entry"]], fact)
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


def _member(name: str) -> Target:
    group, _, index = name.partition("/")
    return Target("group", group, "index", (int(index),))
