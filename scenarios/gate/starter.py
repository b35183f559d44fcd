"""A suite and a workflow for a CI to begin with: what ``groupsim check --init`` writes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from groupsim.scenarios.files.new_folder import OccupiedFolder

TEMPLATES: Final = Path(__file__).with_name("templates")
SUITE: Final = "groupsim-suite.yaml"
WORKFLOW: Final = ".github/workflows/groupsim.yml"


def write_starter(folder: Path, version: str) -> Path:
    """Write suite and workflow into a folder, the top of a repository; the path of the suite.

    Parameters
    ----------
    folder : Path
        Made if need be.
    version : str
        Of groupsim, which the workflow installs: the baseline is this version's.

    Raises
    ------
    OccupiedFolder
        One of the files exists, or cannot be written; nothing is overwritten.
    """
    workflow = (TEMPLATES / "workflow.yaml").read_text(encoding="utf-8").replace("VERSION", version)
    files = {folder / SUITE: (TEMPLATES / "suite.yaml").read_text(encoding="utf-8"), folder / WORKFLOW: workflow}
    taken = [str(path) for path in files if path.exists()]
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
