"""Recorded groups that were left alone, begun at that age by the model: heartbeats apart, and the next join phase."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest

from groupsim.sim import simulate, simulation
from groupsim.sim.model import Distribution, Entry, Kill, Scale, Scenario, Start, Target, Verb
from groupsim.sim.units import MS, S
from groupsim.sim.world import World
from tests.oracle import measures
from tests.oracle.trace import Fact

_AT_US = MS
_VARIED = 1.1
"""The 99th percentile of what records cost, in medians, where they vary by 4 %."""


@dataclass(frozen=True)
class LeftAlone:
    """A group from one Stable to the fault that ends its rest, and the round that follows.

    Parameters
    ----------
    age_us : int
        From Stable to the fault.
    members : int
        In the group at the fault; what is said of heartbeats is said of those that are there afterwards.
    is_join : bool
        The fault is one member more; otherwise somebody is killed.
    apart_us, join_us : int
        How far apart heartbeats are, and how long the next join phase is.
    """

    age_us: int
    members: int
    is_join: bool
    apart_us: int
    join_us: int


def left_alone(facts: Sequence[Fact]) -> Iterator[LeftAlone]:
    """Each rest of a recorded group, but for what precedes its first round."""
    faults = [fact for fact in facts if fact["what"] == "action" and fact["entry"] is not None]
    for before, one in pairwise(measures.rounds(facts)):
        fault = next(each for each in reversed(faults) if each["at_us"] <= one.preparing_us)
        survivors, apart_us = measures.beats_apart(facts, one.preparing_us)
        is_join, age_us = fault["verb"] == "start", fault["at_us"] - before.stable_us
        members = survivors + (not is_join)
        yield LeftAlone(age_us, members, is_join, apart_us, one.completing_us - one.preparing_us)


def begun_aged(played: Scenario, rest: LeftAlone, seed: int, *, is_varied: bool) -> LeftAlone:
    """The same in the model; ``is_varied``: records cost 4 % more or less."""
    heard: list[World] = []
    live = simulation.live_through

    def hear(world: World, *, is_loud: bool) -> None:
        live(world, is_loud=is_loud)
        heard.append(world)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulation, "live_through", hear)
        apart: list[int] = []
        scenario = _aged(played, rest, is_varied=is_varied)
        result = simulate(
            scenario, seed=seed, fidelity="message",
            after_each=lambda now: apart.append(_apart(heard[0], rest)) if heard and not apart else None,
        )  # fmt: skip
    told = result.tables.rows("rebalances")[0]
    return replace(rest, apart_us=apart[0], join_us=told["preparing_us"])


def _apart(world: World, rest: LeftAlone) -> int:
    """How far apart the heartbeats of those are that stay."""
    staying = world.members["g"][: rest.members - (not rest.is_join)]
    return measures.spread((one.client.machine.heartbeat_due for one in staying if one.client), 3 * S)


def _aged(played: Scenario, rest: LeftAlone, *, is_varied: bool) -> Scenario:
    (group,), who = played.groups, Target("group", "g", pick="index", indices=(rest.members - 1,))
    verb: Verb = Scale(target=Target("group", "g"), to=rest.members + 1) if rest.is_join else Kill(target=who)
    processing, cost = group.processing, group.processing.per_record.values[0]
    if is_varied:
        processing = replace(processing, per_record=Distribution("lognormal", (cost, round(cost * _VARIED))))
    members = replace(group.members, count=rest.members, start=Start(kind="aged", value_us=rest.age_us))
    return replace(
        played, horizon_us=30 * S, groups=(replace(group, members=members, processing=processing),),
        timeline=(Entry(id="fault", at_us=_AT_US, verb=verb),),
    )  # fmt: skip
