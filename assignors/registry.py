"""Assignors by name: Kafka's, groupsim's own, and those that installed packages bring along."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import TypeAlias

from groupsim.assignors.client.cooperative_sticky import CooperativeStickyAssignor
from groupsim.assignors.client.range_assignor import RangeAssignor
from groupsim.assignors.client.round_robin import RoundRobinAssignor
from groupsim.assignors.client.sticky import StickyAssignor
from groupsim.assignors.core.errors import AssignorError, UnknownAssignor
from groupsim.assignors.core.interface import Assignor, Protocol
from groupsim.assignors.own.broadcast import BroadcastAssignor
from groupsim.assignors.own.leader_rack import LeaderRackAssignor
from groupsim.assignors.own.random_assignor import RandomAssignor
from groupsim.assignors.own.weighted import WeightedAssignor
from groupsim.assignors.server.range_assignor import ServerRangeAssignor
from groupsim.assignors.server.server_assignor import ServerAssignor
from groupsim.assignors.server.uniform import UniformAssignor

Factory: TypeAlias = Callable[[int, bool], Assignor]
ServerFactory: TypeAlias = Callable[[bool], ServerAssignor]
ENTRY_POINTS = "groupsim.assignors"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_KAFKAS_OWN = frozenset({"simple"})
"""Of share groups, which groupsim does not have."""

ASSIGNORS: dict[str, Factory] = {
    RangeAssignor.name: lambda seed, java_order: RangeAssignor(java_order=java_order),
    RoundRobinAssignor.name: lambda seed, java_order: RoundRobinAssignor(),
    StickyAssignor.name: lambda seed, java_order: StickyAssignor(java_order=java_order),
    CooperativeStickyAssignor.name: lambda seed, java_order: CooperativeStickyAssignor(java_order=java_order),
    RandomAssignor.name: lambda seed, java_order: RandomAssignor(seed=seed),
    BroadcastAssignor.name: lambda seed, java_order: BroadcastAssignor(),
    LeaderRackAssignor.name: lambda seed, java_order: LeaderRackAssignor(),
    WeightedAssignor.name: lambda seed, java_order: WeightedAssignor(),
}

SERVER_ASSIGNORS: dict[str, ServerFactory] = {
    UniformAssignor.name: lambda java_order: UniformAssignor(java_order=java_order),
    ServerRangeAssignor.name: lambda java_order: ServerRangeAssignor(),
}
"""Assignors of the group coordinator, Kafka's default first. Kafka has a `range` on either side."""


def create(name: str, *, seed: int = 0, java_order: bool = True) -> Assignor:
    """A new assignor for one consumer.

    Parameters
    ----------
    name : str
        A key of `ASSIGNORS`, or a name that an installed package has given its assignor.
    seed : int
        For assignors that draw lots; the others ignore it.
    java_order : bool
        Whether Kafka's walk members and topics as its hash tables yield them, so that the answer is Kafka's for these
        very ids; else by name, which suits ids that are made up. The others ignore it.

    Raises
    ------
    UnknownAssignor
        There is none of that name.
    AssignorError
        An installed package offers something that is no assignor, or under a name that is taken.
    """
    _check_name(name)
    factory = ASSIGNORS.get(name)
    if factory is not None:
        return factory(seed, java_order)
    own = {each: cls for each, cls in installed().items() if not issubclass(cls, ServerAssignor)}
    if name not in own:
        raise _unknown("assignor", name, [*ASSIGNORS, *own])
    return own[name]()


def create_server(name: str, *, java_order: bool = True) -> ServerAssignor:
    """A new assignor for the coordinator of a group of the consumer protocol.

    Parameters
    ----------
    name : str
        A key of `SERVER_ASSIGNORS`, or a name that an installed package has given its server-side assignor.
    java_order : bool
        As for `create`.

    Raises
    ------
    UnknownAssignor
        There is none of that name.
    AssignorError
        As for `create`.
    """
    _check_name(name)
    factory = SERVER_ASSIGNORS.get(name)
    if factory is not None:
        return factory(java_order)
    own = {each: cls for each, cls in installed().items() if issubclass(cls, ServerAssignor)}
    if name not in own:
        raise _unknown("server-side assignor", name, [*SERVER_ASSIGNORS, *own])
    return own[name]()


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise UnknownAssignor(f"the name of an assignor must be text, not {name!r}")


