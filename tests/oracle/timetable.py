"""When the entries of a timeline fire and whom they hit: groupsim's own draws, for a repetition instead of a seed.

So each repetition of a recording has other phases, and a simulated run of that seed is told the same story.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from groupsim.sim import simulate
from groupsim.sim.model import CreateTopic, Entry, Scenario, Target
from groupsim.sim.randomness import Streams
from groupsim.sim.timeline.dispatcher import firing_times
from groupsim.sim.timeline.lifecycle import first_start_us
from groupsim.sim.world import slots_of


@dataclass(frozen=True)
class Firing:
    """One firing of an entry.

    Parameters
    ----------
    at_us : int
        After the scenario's instant 0.
    entry : Entry
    number : int
        Counted from 0 over the firings of this entry.
    targets : tuple of str
        Members that are meant, alive or not, by index; empty where an entry is about a topic or about brokers.
    """

    at_us: int
    entry: Entry
    number: int
    targets: tuple[str, ...]


def first_starts(scenario: Scenario, seed: int) -> Iterator[tuple[int, str]]:
    """(instant in microseconds, member) of the members that groups begin with."""
    streams = Streams(seed)
    for group in scenario.groups:
        for index in range(group.members.count):
            yield first_start_us(streams, group, index), f"{group.name}/{index}"


def is_outage(entry: Entry) -> bool:
    """Whether something is done to brokers."""
    target: Target | None = getattr(entry.verb, "target", None)
    return target is not None and target.kind == "broker"


def firings(scenario: Scenario, seed: int) -> list[Firing]:
    """All firings before the horizon, in order of time; those of one instant in order of the file."""
    drawn, streams = _Drawn(scenario, seed), Streams(seed)
    found = [
        Firing(at_us, entry, number, drawn.targets(entry, at_us))
        for entry in scenario.timeline
        for number, at_us in enumerate(firing_times(entry, streams, "", scenario.horizon_us))
        if at_us < scenario.horizon_us
    ]
    return sorted(found, key=lambda one: one.at_us)


class _Drawn:
    """Whom targets mean; the simulator is asked only if one of them is drawn."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self._slots = slots_of(scenario)
        verbs = [entry.verb for entry in scenario.timeline if not isinstance(entry.verb, CreateTopic)]
        picks = {verb.target.pick for verb in verbs if hasattr(verb, "target")}
        self._events = simulate(scenario, seed=seed).tables["events"] if picks & {"random", "share"} else None

    def targets(self, entry: Entry, at_us: int) -> tuple[str, ...]:
        target: Target | None = getattr(entry.verb, "target", None)
        if target is None or target.kind == "broker":
            return ()
        if target.pick in ("random", "share"):
            events = self._events
            assert events is not None
            hit = events[(events["entry"] == entry.id) & (events["time_us"] == at_us)]["target"]
            return tuple(sorted(hit, key=lambda name: int(name.rpartition("/")[2])))
        indices = target.indices if target.pick == "index" else range(self._slots[target.name])
        return tuple(f"{target.name}/{index}" for index in indices)
