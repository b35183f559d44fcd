"""Targets that a verb cannot be done to, cuts that part nobody, and entries that fire too often for any run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import exp, log
from statistics import NormalDist
from typing import Final

from groupsim.scenarios.build.problems import Finding
from groupsim.scenarios.files.yaml_text import Place
from groupsim.scenarios.schema.durations import format_duration
from groupsim.scenarios.schema.scenario_file import ScenarioFile
from groupsim.scenarios.schema.targets import format_target
from groupsim.scenarios.schema.timeline import EntryFile
from groupsim.scenarios.schema.verbs import CutFile, TargetedFile
from groupsim.sim.model import Distribution, Target

_TALKING: Final = ({"brokers", "members"}, {"members", "servers"})
"""Beside brokers, who talk to one another: members to brokers, and those of protocol: zookeeper to its servers."""


def check_targets(file: ScenarioFile) -> Iterator[Finding]:
    """What each entry of the timeline is done to, and how often."""
    for position, entry in enumerate(file.timeline):
        place: Place = ("timeline", position, entry.verb)
        if isinstance(entry.body, TargetedFile):
            message = _not_done_to(file, entry, entry.body)
            if message:
                yield (*place, "target"), message, format_target(entry.body.target)
        elif isinstance(entry.body, CutFile):
            message = _parts_nobody(file, entry.body)
            if message:
                yield (*place, "between"), message, [format_target(side) for side in entry.body.between]
        yield from _check_clock(file, entry, ("timeline", position, "every"))


def _not_done_to(file: ScenarioFile, entry: EntryFile, body: TargetedFile) -> str:
    """Why a verb cannot be done to its target, or the empty string."""
    target = body.target
    if target.kind not in body.kinds:
        rack = ", or a rack with some" if "rack" in body.kinds else ""
        return f"{entry.verb} is done to members: the target must be a group or some of its members{rack}"
    only_members = "broker" not in body.kinds
    if only_members and target.kind == "rack" and target.name in _broker_racks(file) - _member_racks(file):
        return f"{entry.verb} is done to members, and in this rack are brokers only: overrides say who is in a rack"
    return ""


def _broker_racks(file: ScenarioFile) -> set[str | None]:
    return {broker.rack for broker in file.cluster.brokers}


def _member_racks(file: ScenarioFile) -> set[str | None]:
    return {override.rack for group in file.groups.values() for override in group.overrides}


# --- cuts -------------------------------------------------------------------------------------------------------------


def _parts_nobody(file: ScenarioFile, body: CutFile) -> str:
    """Why nothing gets through less by a cut, or the empty string."""
    one, other = (_sides(file, target) for target in body.between)
    if not one or not other:
        return ""  # `scenarios.build.checks` says what is not there
    if any({a, b} in _TALKING for a, b in product(one, other)):
        return ""
    if "brokers" in one and "brokers" in other:
        ids = {*one["brokers"], *other["brokers"]}
        return "" if len(ids) > 1 else f"a cut is between two sides: {format_target(body.between[0])} is both"
    return "nothing goes between these: members talk to brokers, brokers to brokers, protocol: zookeeper to its servers"


def _sides(file: ScenarioFile, target: Target) -> dict[str, frozenset[str]]:
    """Kinds of nodes that a target means; of brokers which, those that the run picks by what they are called."""
    if target.kind == "group":
        return {"members": frozenset()}
    if target.kind == "zookeeper":
        return {"servers": frozenset()}
    brokers = {str(one.id) for one in file.cluster.brokers if target.kind == "broker" or one.rack == target.name}
    if target.kind == "rack":
        found = {"brokers": frozenset(brokers)} if brokers else {}
        return {**found, "members": frozenset()} if target.name in _member_racks(file) else found
    if target.name != "all":
        brokers = {str(index) for index in target.indices} or {target.name}
    return {"brokers": frozenset(brokers)}


# --- clocks -----------------------------------------------------------------------------------------------------------


def _check_clock(file: ScenarioFile, entry: EntryFile, place: Place) -> Iterator[Finding]:
    """Each firing is an event of the run at least."""
    if entry.every is None:
        return
    end = file.horizon if entry.until is None else min(entry.until, file.horizon)
    members = _members(file, entry) if entry.per_member else 1
    times = (end - (entry.from_ or 0)) / max(_mean_us(entry.every), 1) * members
    if times > file.event_budget:
        message = f"fires some {times:,.0f} times until {format_duration(end)}, and event_budget allows "
        yield place, f"{message}{file.event_budget:,} events", None


def _members(file: ScenarioFile, entry: EntryFile) -> int:
    target: Target = entry.body.target
    group = file.groups.get(file.group_key(target.name) or "")
    return len(target.indices) or (group.members.count if group is not None else 1)


def _mean_us(gaps: Distribution) -> float:
    if gaps.kind != "lognormal":
        return sum(gaps.values) / len(gaps.values)
    median, p99 = gaps.values
    sigma = log(p99 / median) / NormalDist().inv_cdf(0.99)
    return median * exp(sigma**2 / 2)
