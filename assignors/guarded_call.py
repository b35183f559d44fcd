"""Asking an assignor that is somebody's own: what it throws is its failure, and its answer is checked."""

from __future__ import annotations

import sysconfig
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from groupsim.assignors.core.errors import AssignorError
from groupsim.assignors.core.interface import Assignor
from groupsim.assignors.core.snapshot import Assignment, GroupSnapshot, Positions, Topics
from groupsim.assignors.registry import ASSIGNORS, SERVER_ASSIGNORS
from groupsim.assignors.validity import check_promised

Made = TypeVar("Made", bound=Assignor)

_OURS = tuple(Path(__file__).parents[1] / room for room in ("assignors", "sim", "scenarios", "analysis"))
_LIBRARIES = tuple(Path(sysconfig.get_path(kind)) for kind in ("stdlib", "purelib", "platlib"))


class AssignorMemory(Protocol):
    """What a member needs of an assignor: its name, and what it puts into the subscription."""

    @property
    def name(self) -> str:
        """Kafka's name of the assignor."""
        ...

    def subscription_user_data(self) -> object | None:
        """User data of the next subscription."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody's own code that has begun to answer: whose, and when by the monotonic clock, in seconds."""

    name: str
    since_s: float


_asked: list[Asked] = []


def being_asked() -> Asked | None:
    """Whose code is running now, for another thread to look at."""
    return next(iter(_asked[-1:]), None)


def is_own(name: str) -> bool:
    """Whether it is neither Kafka's nor groupsim's: theirs are tested, and Kafka's defects are reproduced."""
    return name not in ASSIGNORS and name not in SERVER_ASSIGNORS


def guarded(name: str) -> AbstractContextManager[None]:
    """`blaming`, if it is somebody's own."""
    return blaming(name) if is_own(name) else nullcontext()


@contextmanager
def blaming(name: str) -> Iterator[None]:
    """Whatever is thrown inside is the assignor's failure.

    Raises
    ------
    AssignorError
        Naming the assignor, what its code threw (leaving the program included), and where.
    KeyboardInterrupt
        Somebody has interrupted it.
    """
    _asked.append(Asked(name, time.monotonic()))
    try:
        yield
    except AssignorError:
        raise
    except KeyboardInterrupt as stopped:
        stopped.add_note(f"the assignor {name} had not answered")
        raise
    except BaseException as error:
        raise AssignorError(f"{name}: {thrown(error)}") from error
    finally:
        _asked.pop()


def thrown(error: BaseException) -> str:
    """What somebody's own code threw, and the file and line of that code: ``KeyError: 'a' (mine.py, line 9)``."""
    told = f"{type(error).__name__}: {error}".removesuffix(": ")
    if isinstance(error, SyntaxError):
        return told  # it says where it is, and no line of that file has run
    places = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    theirs = [(file, line) for file, line in places if not any(map(file.is_relative_to, _OURS)) and file.exists()]
    own = [(file, line) for file, line in theirs if not any(map(file.is_relative_to, _LIBRARIES))] or theirs[:1]
    return f"{told} ({own[-1][0].name}, line {own[-1][1]})" if own else told


def made(name: str, make: Callable[[], Made]) -> Made:
    """A new assignor of this name, from what makes it.

    Raises
    ------
    AssignorError
        Somebody's own cannot be made.
    """
    with guarded(name):
        return make()


def ask(assignor: Assignor, snapshot: GroupSnapshot) -> Assignment:
    """The answer of an assignor; of somebody's own, held to what it declares.

    Raises
    ------
    AssignorError
        What Kafka's assignor would throw; or somebody's own threw something, or answered nonsense.
    """
    if not is_own(assignor.name):
        return assignor.assign(snapshot)
    with blaming(assignor.name):
        return check_promised(assignor, snapshot, assignor.assign(snapshot))


def user_data(assignor: AssignorMemory) -> object | None:
    """What a member's assignor adds to its subscription (`Assignor.subscription_user_data`).

    Raises
    ------
    AssignorError
        Somebody's own threw something.
    """
    with guarded(assignor.name):
        return assignor.subscription_user_data()


def tell(assignor: Assignor, topics: Topics, positions: Positions, generation: int) -> None:
    """Let a member's assignor know of its assignment (`Assignor.on_assignment`).

    Raises
    ------
    AssignorError
        Somebody's own threw something.
    """
    with guarded(assignor.name):
        assignor.on_assignment(topics, positions, generation)
