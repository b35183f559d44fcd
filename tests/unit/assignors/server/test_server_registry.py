"""Server-side assignors by name."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint

import pytest

from groupsim.assignors import (
    ASSIGNORS,
    SERVER_ASSIGNORS,
    Assignment,
    AssignorError,
    GroupSpec,
    RangeAssignor,
    ServerAssignor,
    ServerRangeAssignor,
    Side,
    UnknownAssignor,
    create,
    create_server,
    installed,
    load_class,
    registry,
)

HERE = "tests.unit.assignors.server.test_server_registry"


class Own(ServerAssignor):
    name = "own-server"

    def assign_group(self, spec: GroupSpec) -> Assignment:
        return spec.target


class Usurper(Own):
    name = "uniform"


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """Entry points that installed packages are made to have."""
    points: list[EntryPoint] = []
    monkeypatch.setattr(registry, "entry_points", lambda *, group: points if group == "groupsim.assignors" else [])
    installed.cache_clear()
    yield points
    installed.cache_clear()


def test_kafkas_names_with_its_default_first() -> None:
    assert list(SERVER_ASSIGNORS) == ["uniform", "range"]
    assert all(create_server(name).name == name for name in SERVER_ASSIGNORS)


def test_each_side_has_its_own() -> None:
    assert all(create(name).side is Side.CLIENT for name in ASSIGNORS)
    assert all(create_server(name).side is Side.SERVER for name in SERVER_ASSIGNORS)
    assert type(create("range")) is RangeAssignor
    assert type(create_server("range")) is ServerRangeAssignor


def test_an_unknown_name_is_told_its_nearest(packages: list[EntryPoint]) -> None:
    with pytest.raises(UnknownAssignor, match="no server-side assignor 'uniforms'; did you mean 'uniform'"):
        create_server("uniforms")


def test_a_package_brings_an_assignor_for_one_side_only(packages: list[EntryPoint]) -> None:
    packages.append(EntryPoint("own-server", f"{HERE}:Own", "groupsim.assignors"))
    assert type(create_server("own-server")).__name__ == "Own"
    with pytest.raises(UnknownAssignor, match="no assignor 'own-server'"):
        create("own-server")


def test_kafkas_names_are_taken_on_both_sides(packages: list[EntryPoint]) -> None:
    with pytest.raises(AssignorError, match="'uniform', a name that is taken"):
        load_class(f"{HERE}:Usurper")
    packages.append(EntryPoint("uniform", f"{HERE}:Usurper", "groupsim.assignors"))
    with pytest.raises(AssignorError, match="a name that is taken"):
        create("anything")
