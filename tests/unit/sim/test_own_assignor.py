"""A user's own assignor in a run: what it throws, or answers wrongly, is a failed rebalance or a refused run."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import ClassVar

import pytest

from groupsim.assignors import (
    Assignment,
    Assignor,
    AssignorError,
    BroadcastAssignor,
    GroupSnapshot,
    MemberSubscription,
    Promise,
    Protocol,
    Topics,
)
from groupsim.assignors.core.snapshot import Positions
from groupsim.scenarios import load
from groupsim.scenarios.assignors.trials import Contender, contenders, trials
from groupsim.scenarios.errors import ScenarioFileError
from groupsim.sim import simulate
from groupsim.sim.errors import ScenarioError
from groupsim.sim.model import Entry, Scale, Scenario, Target
from groupsim.sim.output.result import Result
from groupsim.sim.units import S
from tests.support.scenarios import client, group, join, scenario


class OwnDealer(Assignor):
    """Deals partitions out one by one."""

    name = "own-dealer"

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        everything, members = range(snapshot.topics.n_partitions), snapshot.n_members
        return Assignment.of_lists(snapshot.topics, [everything[index::members] for index in range(members)])


class OwnThrower(OwnDealer):
    name = "own-thrower"

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        raise ZeroDivisionError("no members")


class OwnTwice(OwnDealer):
    name = "own-twice"

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        return Assignment.of_lists(snapshot.topics, [range(snapshot.topics.n_partitions)] * snapshot.n_members)


class OwnSharer(OwnTwice):
    name = "own-sharer"
    promises = frozenset({Promise.COMPLETE})


class OwnBroadcaster(OwnDealer):
    """Says nothing of sharing, and keeps one list for all."""

    name = "own-broadcaster"

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        return BroadcastAssignor().assign(snapshot)


class OwnForgetter(OwnDealer):
    name = "own-forgetter"

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        return Assignment.of_lists(snapshot.topics, [[0], [], [3]])


class OwnStranger(OwnDealer):
    name = "own-stranger"

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        return Assignment.of_lists(snapshot.topics, [[99], [], []])


class OwnNothing(OwnDealer):
    name = "own-nothing"

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        return None  # type: ignore[return-value]


class OwnLeaver(OwnDealer):
    name = "own-leaver"

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        raise SystemExit(7)


class Abandoned(BaseException):
    """Such as `asyncio.CancelledError`, or what a test's time limit throws: no Exception."""


class OwnAbandoner(OwnDealer):
    name = "own-abandoner"

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        raise Abandoned("too slow")


class OwnFraction(OwnDealer):
    name = "own-fraction"

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        return Assignment.of_lists(snapshot.topics, [[0.5], [], []])  # type: ignore[list-item]


class OwnIdler(OwnDealer):
    """A cooperative assignor need not give out what somebody owns, but this nobody does."""

    name = "own-idler"
    protocols = (Protocol.COOPERATIVE,)

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        return Assignment.of_lists(snapshot.topics, [[] for _ in snapshot.members])


class OwnGrabber(OwnDealer):
    """Hands over at once what another member still owns."""

    name = "own-grabber"
    protocols = (Protocol.COOPERATIVE,)


class OwnForgetful(OwnDealer):
    name = "own-forgetful"

    def on_assignment(self, topics: Topics, positions: Positions, generation: int) -> None:
        raise KeyError("where was I")


def _with(assignor: type[Assignor]) -> Scenario:
    one = group(3, client=client(partition_assignment_strategy=(assignor.name,)))
    path = f"{assignor.__module__}:{assignor.__name__}"
    return replace(scenario(one, horizon_us=20 * S), allow_assignors=(path,))


def _run(assignor: type[Assignor]) -> Result:
    return simulate(_with(assignor))


@pytest.mark.parametrize("assignor", [OwnDealer, OwnSharer])
def test_an_answer_that_keeps_its_promises_is_taken(assignor: type[Assignor]) -> None:
    result = _run(assignor)
    assert result.warnings == []
    assert len(result.tables["ownership"]) >= 12


@pytest.mark.parametrize(
    ("assignor", "wrong"),
    [
        (OwnThrower, "own-thrower: ZeroDivisionError: no members"),
        (OwnTwice, "own-twice: t-0 has two owners"),
        (OwnBroadcaster, "own-broadcaster: t-0 has two owners"),
        (OwnForgetter, "own-forgetter: t-1 has subscribers and no owner"),
        (OwnStranger, "got position 99, outside 0..11"),
        (OwnNothing, "own-nothing: the answer is a NoneType, no Assignment"),
        (OwnLeaver, "own-leaver: SystemExit: 7"),
        (OwnAbandoner, "own-abandoner: Abandoned: too slow"),
        (OwnFraction, "positions must be whole numbers up to 2147483647: [0.5]"),
        (OwnIdler, "own-idler: t-0 has subscribers and no owner"),
    ],
)
def test_a_wrong_one_is_a_failed_rebalance_at_the_leader(assignor: type[Assignor], wrong: str) -> None:
    result = _run(assignor)
    (told,) = result.warnings
    assert "assignor failed: " in told
    assert wrong in told
    assert re.search(r" \[\d+ times, first at \d\.\d{3} s\]$", told)
    assert not len(result.tables["ownership"])


