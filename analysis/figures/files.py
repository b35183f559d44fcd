"""Figures as files."""

from __future__ import annotations

import os
from pathlib import Path

from matplotlib.figure import Figure

from groupsim.analysis.errors import ResultError

SOFTWARE = "groupsim"


def refuse_unfit(path: Path) -> None:
    """Check that a figure may be written to ``path``.

    Raises
    ------
    ResultError
        The name does not end in ``.png``, the folder does not exist, or the file exists and is not groupsim's.
    """
    if path.suffix != ".png":
        raise ResultError(f"{path}: figures are PNG files, the name must end in .png")
    if not path.parent.is_dir():
        raise ResultError(f"{path.parent} is not a folder")
    if path.exists() and not _is_ours(path):
        raise ResultError(f"{path} exists and was not written by groupsim: left alone")


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure as PNG, all of it or nothing; a figure that groupsim wrote before is replaced.

    Raises
    ------
    ResultError
        It may not be written there (``refuse_unfit``), or cannot.
    """
    path = Path(path)
    refuse_unfit(path)
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        figure.savefig(scratch, format="png", metadata={"Software": SOFTWARE})
        scratch.replace(path)
    except OSError as error:
        raise ResultError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        scratch.unlink(missing_ok=True)
    return path


def _is_ours(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return f"tEXtSoftware\0{SOFTWARE}".encode() in file.read(4096)
