"""What must not appear in the source: slow or ambiguous ways of SimPy, hidden clocks and hidden randomness."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source import PACKAGES, ROOT, Module, modules

LINES_MAX = 400


def _nodes(*packages: str) -> Iterator[tuple[Module, ast.AST]]:
    return ((module, node) for module in modules() if module.inside(*packages) for node in module.nodes)


def _calls(*packages: str) -> Iterator[tuple[Module, ast.Call]]:
    return ((module, node) for module, node in _nodes(*packages) if isinstance(node, ast.Call))


def _dotted(node: ast.AST) -> str:
    """The dotted name of an expression, or the empty string."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and _dotted(node.value):
        return f"{_dotted(node.value)}.{node.attr}"
    return ""


@pytest.mark.parametrize("name", ["Store", "FilterStore", "PriorityStore", "AnyOf", "AllOf", "any_of", "all_of"])
def test_sim_uses_no_slow_or_leaking_part_of_simpy(name: str) -> None:
    """Stores search their waiters one by one; a race of events leaves the loser in the heap."""
    used = [
        module.place(node)
        for module, node in _nodes("sim")
        if (isinstance(node, ast.alias) and node.name == name) or _dotted(node).rpartition(".")[2] == name
    ]
    assert used == []


def test_sim_never_interrupts_a_process() -> None:
    """An interrupt is slow and leaves the stale timeout in the heap: a timer is a number, and an alarm is re-armed."""
    calls = [module.place(call) for module, call in _calls("sim") if _method(call) == "interrupt"]
    assert calls == []


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def test_processes_never_race_events_with_an_operator() -> None:
    """``a | timeout`` is a race of events; between types it is a union, between shifted numbers arithmetic."""
    unions = [
        (module, node)
        for module, node in _nodes("sim.kernel", "sim.client", "sim.cluster", "sim.fastpath", "sim.timeline")
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr)
    ]
    assert [module.place(node) for module, node in unions if not (_is_type(node) or _is_number(node))] == []


def _is_type(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_type(node.left) and _is_type(node.right)
    if isinstance(node, ast.Constant):
        return node.value is None
    name = _dotted(node.value if isinstance(node, ast.Subscript) else node).rpartition(".")[2]
    return name[:1].isupper() or isinstance(getattr(builtins, name, None), type)


def _is_number(node: ast.expr) -> bool:
    return any(isinstance(part, ast.LShift | ast.RShift | ast.BitAnd) for part in ast.walk(node))


@pytest.mark.parametrize("name", ["time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "date.today"])
def test_no_package_asks_the_clock_for_the_date(name: str) -> None:
    used = [module.place(node) for module, node in _nodes(*PACKAGES) if f".{_dotted(node)}".endswith(f".{name}")]
    assert used == []


def test_no_package_draws_unnamed_random_numbers() -> None:
    """Every random number has a name (``sim.randomness``)."""

    def unnamed(node: ast.AST) -> bool:
        if isinstance(node, ast.ImportFrom):
            return node.module in {"random", "numpy.random"} or "random" in {a.name for a in node.names}
        if isinstance(node, ast.Import):
            return any(alias.name in {"random", "numpy.random"} for alias in node.names)
        return _dotted(node) in {"np.random", "numpy.random"}

    assert [module.place(node) for module, node in _nodes(*PACKAGES) if unnamed(node)] == []


def test_nothing_depends_on_the_hash_of_a_text() -> None:
    """``hash`` of a text differs from process to process."""
    assert [module.place(call) for module, call in _calls("sim", "assignors") if _dotted(call.func) == "hash"] == []


def test_protocol_never_iterates_over_a_set() -> None:
    """The order of a set is no part of the model: sort it first, or keep a dict."""
    found = [place for module in modules() if module.inside("sim.protocol") for place in _set_iterations(module)]
    assert found == []


def _set_iterations(module: Module) -> Iterator[str]:
    sets = {name for node in module.nodes for name in _declared_sets(node)}
    for node in module.nodes:
        over = [node.iter] if isinstance(node, ast.For | ast.comprehension) else []
        if isinstance(node, ast.Call) and _dotted(node.func) in {"list", "tuple", "iter", "next", "enumerate"}:
            over = node.args[:1]
        yield from (module.place(one) for one in over if _is_set(one) or _dotted(one).rpartition(".")[2] in sets)


def _declared_sets(node: ast.AST) -> Iterator[str]:
    """Names of variables, fields and parameters that hold a set, by annotation or by what they are assigned."""
    if isinstance(node, ast.arg) and node.annotation and _is_set_type(node.annotation):
        yield node.arg
    if isinstance(node, ast.AnnAssign) and _is_set_type(node.annotation):
        yield _dotted(node.target).rpartition(".")[2]
    if isinstance(node, ast.Assign) and _is_set(node.value):
        yield from (_dotted(target).rpartition(".")[2] for target in node.targets if _dotted(target))


def _is_set(node: ast.AST) -> bool:
    call = isinstance(node, ast.Call) and _dotted(node.func) in {"set", "frozenset"}
    return call or isinstance(node, ast.Set | ast.SetComp)


def _is_set_type(node: ast.expr) -> bool:
    return _dotted(node.value if isinstance(node, ast.Subscript) else node) in {
        "set",
        "frozenset",
        "Set",
        "AbstractSet",
    }


def test_no_file_is_longer_than_a_reader_likes() -> None:
    lines = {str(m.path.relative_to(ROOT)): len(m.path.read_text().splitlines()) for m in modules()}
    assert {name for name, count in lines.items() if count > LINES_MAX} == set()


def test_nothing_names_a_registry_or_a_path_of_one_machine() -> None:
    hosts = ["pypi.org", "pythonhosted.org", "npmjs.org", "crates.io", "golang.org", "maven.org", "maven.apache.org"]
    folders = ["work", "root", "home", "Users"]
    forbidden = re.compile("|".join([*map(re.escape, hosts), *(rf"(?<![\w.<>*}}])/{name}/" for name in folders)]))
    texts = [path for path in _project_files() if path.name != "test_forbidden_names.py"]
    assert len(texts) > 40
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in texts
        if (match := forbidden.search(path.read_text(errors="replace")))
    ]
    assert found == []


def _project_files() -> Iterator[Path]:
    endings = {".py", ".md", ".toml", ".txt", ".yaml", ".json", ".xml", ".java", ".sh", ""}
    tops = [path for path in ROOT.iterdir() if path.is_file() and path.name != ".git"]  # a file in a worktree
    below = [path for name in (*PACKAGES, "tests", ".ci") for path in (ROOT / name).rglob("*") if path.is_file()]
    return (path for path in [*tops, *below] if path.suffix in endings and "__pycache__" not in path.parts)
