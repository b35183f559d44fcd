"""What a shell offers for names of scenarios and sweeps. It asks at every press of a key: nothing heavy is imported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

_LIBRARY: Final = Path(__file__).parents[1] / "library"


def names_or_files(folder: str = ".") -> Callable[[str], list[str]]:
    """Built-in names in a folder of the library, YAML files, and folders that lead to some; typer takes what fits."""

    def complete(incomplete: str) -> list[str]:
        names = [path.stem for path in (_LIBRARY / folder).glob("*.yaml")]
        above = Path(incomplete + "x").parent
        files = [str(path) for path in above.glob("*.yaml")] + [f"{path}/" for path in above.glob("*/")]
        return sorted(names) + sorted(files)

    return complete
