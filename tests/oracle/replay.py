"""A recording as a scenario: the same members and the same faults, at the instants at which they really came.

Much of what differs from run to run is chance of phase: when, within the heartbeat period, a fault came. A recording
knows. Members start when their first request was sent, under the ids that the broker gave them. Everything that is
done to the group comes as long after the last Stable as in life: from there all its members' heartbeats count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from sim.model import (
    Close,
    Distribution,
    Entry,
    GcPause,
    Kill,
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
from tests.oracle.measures import first_requests, rounds
from tests.oracle.simulated import Ids, simulated
from tests.oracle.trace import Fact

_TOLD_OTHERWISE = {"start", "thaw", "unstuck", "unslow"}
"""Starts come with the first request; ends are in the length of what ends."""
Shifts = list[tuple[int, int]]
"""(from this instant of the recording on, that much later in the simulated run), microseconds."""


def replay(scenario: Scenario, facts: Sequence[Fact], seed: int) -> list[Fact]:
    """The simulated run that has a recording's instants and member ids, as facts.

    Parameters
    ----------
    scenario : Scenario
        As it was played, one group.
    facts : sequence of dict
        The recording.
    seed : int
        Of what is left to chance: latencies.
    """
    ids, shifts = _ids(facts), Shifts()
    for _ in range(1 + len(rounds(facts))):
        told = simulated(_with_instants(scenario, facts, shifts), seed, ids)
        found = _shifts(facts, told)
        if found == shifts:
            break
        shifts = found
    return told


def _shifts(facts: Sequence[Fact], told: Sequence[Fact]) -> Shifts:
    """How much later each Stable came than in the recording."""
    real = [one.stable_us for one in rounds(facts) if one.stable_us >= 0]
    mine = [one.stable_us for one in rounds(told) if one.stable_us >= 0]
    return [(recorded, simulated_us - recorded) for recorded, simulated_us in zip(real, mine, strict=False)]


def _ids(facts: Sequence[Fact]) -> Ids:
    found: dict[tuple[str, int], list[str]] = defaultdict(list)
    for fact in facts:
        if fact["what"] == "joined" and fact["member_id"] not in found[fact["member"], fact["incarnation"]]:
            found[fact["member"], fact["incarnation"]].append(fact["member_id"])
    return found


def _with_instants(scenario: Scenario, facts: Sequence[Fact], shifts: Shifts) -> Scenario:
    (group,) = scenario.groups

    def then(real_us: int) -> int:
        return real_us + next((shift for since, shift in reversed(shifts) if since <= real_us), 0)

    names = {fact["member"] for fact in facts if fact["what"] == "request"}
    members = replace(
        group.members,
        count=max(int(name.rpartition("/")[2]) + 1 for name in names),
        start=Start(kind="at", value_us=scenario.horizon_us),
        boot=Distribution.constant(0),
    )
    timeline = [*_starts(facts, then), *_acts(scenario, facts, then)]
    return replace(scenario, groups=(replace(group, members=members),), timeline=tuple(timeline))


def _starts(facts: Sequence[Fact], then: Callable[[int], int]) -> Iterator[Entry]:
    """Everybody's first requests; ``entry#number`` as those of `_acts`, and no entry for the first starts."""
    because = {
        (fact["target"], fact["incarnation"]): fact["entry"] or ""
        for fact in facts
        if fact["what"] == "action" and fact["verb"] == "start"
    }
    for (member, incarnation), time in first_requests(facts).items():
        name = f"{because[member, incarnation]}#start-{member}-{incarnation}"
        yield Entry(id=name, at_us=then(time), verb=StartMembers(target=_member(member)))


def _acts(scenario: Scenario, facts: Sequence[Fact], then: Callable[[int], int]) -> Iterator[Entry]:
    written = {entry.id: entry for entry in scenario.timeline}
    told = (fact for fact in facts if fact["what"] == "action" and fact["entry"] is not None)
    done = [fact for fact in told if fact["verb"] not in _TOLD_OTHERWISE]
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
