"""A new folder for results, which is there as a whole or not at all.

It is filled under a hidden name, ``.NAME.*.partial``, and becomes NAME at the end. What a killed process has left is
swept away by the next one that writes to the same place: a file in it says whose it is, and a lock on that file, which
ends with its process however that ends, that nobody is at work in it any more. A folder without such a file, of a
process that was killed before it had written anything, stays: nobody can tell whose it is.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from groupsim.sim.errors import ConfigError

_OWNER: Final = ".groupsim"
_MARK: Final = b"groupsim writes results here; without such a process this folder can be deleted\n"
_LAST: Final = "manifest.json"
"""Where it is, a result is complete."""


class OccupiedFolder(ConfigError):
    """The output folder holds something already, or cannot be a folder; nothing is ever overwritten."""


def place_of(path: Path) -> Path:
    """Where a folder of this name is or will be: absolute, symbolic links followed.

    Raises
    ------
    OccupiedFolder
        Nothing can be there.
    """
    try:
        place = Path(os.path.realpath(path))
        leads_nowhere = place.is_symlink()
    except OSError as error:  # such as: the working directory is gone
        raise OccupiedFolder(f"{path} cannot be made: {error.strerror}") from None
    except ValueError as error:  # a null byte
        raise OccupiedFolder(f"{path} cannot be made: {error}") from None
    if leads_nowhere:
        raise OccupiedFolder(f"{path} cannot be made: it is a symbolic link that leads nowhere")
    return place


def refuse_occupied(path: Path, rubbish: re.Pattern[str] | None = None) -> None:
    """Check that a result may be written to ``path``: absent, or an empty folder.

    Parameters
    ----------
    path : Path
    rubbish : pattern, optional
        Names of files that do not count.

    Raises
    ------
    OccupiedFolder
        If it holds anything, is not a folder, or cannot be looked at.
    """
    try:
        if path.is_dir():
            if any(rubbish is None or not rubbish.fullmatch(one.name) for one in path.iterdir()):
                raise OccupiedFolder(f"{path} is not empty; results are never overwritten: name a new folder")
        elif path.exists():
            raise OccupiedFolder(f"{path} is a file; name a new folder")
    except OSError as error:
        raise OccupiedFolder(f"{path} cannot be looked at: {error.strerror}") from None


@contextmanager
def complete_or_absent(path: Path) -> Iterator[Path]:
    """A fresh folder to fill, which becomes ``path`` when the block ends well and vanishes when it does not.

    A folder that is there already and empty is replaced; where it cannot be (a mount, the working directory, a parent
    that may not be changed), what was written is moved into it at the end, the manifest last.

    Raises
    ------
    OccupiedFolder
        If ``path`` holds anything, at the begin or at the end, or no folder can be made there.
    """
    place = place_of(path)
    try:
        above = place if _stays(place) else place.parent
        above.mkdir(parents=True, exist_ok=True)
        _sweep(above, place.name)
        refuse_occupied(path)
        partial = above / partial_name(place).name
        partial.mkdir()
        owner = _owned(partial)
    except OSError as error:
        raise OccupiedFolder(f"{path} cannot be made: {error.strerror}") from error
    try:
        yield partial
        if above == place:
            _move_up(partial, path)
        else:
            refuse_occupied(path)
            partial.rename(place)
            (place / _OWNER).unlink()
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    finally:
        os.close(owner)


def _stays(place: Path) -> bool:
    """Whether a folder is there that cannot be replaced by another."""
    return place.is_dir() and (place.is_mount() or place == Path.cwd() or not os.access(place.parent, os.W_OK))


def _move_up(partial: Path, path: Path) -> None:
    if [one for one in partial.parent.iterdir() if one != partial]:
        raise OccupiedFolder(f"{path} is not empty any more; results are never overwritten: name a new folder")
    parts = [one for one in partial.iterdir() if one.name != _OWNER]
    for one in sorted(parts, key=lambda one: (one.name == _LAST, one.name)):
        one.rename(partial.parent / one.name)
    shutil.rmtree(partial)


def partial_name(path: Path) -> Path:
    """A name beside ``path`` that no other writer has and no reader of datasets looks at."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")


# --- what dead processes have left ----------------------------------------------------------------------------------


def _owned(partial: Path) -> int:
    """A descriptor of the file that says that the folder is in use, locked before it has its name."""
    draft = partial / f"{_OWNER}.draft"
    owner = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666)
    try:
        os.write(owner, _MARK)
        with suppress(OSError):  # where nothing can be locked nothing is ever swept
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            draft.rename(partial / _OWNER)
            return owner
        draft.unlink()
        (partial / _OWNER).touch()
    except BaseException:
        os.close(owner)
        raise
    return owner


def _sweep(above: Path, name: str) -> None:
    """Take away what dead processes have left of a folder ``name``; nothing of which that is not certain."""
    own = re.compile(rf"\.{re.escape(name)}\.[0-9a-f]{{8}}\.partial")
    for partial in [one for one in above.iterdir() if own.fullmatch(one.name) and not one.is_symlink()]:
        with suppress(OSError), (partial / _OWNER).open("rb") as owner:
            if owner.read() == _MARK:
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(partial)
