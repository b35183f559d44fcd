"""What a shell offers for names of scenarios and sweeps; it asks at every press of the key, so nothing heavy is imported."""

from __future__ import annotations

from collections.abc import Callable
from glob import escape, glob
from pathlib import Path
from typing import Final

_LIBRARY: Final = Path(__file__).parents[1] / "library"


def names_or_files(folder: str = ".") -> Callable[[str], list[str]]:
    """A completion of built-in names in a folder of the library, and of YAML files."""

    def complete(incomplete: str) -> list[str]:
        names = sorted(path.stem for path in (_LIBRARY / folder).glob("*.yaml"))
        files = [*glob(f"{escape(incomplete)}*.yaml"), *glob(f"{escape(incomplete)}*/")]
        return [name for name in names if name.startswith(incomplete)] + sorted(files)

    return complete
