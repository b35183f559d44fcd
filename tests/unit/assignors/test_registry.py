"""Assignors by name, own ones included."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import EntryPoint

import pytest

from groupsim.assignors import (
    ASSIGNORS,
    Assignment,
    Assignor,
    AssignorError,
    GroupSnapshot,
    MemberSubscription,
    Promise,
    RandomAssignor,
    Topics,
    UnknownAssignor,
    create,
    create_server,
    installed,
    load_class,
    load_classes,
    registry,
)
from groupsim.assignors.evaluation.events import Event, newcomers
from groupsim.assignors.evaluation.trials import asked_after, settle

HERE = "tests.unit.assignors.test_registry"


class Own(Assignor):
    name = "own"

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        return Assignment.of_lists(snapshot.topics, [[] for _ in snapshot.members])


class Namesake(Own):
    """Another one that calls itself own."""


class Usurper(Own):
    name = "range"


class Nameless(Assignor):
    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        return Own().assign(snapshot)


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """Entry points that installed packages are made to have."""
    points: list[EntryPoint] = []
    monkeypatch.setattr(registry, "entry_points", lambda *, group: points if group == "groupsim.assignors" else [])
    installed.cache_clear()
    yield points
    installed.cache_clear()


def point(name: str, attribute: str) -> EntryPoint:
    return EntryPoint(name, f"{HERE}:{attribute}", "groupsim.assignors")


def test_the_names_are_kafkas_and_four_of_our_own() -> None:
    kafkas = {"range", "roundrobin", "sticky", "cooperative-sticky"}
    assert set(ASSIGNORS) == kafkas | {"random", "broadcast", "leader-rack", "weighted"}
    assert all(create(name).name == name for name in ASSIGNORS)


@pytest.mark.parametrize("name", ASSIGNORS)
def test_what_is_not_promised_has_a_reason(name: str) -> None:
    assignor = create(name)
    assert set(Promise) - assignor.promises == set(assignor.exceptions)
    assert all(assignor.exceptions.values())


def test_every_consumer_gets_its_own() -> None:
    assert create("sticky") is not create("sticky")


def test_the_seed_reaches_the_assignor_that_draws() -> None:
    drawing = create("random", seed=7)
    assert isinstance(drawing, RandomAssignor)
    assert drawing.seed == 7


def test_an_unknown_name_is_told_its_nearest(packages: list[EntryPoint]) -> None:
    with pytest.raises(UnknownAssignor, match="no assignor 'round-robin'; did you mean 'roundrobin'"):
        create("round-robin")


def test_installed_packages_bring_assignors(packages: list[EntryPoint]) -> None:
    packages.append(point("own", "Own"))
    assert type(create("own")).__name__ == "Own"


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        ([point("range", "Usurper")], "a name that is taken"),
        ([point("own", "Own"), point("own", "Own")], "as another installed assignor does"),
        ([point("other", "Own")], "its entry point 'other'"),
        ([point("own", "HERE")], "no subclass"),
        ([point("own", "Nameless")], "has no name"),
    ],
)
def test_wrong_packages_are_refused(packages: list[EntryPoint], points: list[EntryPoint], reason: str) -> None:
    packages += points
    with pytest.raises(AssignorError, match=reason):
        create("own")


def test_a_class_is_loaded_when_told_to() -> None:
    assert load_class(f"{HERE}:Own").name == "own"


@pytest.mark.parametrize("path", ["no.such.module:Own", f"{HERE}:NoSuchClass", HERE, f"{HERE}:Usurper", ":"])
def test_a_class_that_will_not_do_is_refused(path: str) -> None:
    with pytest.raises(AssignorError):
        load_class(path)


def test_two_classes_of_one_name_are_refused_but_one_may_be_named_twice() -> None:
    own, namesake = f"{HERE}:Own", f"{HERE}:Namesake"
    assert list(load_classes([own, own])) == [own]
    with pytest.raises(AssignorError, match=r"Namesake' calls itself 'own', as .*Own' does"):
        load_classes([own, namesake])


@pytest.mark.parametrize(
    ("make", "counts"),
    [
        (partial(create, "range"), {"orders": 7, "b": 3, "payments": 4, "clicks": 2}),
        (partial(create, "sticky"), {"t": 7}),
        (partial(create, "cooperative-sticky"), {"t": 7}),
        (partial(create_server, "uniform"), {"t": 7}),
    ],
)
def test_javas_order_can_be_switched_off_by_name(make: Callable[..., Assignor], counts: dict[str, int]) -> None:
    """Java's table has topics in another order than by name, and m10 before the others, so it keeps one more."""
    topics = Topics.of(counts)
    group = GroupSnapshot(topics, tuple(MemberSubscription(each, topics.names) for each in ("m1", "m2", "m3", "m10")))

    def after_a_join(**options: bool) -> list[list[int]]:
        settled = settle(partial(make, **options), group)
        asked = asked_after(settled, Event("join", join=newcomers(group, 1)))
        return [each.tolist() for each in make(**options).assign(asked).lists()]

    assert after_a_join() == after_a_join(java_order=True) != after_a_join(java_order=False)