def _unknown(what: str, name: str, known: list[str]) -> UnknownAssignor:
    nearest = get_close_matches(name, known, n=1, cutoff=0.0)
    return UnknownAssignor(f"no {what} {name!r}; did you mean {nearest[0]!r}?")


@cache
def installed() -> dict[str, type[Assignor]]:
    """Assignors of installed packages, from their entry points in the group `groupsim.assignors`.

    Raises
    ------
    AssignorError
        One is no `Assignor`, calls itself differently from its entry point, or has a name that is taken.
    """
    found: dict[str, type[Assignor]] = {}
    for point in entry_points(group=ENTRY_POINTS):
        try:
            offered = point.load()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever the package's module raises
            raise AssignorError(f"the entry point {point.name!r} cannot be loaded: {error}") from error
        own = _checked(offered, point.value)
        if own.name != point.name:
            raise AssignorError(f"{point.value!r} calls itself {own.name!r}, its entry point {point.name!r}")
        if own.name in found:
            raise AssignorError(f"{point.value!r} calls itself {own.name!r}, as another installed assignor does")
        found[own.name] = own
    return found


def load_class(path: str) -> type[Assignor]:
    """The class named by `module:Class`. Loading runs the module's code: only for callers that were told to.

    Raises
    ------
    AssignorError
        There is no such class, it is no `Assignor`, or its name is taken.
    BaseException
        Whatever the module's code raises.
    """
    _check_name(path)
    module, _, attribute = path.partition(":")
    if not (module and attribute):
        raise AssignorError(f"name a module and a class in it, MODULE:CLASS, such as mine:Dealer, not {path!r}")
    if module.endswith(".py"):
        raise AssignorError(f"name the module without .py: {module.removesuffix('.py')}:{attribute}")
    try:
        home = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise  # one that the module needs
        reason = f"{error}: it is neither installed nor a file of {Path.cwd()}"
        raise AssignorError(f"cannot load assignor {path!r}: {reason}") from error
    if not hasattr(home, attribute):
        raise AssignorError(f"cannot load assignor {path!r}: module {module!r} has no attribute {attribute!r}")
    own = _checked(getattr(home, attribute), path)
    if own.name in installed():
        raise AssignorError(f"{path!r} calls itself {own.name!r}, as an installed assignor does")
    return own


def load_classes(paths: Iterable[str]) -> dict[str, type[Assignor]]:
    """The classes named by each ``module:Class``, as `load_class`.

    Raises
    ------
    AssignorError
        As `load_class`, or two of them have one name: whose would be meant nobody could tell.
    """
    found = {path: load_class(path) for path in paths}
    first: dict[str, str] = {}
    for path, own in found.items():
        if found[first.setdefault(own.name, path)] is not own:
            raise AssignorError(f"{path!r} calls itself {own.name!r}, as {first[own.name]!r} does")
    return found


def _checked(found: object, path: str) -> type[Assignor]:
    if not (isinstance(found, type) and issubclass(found, Assignor)):
        raise AssignorError(f"{path!r} is no subclass of assignors.Assignor")
    name = getattr(found, "name", None)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise AssignorError(f"{path!r} has no name, or one that is no word: {name!r}")
    if name in ASSIGNORS or name in SERVER_ASSIGNORS or name in _KAFKAS_OWN:
        raise AssignorError(f"{path!r} calls itself {name!r}, a name that is taken")
    if not (isinstance(found.protocols, tuple) and all(isinstance(one, Protocol) for one in found.protocols)):
        raise AssignorError(f"{path!r} must name its protocols as a tuple of assignors.Protocol: {found.protocols!r}")
    try:
        found().subscription_user_data()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever its own code raises
        raise AssignorError(f"{path!r} cannot be made: {type(error).__name__}: {error}") from error
    return found
