"""Assignors as users name them, and which rebalance protocols they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from groupsim.scenarios.errors import nearest
from groupsim.scenarios.kafka.client_profiles import JAVA_CLASSES, SERVER_CLASSES

if TYPE_CHECKING:
    from groupsim.assignors import Assignor


def assignor_name(text: str, allow_code: Sequence[str]) -> str:
    """The name of an assignor given by name, by Kafka's Java class or, where allowed, as ``module:Class``.

    Raises
    ------
    ValueError
        There is none of that name, or it is code that the command line does not allow.
    """
    from groupsim.assignors import ASSIGNORS, AssignorError  # numpy comes with it

    name = JAVA_CLASSES.get(text, text)
    if ":" in name and name not in allow_code:
        raise ValueError(f"{name!r} is code: allow it on the command line with --allow-code {name}")
    try:
        return _assignor(name, allow_code).name
    except AssignorError:
        known = sorted([*ASSIGNORS, *JAVA_CLASSES])
        raise ValueError(
            f"{text!r} is no known assignor (Kafka: ClassNotFoundException); {nearest(text, known)}"
            f"known: {', '.join(sorted(ASSIGNORS))}; --allow-code MODULE:CLASS brings in one of your own"
        ) from None


def server_assignor_name(text: str, allow_code: Sequence[str]) -> str:
    """The name of an assignor of the group coordinator given by name, by Kafka's Java class or as ``module:Class``.

    A user's own is one if its class says so: if it is a `assignors.server.ServerAssignor`.

    Raises
    ------
    ValueError
        There is none of that name, it is code that the command line does not allow, or it is a consumer's.
    """
    from groupsim.assignors import SERVER_ASSIGNORS, AssignorError, ServerAssignor, create_server

    name = SERVER_CLASSES.get(text, text)
    if ":" in name and name not in allow_code:
        raise ValueError(f"{name!r} is code: allow it on the command line with --allow-code {name}")
    own = _allowed(allow_code).get(name)
    try:
        return own.name if own is not None and issubclass(own, ServerAssignor) else create_server(name).name
    except AssignorError:
        known = sorted([*SERVER_ASSIGNORS, *SERVER_CLASSES])
        theirs = " (an assignor of consumers; one of the coordinator is a ServerAssignor)" if own is not None else ""
        raise ValueError(
            f"{text!r} is no assignor of the group coordinator{theirs} (Kafka: ClassNotFoundException);"
            f" {nearest(text, known)}known: {', '.join(SERVER_ASSIGNORS)}; --allow-code MODULE:CLASS brings in one of"
            " your own"
        ) from None


def why_not_loaded(path: str) -> str:
    """Why an assignor of the user's own, ``module:Class``, cannot be used; empty if it can. Imports the module."""
    from groupsim.assignors import load_class

    try:
        load_class(path)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever the user's own module raises
        return f"cannot be loaded: {type(error).__name__}: {error}"
    return ""


def why_not_together(paths: Sequence[str]) -> str:
    """Why assignors of the user's own cannot be used beside one another; empty if they can. Imports their modules."""
    from groupsim.assignors import AssignorError, load_classes

    try:
        load_classes(paths)
    except AssignorError as error:
        return str(error)
    return ""


def common_protocols(names: Sequence[str], allow_code: Sequence[str]) -> set[str]:
    """The rebalance protocols ("eager", "cooperative") that all of these assignors support.

    Source: ``ConsumerCoordinator`` (constructor), Kafka 4.4.0: none in common is an IllegalArgumentException.
    """
    supported = [{one.value for one in _assignor(name, allow_code).protocols} for name in names]
    return set.intersection(*supported)


def _assignor(name: str, allow_code: Sequence[str]) -> type[Assignor]:
    from groupsim.assignors import create

    return _allowed(allow_code).get(name) or type(create(name))


def _allowed(allow_code: Sequence[str]) -> dict[str, type[Assignor]]:
    """The user's own assignors, by ``module:Class`` and by their names."""
    from groupsim.assignors import load_classes

    allowed = load_classes(allow_code)
    return allowed | {one.name: one for one in allowed.values()}
