"""A suite and a workflow for a CI to begin with: what ``groupsim check --init`` writes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Final

from groupsim.scenarios.files.new_folder import OccupiedFolder
from groupsim.scenarios.files.text_files import is_there

TEMPLATES: Final = Path(__file__).with_name("templates")
SUITE: Final = "groupsim-suite.yaml"
WORKFLOW: Final = ".github/workflows/groupsim.yml"
FOLDER: Final = "./groupsim"
"""A clone inside the user's repository."""
_SSH: Final = re.compile(r"(?:ssh://)?git@([^:/]+)[:/](.+)")
"""How a clone is fetched with a key, which a workflow has not."""


def write_starter(folder: Path, source: str) -> Path:
    """Write suite and workflow into a folder, the top of a repository; the path of the suite.

    Parameters
    ----------
    folder : Path
        Made if need be.
    source : str
        What the workflow has pip install: the baseline is this version's.

    Raises
    ------
    OccupiedFolder
        One of the files exists, or cannot be written; nothing is overwritten.
    """
    workflow = (TEMPLATES / "workflow.yaml").read_text(encoding="utf-8").replace("SOURCE", source)
    files = {folder / SUITE: (TEMPLATES / "suite.yaml").read_text(encoding="utf-8"), folder / WORKFLOW: workflow}
    taken = [str(path) for path in files if is_there(path)]
    if taken:
        raise OccupiedFolder(f"{' and '.join(taken)} exist{'s' * (len(taken) == 1)} already: left alone")
    for path, text in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise OccupiedFolder(f"{path} cannot be written: {error.strerror}") from None
    return folder / SUITE


def source_of(clone: Path) -> str:
    """What pip can install groupsim from, elsewhere: the git URL that a clone came from, at its commit.

    ``FOLDER`` where that is not known: groupsim is on no package index.
    """
    url, commit = _git(clone, "remote", "get-url", "origin"), _git(clone, "rev-parse", "HEAD")
    over_ssh = _SSH.fullmatch(url)
    url = f"https://{over_ssh[1]}/{over_ssh[2]}" if over_ssh else url
    return f"git+{url}@{commit}" if commit and url.startswith("https://") else FOLDER


def _git(clone: Path, *words: str) -> str:
    """What git says of a clone; empty if it is none, or if there is no git."""
    if not (clone / ".git").exists():
        return ""
    command = ["git", "-C", str(clone), *words]
    try:
        told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return ""
    return told.stdout.strip()