def test_or_a_refused_run_if_the_scenario_says_so() -> None:
    run = _with(OwnTwice)
    run = replace(run, groups=(replace(run.groups[0], assignor_failure="refuse"),))
    with pytest.raises(ScenarioError, match="own-twice: t-0 has two owners"):
        simulate(run)


def test_what_another_member_owns_cannot_be_handed_over_at_once() -> None:
    """``ConsumerCoordinator.validateCooperativeAssignment``: an IllegalStateException at the leader."""
    joining = Scale(target=Target("group", "g"), to=4)
    run = replace(_with(OwnGrabber), timeline=(Entry(id="growth", at_us=10 * S, verb=joining),))
    result = simulate(run)
    assert any("assignor failed: own-grabber: t-" in one and " owns it" in one for one in result.warnings)
    assert "zombie" not in set(result.tables["delivery"]["cause"])


def test_a_hook_that_throws_ends_the_run_in_its_assignor_s_name() -> None:
    with pytest.raises(AssignorError, match=r"own-forgetful: KeyError: 'where was I'"):
        _run(OwnForgetful)


class OwnScarce(OwnDealer):
    """Of which there are so many, and no more."""

    name = "own-scarce"
    left = 1

    def __init__(self) -> None:
        OwnScarce.left -= 1
        if OwnScarce.left < 0:
            raise Abandoned("none left")


class OwnSecretive(OwnScarce):
    """Says once what it remembers."""

    name = "own-secretive"
    told = 1

    def __init__(self) -> None:
        """As any other is made."""

    def subscription_user_data(self) -> object | None:
        OwnSecretive.told -= 1
        if OwnSecretive.told < 0:
            raise Abandoned("no more")
        return None


@pytest.mark.parametrize(
    ("assignor", "wrong"), [(OwnScarce, "Abandoned: none left"), (OwnSecretive, "Abandoned: no more")]
)
def test_one_that_cannot_be_made_or_will_not_say_what_it_remembers_ends_the_run_too(
    assignor: type[Assignor], wrong: str
) -> None:
    with pytest.raises(AssignorError, match=f"{assignor.name}: {wrong} .test_own_assignor.py, line"):
        _run(assignor)


class OwnListener(OwnDealer):
    """Has nothing to say, and listens."""

    name = "own-listener"
    heard: ClassVar[list[tuple[int, list[int]]]] = []

    def on_assignment(self, topics: Topics, positions: Positions, generation: int) -> None:
        OwnListener.heard.append((generation, positions.tolist()))


def test_one_that_listens_hears_of_every_assignment_in_either_fidelity(monkeypatch: pytest.MonkeyPatch) -> None:
    joins = tuple(join(number * 10 * S, number + 2) for number in (2, 3, 4))
    run = replace(_with(OwnListener), timeline=joins, horizon_us=50 * S)
    heard: list[list[tuple[int, list[int]]]] = []
    for fidelity in ("elided", "message"):
        monkeypatch.setattr(OwnListener, "heard", [])
        simulate(run, fidelity=fidelity)  # type: ignore[arg-type]
        heard.append(sorted(OwnListener.heard))
    assert heard[0] == heard[1]
    assert [generation for generation, _ in heard[0]] == [1] * 3 + [2] * 4 + [3] * 5 + [4] * 6


def test_an_interrupt_is_no_failure_of_an_assignor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OwnAbandoner, "assign", lambda *given: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        _run(OwnAbandoner)


def test_what_a_trial_is_told_is_a_failure_too() -> None:
    topics = Topics.of({"t": 12})
    members = tuple(MemberSubscription(member_id=f"m{index}", topics=("t",)) for index in range(3))
    for assignor, wrong in ((OwnTwice, "t-0 has two owners"), (OwnThrower, "ZeroDivisionError: no members")):
        told = list(trials(Contender(assignor.name, assignor), GroupSnapshot(topics, members), 2))
        assert [one["event"] for one in told] == ["full"]
        assert wrong in told[0]["failure"]


class OwnNamesake(OwnDealer):
    """Another one that calls itself own-dealer."""


def test_two_classes_of_one_name_are_refused_before_anything_runs() -> None:
    both = tuple(f"{__name__}:{own.__name__}" for own in (OwnDealer, OwnNamesake))
    with pytest.raises(ScenarioFileError, match=r"calls itself 'own-dealer', as\s+'.*OwnDealer' does"):
        load("kill-detection", allow_code=both)
    with pytest.raises(AssignorError, match="calls itself 'own-dealer'"):
        contenders(both)
