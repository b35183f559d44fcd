"""A copy of the tree with one bug in it: do tables change, and does a test notice?"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.mutation.mutants import Mutant

_COPIED = ("analysis", "assignors", "scenarios", "sim", "tests", "__init__.py", "pyproject.toml", "py.typed")
_FAST_TESTS = (
    "tests/unit/sim", "tests/property/test_classic_group.py", "tests/property/test_group_log.py",
    "tests/conformance/coordinator", "tests/conformance/protocol", "tests/golden/test_runs.py",
)  # fmt: skip
_LIMIT_S = 120
"""What does not end in this time, with a bug in it, has noticed the bug."""


class Trial:
    """Judges bugs one after the other; ``root`` is only read, the copy is made in ``folder``."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._copy = folder / "tree"
        shutil.copytree(root, self._copy, ignore=lambda at, names: self._left_out(root, at, names))
        types = self._copy / "build" / "types"
        types.mkdir(parents=True)
        (types / "groupsim").symlink_to(self._copy)
        before = self._run("tables", reached=True)
        self._digests, self._reached = before["digests"], {tuple(one) for one in before["reached"]}
        self._tests = self._survey()

    @staticmethod
    def _left_out(root: Path, at: str, names: list[str]) -> set[str]:
        return set(names) - set(_COPIED) if Path(at) == root else {"__pycache__"}.intersection(names)

    def _survey(self) -> list[tuple[float, str, set[tuple[str, int]]]]:
        """Every file of fast tests: how long it takes, its name, which functions it calls; the quickest first."""
        found = []
        paths = [self._copy / name for name in _FAST_TESTS]
        for path in [file for one in paths for file in ([one] if one.is_file() else sorted(one.rglob("test_*.py")))]:
            started, file = time.monotonic(), str(path.relative_to(self._copy))
            outcome = self._run("tests", file, reached=True)
            if outcome is None or outcome["status"]:
                print(f"left out, since it fails without a bug, or takes too long: {file}")
            else:
                found.append((time.monotonic() - started, file, {tuple(one) for one in outcome["reached"]}))
        return sorted(found, key=lambda one: one[:2])

    def _run(self, *arguments: str, reached: bool = False) -> Any:
        """What the probe says; None if it does not end in time, or breaks down."""
        environment = {
            **os.environ, "PYTHONPATH": f"{self._copy / 'build' / 'types'}{os.pathsep}{self._copy}",
            "PYTHONDONTWRITEBYTECODE": "1", "REACHED": "1" if reached else "",
        }  # fmt: skip
        command = [sys.executable, "-m", "tests.mutation.probe", *arguments]
        limit_s = _LIMIT_S * (3 if reached else 1)
        try:
            done = subprocess.run(
                command, cwd=self._copy, env=environment, capture_output=True, text=True, timeout=limit_s
            )
            return {**json.loads(done.stdout.splitlines()[-1]), "status": done.returncode}
        except (subprocess.TimeoutExpired, IndexError, ValueError):
            return None

    def source(self, mutant: Mutant) -> str:
        """The file as it was copied."""
        return (self._copy / mutant.path).read_text()

    def judge(self, mutant: Mutant) -> tuple[str, str]:
        """``apart``, ``caught`` or ``survived``, and why."""
        place = (str(mutant.path), mutant.function)
        if mutant.function and place not in self._reached:
            return "apart", "no run comes there"
        source = self.source(mutant)
        (self._copy / mutant.path).write_text(mutant.of(source))
        try:
            after = self._run("tables")
            if after is not None and after["digests"] == self._digests:
                return "apart", "no table changes"
            return self._test([file for _, file, reached in self._tests if not mutant.function or place in reached])
        finally:
            (self._copy / mutant.path).write_text(source)

    def _test(self, files: list[str]) -> tuple[str, str]:
        for file in files:
            outcome = self._run("tests", file)
            if outcome is None or outcome["status"]:
                return "caught", f"by {file}"
        return "survived", f"{len(files)} files of tests"
