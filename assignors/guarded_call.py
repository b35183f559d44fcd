"""Asking an assignor that is somebody's own: what it throws is its failure, and its answer is checked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from groupsim.assignors.core.errors import AssignorError
from groupsim.assignors.core.interface import Assignor
from groupsim.assignors.core.snapshot import Assignment, GroupSnapshot, Positions, Topics
from groupsim.assignors.registry import ASSIGNORS, SERVER_ASSIGNORS
from groupsim.assignors.validity import check_promised


def is_own(assignor: Assignor) -> bool:
    """Whether it is neither Kafka's nor groupsim's: theirs are tested, and Kafka's defects are reproduced."""
    return assignor.name not in ASSIGNORS and assignor.name not in SERVER_ASSIGNORS


@contextmanager
def blaming(name: str) -> Iterator[None]:
    """Whatever is thrown inside is the assignor's failure.

    Raises
    ------
    AssignorError
        Naming the assignor, and what its code threw (leaving the program included).
    """
    try:
        yield
    except AssignorError:
        raise
    except (Exception, SystemExit) as error:
        raise AssignorError(f"{name}: {type(error).__name__}: {error}") from error


def ask(assignor: Assignor, snapshot: GroupSnapshot) -> Assignment:
    """The answer of an assignor; of somebody's own, held to what it declares.

    Raises
    ------
    AssignorError
        What Kafka's assignor would throw; or somebody's own threw something, or answered nonsense.
    """
    if not is_own(assignor):
        return assignor.assign(snapshot)
    with blaming(assignor.name):
        return check_promised(assignor, snapshot, assignor.assign(snapshot))


def tell(assignor: Assignor, topics: Topics, positions: Positions, generation: int) -> None:
    """Let a member's assignor know of its assignment (`Assignor.on_assignment`).

    Raises
    ------
    AssignorError
        Somebody's own threw something.
    """
    if not is_own(assignor):
        assignor.on_assignment(topics, positions, generation)
        return
    with blaming(assignor.name):
        assignor.on_assignment(topics, positions, generation)
