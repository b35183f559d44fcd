"""The code that travels to Spark's executors: groupsim's own, and what the user has allowed to be imported.

Third-party packages do not travel: they are installed on the workers, or come as ``spark.archives``.
"""

from __future__ import annotations

import importlib.util
import marshal
import sys
import sysconfig
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import groupsim

PACKAGES: Final = ("sim", "assignors", "scenarios", "analysis")
_UNCHECKED: Final = (1).to_bytes(4, "little") + bytes(8)
"""Flags and an empty hash: the compiled code is valid whatever time the source carries (PEP 552)."""


def write_code(archive: Path, modules: Sequence[str] = ()) -> None:
    """Write a zip file from which Python imports groupsim and the user's ``modules``.

    Compiled code stands beside each source: to compile all of it takes each worker 0.7 s.

    Parameters
    ----------
    archive : Path
    modules : sequence of str
        Imported already. Whatever else was imported from the folder of one of them travels too, unless it is where
        packages are installed.
    """
    sources = {name: source for source, name in [*_own(), *_users(modules)]}
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for folder in sorted({folder.as_posix() for name in sources for folder in name.parents} - {"."}):
            file.mkdir(folder)  # without an entry of its own a package that has no __init__.py is not found
        for name, source in sources.items():
            text = source.read_bytes()
            code = marshal.dumps(compile(text, name.as_posix(), "exec", dont_inherit=True))
            file.writestr(name.as_posix(), text)
            file.writestr(name.with_suffix(".pyc").as_posix(), importlib.util.MAGIC_NUMBER + _UNCHECKED + code)


def _own() -> Iterator[tuple[Path, Path]]:
    root = Path(groupsim.__file__).parent
    yield root / "__init__.py", Path("groupsim/__init__.py")
    for package in PACKAGES:
        for source in sorted((root / package).rglob("*.py")):
            yield source, "groupsim" / source.relative_to(root)


def _users(modules: Sequence[str]) -> Iterator[tuple[Path, Path]]:
    """Files of the modules and of those that were imported from the same folders, and their names in the archive."""
    installed = {Path(sysconfig.get_path(kind)) for kind in ("stdlib", "purelib", "platlib")}
    tops = {_top(module) for module in modules} - installed - {None}
    files = {file: name for name in list(sys.modules) if (file := _file(name)) is not None}
    for file, name in sorted(files.items()):
        if (top := _top(name)) is not None and top in tops and name.partition(".")[0] != "groupsim":
            yield file, file.relative_to(top)


def _top(module: str) -> Path | None:
    """The folder from which a module's outermost package was imported."""
    file = _file(module)
    return file and file.parents[module.count(".") + (file.name == "__init__.py")]


def _file(module: str) -> Path | None:
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file) if file and file.endswith(".py") else None
