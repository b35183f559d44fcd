"""The packages as syntax trees: modules, what they import and where, and names that are used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("sim", "assignors", "scenarios", "analysis")


_UNQUALIFIED = re.compile(rf"(?:^|;|>>>)\s*(?:from|import)\s+((?:{'|'.join(PACKAGES)})\b[\w.]*)", re.MULTILINE)
_SUSPECT = re.compile(rf"\b(?:from|import)\b[^\n]*(?<![\w.])(?:{'|'.join(PACKAGES)})\b")
"""Whatever has an import without ``groupsim.`` has it on such a line: to parse hundreds of files takes seconds."""


@dataclass(frozen=True)
class Module:
    """A file of a package; its name is what stands behind ``groupsim.``."""

    name: str
    path: Path
    tree: ast.Module
    nodes: tuple[ast.AST, ...]

    def inside(self, *packages: str) -> bool:
        return any(self.name == package or self.name.startswith(f"{package}.") for package in packages)

    def place(self, node: ast.AST) -> str:
        return f"{self.path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"


@dataclass(frozen=True)
class Import:
    """A module that another imports; ``lazy``: inside a function, or for the type checker alone.

    groupsim's own are named by what stands behind ``groupsim.``; a name with ``groupsim.`` left out has a "?" before
    it: from the clone's root it would load a second copy.
    """

    module: Module
    imported: str
    lazy: bool
    place: str


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the packages."""
    files = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return tuple(_parsed(path) for path in files)


def _parsed(path: Path) -> Module:
    tree = ast.parse(path.read_text(), str(path))
    return Module(_dotted(path), path, tree, tuple(ast.walk(tree)))


def _dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def imports() -> tuple[Import, ...]:
    """Every import of the packages."""
    return tuple(one for module in modules() for one in _imports(module, module.tree, lazy=False))


def _imports(module: Module, parent: ast.AST, *, lazy: bool) -> Iterator[Import]:
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.Import):
            yield from (Import(module, _inner(alias.name), lazy, module.place(node)) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (Import(module, name, lazy, module.place(node)) for name in _from(node))
        else:
            typing = isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
            function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from _imports(module, node, lazy=lazy or typing or function)


def _from(node: ast.ImportFrom) -> set[str]:
    """``from a import b`` imports a.b where that is a module, and a otherwise."""
    assert node.module is not None, "imports are absolute"
    assert node.level == 0, "imports are absolute"
    inner = _inner(node.module)
    base = ROOT.joinpath(*inner.split(".")) if inner else ROOT
    return {
        f"{inner}.{alias.name}".lstrip(".")
        if (base / f"{alias.name}.py").exists() or (base / alias.name).is_dir()
        else inner
        for alias in node.names
    }


def _inner(name: str) -> str:
    """The name below groupsim, which is itself the empty name; third parties' names as they are."""
    if name.partition(".")[0] in PACKAGES:
        return f"?{name}"
    return name.removeprefix("groupsim").removeprefix(".") if name.partition(".")[0] == "groupsim" else name


def unqualified(text: str) -> list[str]:
    """Absolute imports of groupsim's packages without ``groupsim.``, in Python and in code that its strings hold.

    What is no Python (a page in Markdown) is searched line by line.
    """
    if not _SUSPECT.search(text):
        return []
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return _UNQUALIFIED.findall(text)
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.partition(".")[0] in PACKAGES]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in PACKAGES:
            found.append(str(node.module))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found += _UNQUALIFIED.findall(node.value)
    return found
