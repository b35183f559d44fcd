"""Invariants of consumer groups tell what is wrong, each of them; a group that is as it should be has none."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from groupsim.sim import InvariantViolation, simulate
from groupsim.sim.books.invariants.consumer_invariants import (
    EpochsOrdered,
    MembersWithinHoldings,
    OneHolder,
    StableIsStable,
)
from groupsim.sim.books.invariants.invariants import CommitsWithinPositions, Watch
from groupsim.sim.config import ClientConfig
from groupsim.sim.model import Override, Scale
from groupsim.sim.protocol.consumer.classic_members import ClassicMembers
from groupsim.sim.protocol.consumer.group import ConsumerGroup
from groupsim.sim.protocol.consumer.roster import Target
from groupsim.sim.protocol.consumer.targets import Targets
from groupsim.sim.units import S
from tests.support.consumer_scenarios import consumer_scenario
from tests.unit.sim.scenes import entry, everybody, group, scene


@pytest.fixture(scope="module")
def groups() -> list[Any]:
    """The watched groups of a short run at its end."""
    found: list[Any] = []
    attach = Watch.attach
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Watch, "attach", lambda self: (found.extend(self._groups), attach(self)))
        simulate(replace(consumer_scenario(3, "grid"), horizon_us=20 * S, timeline=()), seed=1, check=True)
    return found


def violations(group: Any) -> list[str]:
    """Names of the invariants that do not hold."""
    kinds = (OneHolder(), EpochsOrdered(), StableIsStable(), MembersWithinHoldings())
    return [type(one).__name__ for one in kinds if one.violated(0, group) is not None]


def a_member(group: Any) -> Any:
    """A member that holds something."""
    assert isinstance(group.machine, ConsumerGroup)
    return next(one for one in group.machine.roster if one.current.assigned.size)


def test_a_group_at_rest_violates_none(groups: list[Any]) -> None:
    assert a_member(groups[0])
    assert groups[0].machine.is_stable
    assert not violations(groups[0])


def test_each_invariant_tells_its_violation(groups: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    group = groups[0]
    member, roster = a_member(group), group.machine.roster
    good = member.current
    monkeypatch.setattr(member, "current", replace(good, pending=good.assigned[:1]))
    assert violations(group) == ["OneHolder", "StableIsStable"]
    monkeypatch.setattr(member, "current", replace(good, member_epoch=roster.target.epoch + 1))
    assert "EpochsOrdered" in violations(group)
    monkeypatch.setattr(member, "current", replace(good, assigned=good.assigned[1:]))
    assert violations(group) == ["StableIsStable", "MembersWithinHoldings"]
    monkeypatch.setattr(member, "current", good)
    monkeypatch.setitem(roster.targets, "somebody", Target.of(np.array(good.assigned[:1])))
    assert violations(group) == ["OneHolder"]


def test_what_was_held_once_is_held_of_what_changes(groups: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Invariants look at nothing twice, so each change must be seen, and be seen again when it is undone and redone."""
    group = groups[0]
    member = a_member(group)
    wrong = replace(
        member.current, pending=member.current.assigned[:1], member_epoch=group.machine.roster.target.epoch + 1
    )
    for one in (OneHolder(), EpochsOrdered(), StableIsStable()):
        for _ in range(2):
            assert [one.violated(0, group), one.violated(0, group)] == [None, None]
            with monkeypatch.context() as patch:
                patch.setattr(member, "current", wrong)
                assert one.violated(0, group) is not None


def test_an_offset_committed_beyond_what_was_processed(groups: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    group, one = groups[0], CommitsWithinPositions()
    offsets = group.books.ledger.offsets
    assert one.violated(20 * S, group) is None
    monkeypatch.setattr(offsets, "offset", offsets.offset + np.where(np.arange(len(offsets.offset)) == 1, 10**6, 0))
    assert one.violated(20 * S, group) == "partition 1 is committed beyond what was processed"


def test_a_watched_run_ends_with_the_violation() -> None:
    watch = Watch(SimpleNamespace(now=7), [])  # type: ignore[arg-type]
    watch._groups = [SimpleNamespace(books=SimpleNamespace(name="g"))]  # type: ignore[list-item]
    watch._invariants = (SimpleNamespace(violated=lambda now, group: "wrong"),)  # type: ignore[assignment]
    with pytest.raises(InvariantViolation, match="7 us, group g: wrong"):
        watch.check()


def newcomer() -> Any:
    """Three members, and a fourth that joins after 20 s."""
    scale = entry(20 * S, Scale(target=everybody(), to=4))
    client = ClientConfig(group_protocol="consumer", auto_offset_reset="earliest")
    return scene(group(count=3, client=client), timeline=(scale,), horizon_us=70 * S)


@pytest.mark.parametrize("fidelity", ["elided", "message"])
def test_a_calm_group_that_never_computes_a_target_ends_the_run(fidelity: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody beats on: 18 s after the join that is too long, as the next event shows."""
    simulate(newcomer(), seed=1, check=True, fidelity=fidelity)
    wanted = Targets.is_wanted
    monkeypatch.setattr(Targets, "is_wanted", lambda self, now: now < 20 * S and wanted(self, now))
    with pytest.raises(InvariantViolation, match=r"ConvergesOnceCalm at (38|40)\d{6} us") as told:
        simulate(newcomer(), seed=1, check=True, fidelity=fidelity)
    assert "calm since 20" in str(told.value)


def upgraded() -> Any:
    """A member of either protocol, and after 20 s one more of the classic one, that beats every 6 s."""
    classic = ClientConfig(heartbeat_interval_us=6 * S, partition_assignment_strategy=("cooperative-sticky",))
    others = Override(members=frozenset({1, 2}), client=classic)
    first = ClientConfig(group_protocol="consumer", auto_offset_reset="earliest")
    scale = entry(20 * S, Scale(target=everybody(), to=3))
    return scene(group(count=2, client=first, overrides=(others,)), timeline=(scale,), horizon_us=80 * S)


def test_a_group_of_both_protocols_converges_in_time() -> None:
    simulate(upgraded(), seed=1, check=True)


def test_classic_members_that_are_never_called_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last step is at 20.9 s: an assignment interval, thrice 6 s and 2 s more are too long."""
    monkeypatch.setattr(ClassicMembers, "_is_behind", lambda *_: False)
    monkeypatch.setattr(ClassicMembers, "_waits_for_others", lambda *_: True)
    with pytest.raises(InvariantViolation, match="ConvergesOnceCalm at 42014600 us, group g: calm since 20914901 us"):
        simulate(upgraded(), seed=1, check=True)


def test_a_group_is_not_calm_while_it_waits_for_somebody() -> None:
    """A member that is cut off, a slow listener, a crash: all of them take longer than the bound."""
    for seed in range(3):
        simulate(consumer_scenario(seed, "varied"), seed=seed, check=True)
