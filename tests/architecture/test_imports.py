"""Who may import whom."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.architecture.source import PACKAGES, ROOT, Import, imports, modules, unqualified

SIM_PUBLIC = {
    "sim", "sim.model", "sim.config", "sim.tables", "sim.errors", "sim.units", "sim.output.result",
    "sim.output.arrow_digest", "sim.versions",
}  # fmt: skip
SIM_LEAVES = {"sim.units", "sim.errors", "sim.config"}
TABLES = {"numpy", "pandas", "pyarrow"}
FILES = {"pydantic", "pydantic_core", "yaml"}

# A package; what of groupsim it may import (a name stands for itself and, with a dot at its end, for all below);
# which third-party packages. The first that matches a module counts.
RULES: tuple[tuple[str, set[str], set[str]], ...] = (
    ("assignors.java.re2_pattern", set(), {"re2"}),
    ("assignors", {"assignors."}, {"numpy", "scipy"}),
    ("sim.protocol", {"sim.protocol.", "assignors.", *SIM_LEAVES}, {"numpy"}),
    ("sim.kernel", {"sim.kernel.", "sim.model", "sim.randomness", *SIM_LEAVES}, {"numpy", "simpy"}),
    ("sim.output.result", {"sim.tables"}, {"numpy", "pandas"}),
    ("sim.output.arrow_digest", {"sim.output.result"}, {"numpy", "pyarrow"}),
    (
        "sim.output",
        {"sim.output.", "sim.books.", "sim.protocol.", "sim.model", "sim.randomness", "sim.tables", *SIM_LEAVES},
        {"numpy"},
    ),
    ("sim.client", {"sim.", "assignors."}, {"numpy", "simpy"}),
    ("sim.cluster", {"sim.", "assignors."}, {"numpy", "simpy"}),
    ("sim.fastpath", {"sim.", "assignors."}, {"numpy", "simpy"}),
    ("sim.timeline", {"sim.", "assignors."}, {"numpy", "simpy"}),
    ("sim.tables", set(), set()),
    ("sim", {"sim.", "assignors."}, {"numpy"}),
    ("scenarios.spark.runner", {"scenarios.", *SIM_PUBLIC}, {"pyarrow", "pyspark"}),
    ("scenarios.spark.session", {"scenarios.", *SIM_PUBLIC}, {"pyspark", "py4j"}),
    ("scenarios.cli", {"scenarios.", "assignors.", "analysis.", *SIM_PUBLIC}, {*TABLES, "typer", "rich", "yaml"}),
    ("scenarios.sweep.points", {"scenarios.", *SIM_PUBLIC}, {"numpy", "scipy", "SALib"}),
    ("scenarios.sweep.execution", {"scenarios.", "analysis.data.load", *SIM_PUBLIC}, TABLES),
    ("scenarios.schema.summary_columns", {"scenarios.", "analysis.data.metrics"}, FILES),
    ("scenarios.sweep.replications", {"scenarios.", "analysis.stats.statistics"}, FILES),
    ("scenarios", {"scenarios.", "assignors.", *SIM_PUBLIC}, {*TABLES, *FILES}),
    ("analysis.spark", {"analysis.", "sim.tables"}, {*TABLES, "pyspark"}),
    ("analysis.sensitivity.effects", {"analysis."}, {*TABLES, "SALib"}),
    ("analysis.data.files", {"analysis.", "sim.output.arrow_digest"}, TABLES),
    ("analysis", {"analysis.", "sim.tables"}, {*TABLES, "matplotlib", "scipy"}),
)  # fmt: skip

# Rooms from the ground up: a module imports from its own room and from lower lines, in code and for the type checker
# alike. A module belongs to the longest name that it starts with; rooms on one line know nothing of one another.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("assignors.java",),
    ("assignors.core",),
    ("assignors.client", "assignors.server"),
    ("assignors.own",),
    ("assignors.registry", "assignors.validity"),
    ("assignors.guarded_call",),
    ("assignors.evaluation", "assignors"),
    (
        "sim.units",
        "sim.errors",
        "sim.tables",
        "sim.versions",
        "sim.gauge",
        "sim.elementwise",
        "sim.spans",
        "sim.distributions",
    ),
    ("sim.arrivals",),
    ("sim.collector",),
    ("sim.config",),
    ("sim.model",),
    ("sim.randomness",),
    ("sim.protocol", "sim.kernel"),
    ("sim.catalog",),
    ("sim.books.record",),
    ("sim.books.offsets",),
    ("sim.books.producing",),
    ("sim.books",),
    ("sim.books.invariants",),
    ("sim.cluster.shard",),
    ("sim.cluster.interface",),
    ("sim.cluster.groups",),
    ("sim.cluster.broker",),
    ("sim.cluster.topics",),
    ("sim.cluster.transactions",),
    ("sim.output", "sim.cluster"),
    ("sim.client.interface", "sim.client.alarms"),
    ("sim.client.incarnation",),
    ("sim.client.in_flight", "sim.client.polling"),
    ("sim.client.fetching",),
    ("sim.client.coordination",),
    ("sim.client",),
    ("sim.client.producing", "sim.client.zookeeper"),
    ("sim.client.consumer",),
    ("sim.client.pause_streams",),
    ("sim.fastpath.quiet",),
    ("sim.fastpath.phases",),
    ("sim.fastpath",),
    ("sim.world",),
    ("sim.timeline", "sim.past"),
    ("sim.simulation",),
    ("sim",),
    ("scenarios.errors",),
    ("scenarios.files",),
    ("scenarios.kafka",),
    ("scenarios.schema",),
    ("scenarios.build",),
    ("scenarios.sweep", "scenarios.assignors"),
    ("scenarios.gate", "scenarios.spark"),
    ("scenarios.sweep.execution",),  # chooses where a sweep runs: on Spark, or in this process
    ("scenarios",),
    ("scenarios.cli",),
    ("analysis.errors",),
    ("analysis.data",),
    ("analysis.stats",),
    ("analysis.text",),
    ("analysis.compare", "analysis.sensitivity"),
    ("analysis.figures", "analysis.spark"),
    ("analysis",),
)

LAZY = {"pyspark", "py4j", "matplotlib", "scipy", "SALib"}
"""Heavy, and not needed by most: imported inside functions only. ``scenarios.cli`` treats ``analysis`` so, too."""


def _allowed(one: Import) -> bool:
    ours, theirs = next(rule[1:] for rule in RULES if one.module.inside(rule[0]))
    if not one.imported:  # the public door: nothing but where the files are
        return True
    top = one.imported.partition(".")[0]
    if top in PACKAGES:
        return one.imported in ours or any(f"{one.imported}.".startswith(name) for name in ours if name.endswith("."))
    return top in theirs or top in sys.stdlib_module_names


def test_imports_follow_the_directions() -> None:
    assert [f"{one.place} imports {one.imported}" for one in imports() if not _allowed(one)] == []


def _room(name: str) -> tuple[int, str]:
    """Floor and room of a module."""
    found = [(room, floor) for floor, rooms in enumerate(FLOORS) for room in rooms if f"{name}.".startswith(f"{room}.")]
    room, floor = max(found, key=lambda one: len(one[0]))
    return floor, room


def _runs_upward(one: Import) -> bool:
    if one.imported.partition(".")[0] != one.module.name.partition(".")[0]:
        return False
    (from_floor, from_room), (to_floor, to_room) = _room(one.module.name), _room(one.imported)
    return to_floor > from_floor or (to_floor == from_floor and from_room != to_room)


def test_no_arrow_runs_upward() -> None:
    assert [f"{one.place} imports {one.imported}" for one in imports() if _runs_upward(one)] == []


def test_no_import_circle_anywhere() -> None:
    """Neither in code nor for the type checker; what is imported inside a function counts too."""
    arrows: dict[str, set[str]] = {module.name: set() for module in modules()}
    for one in imports():
        if one.imported in arrows:
            arrows[one.module.name].add(one.imported)
    resolved: set[str] = set()
    while free := {name for name, targets in arrows.items() if name not in resolved and targets <= resolved}:
        resolved |= free
    assert sorted(set(arrows) - resolved) == []


def test_every_import_of_groupsim_says_so() -> None:
    """From the clone's root ``sim`` would be a second copy of ``groupsim.sim``, and elsewhere the user's own."""
    folders = [ROOT / name for name in (*PACKAGES, "tests")]
    texts = [*ROOT.glob("*.py"), *ROOT.glob("*.md"), *(path for one in folders for path in one.rglob("*.py"))]
    texts += [path for one in folders for path in one.rglob("*.md")]
    assert len(texts) > 400
    found = {str(path.relative_to(ROOT)): unqualified(path.read_text(encoding="utf-8")) for path in texts}
    assert {name: imported for name, imported in found.items() if imported} == {}


@pytest.mark.parametrize(
    "code",
    [
        "{} sim.model",
        "import os, sim.model",
        "def late():\n    {} sim.model",
        "program = 'import sys; {} sim.model'",
        "def documented():\n    '''Docstring.\n\n    >>> {} sim.model\n    '''",
        "# A page\n\nWhat to type:\n\n```python\n{} sim.model\n```\n",
    ],
)
def test_an_import_without_groupsim_is_seen(code: str) -> None:
    text = code.format("import")
    assert unqualified(text) == ["sim.model"]
    assert unqualified(text.replace("sim.", "groupsim.sim.")) == []


def test_heavy_packages_are_imported_inside_functions() -> None:
    def heavy(one: Import) -> bool:
        top = one.imported.partition(".")[0]
        return top in LAZY or (top == "analysis" and one.module.inside("scenarios"))

    drawing = "analysis.figures"  # imported by those who draw, and then matplotlib is needed
    eager = [one for one in imports() if heavy(one) and not one.lazy and not one.module.inside(drawing)]
    assert [f"{one.place} imports {one.imported}" for one in eager] == []


def test_every_package_is_looked_at() -> None:
    assert {module.name.partition(".")[0] for module in modules()} == set(PACKAGES)
    assert len(imports()) > 100


@pytest.mark.parametrize("package", ["sim", "assignors"])
def test_import_brings_nothing_heavy(package: str) -> None:
    heavy = "pyspark|matplotlib|scipy|pydantic|typer|rich|yaml"
    program = f"import groupsim.{package}, sys; print([m for m in '{heavy}'.split('|') if m in sys.modules])"
    told = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
