"""A copy of the tree with one bug in it: do tables change, and does a test notice?"""

from __future__ import annotations

import difflib
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
    "unit/sim/**/test_*.py", "property/test_[!f]*.py", "conformance/coordinator/test_*.py",
    "conformance/protocol/test_*.py", "golden/test_runs.py",
)  # fmt: skip
_LIMIT_S = 120
"""What does not end in this time, with a bug in it, has noticed the bug."""


class Trial:
    """Judges bugs one after the other; ``root`` is only read, the copy is made in ``folder``."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._copy = folder
        for path in (root / name for name in _COPIED):
            copy = shutil.copytree if path.is_dir() else shutil.copy
            copy(path, self._copy / path.name)
        (self._copy / "build" / "types").mkdir(parents=True)
        (self._copy / "build" / "types" / "groupsim").symlink_to(self._copy)
        before = self._run("tables", reached=True)
        self._digests, self._reached = before["digests"], set(map(tuple, before["reached"]))
        self._tests = self._survey()

    def _survey(self) -> list[tuple[float, str, set[tuple[str, int]]]]:
        """Every file of fast tests: how long it takes, its name, which functions it calls; the quickest first."""
        found = []
        paths = [path for name in _FAST_TESTS for path in sorted((self._copy / "tests").glob(name))]
        for file in [str(path.relative_to(self._copy)) for path in paths]:
            started = time.monotonic()
            outcome = self._run(file, reached=True)
            if outcome is None or outcome["status"]:
                print(f"left out, since it fails without a bug, or takes too long: {file}")
            else:
                found.append((time.monotonic() - started, file, set(map(tuple, outcome["reached"]))))
        return sorted(found, key=lambda one: one[:2])

    def _run(self, what: str, *, reached: bool = False) -> Any:
        """What the probe says; None if it does not end in time, or breaks down."""
        path = f"{self._copy / 'build' / 'types'}{os.pathsep}{self._copy}"
        env = os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "REACHED": "1" * reached}
        command, limit_s = [sys.executable, "-m", "tests.mutation.probe", what], _LIMIT_S * (3 if reached else 1)
        try:
            done = subprocess.run(command, cwd=self._copy, env=env, capture_output=True, text=True, timeout=limit_s)
            return {**json.loads(done.stdout.splitlines()[-1]), "status": done.returncode}
        except (subprocess.TimeoutExpired, IndexError, ValueError):
            return None

    def judge(self, mutant: Mutant) -> tuple[str, str]:
        """``apart``, ``caught`` or ``survived``, and why: for a survivor, the difference."""
        place, file = (str(mutant.path), mutant.function), self._copy / mutant.path
        if mutant.function and place not in self._reached:
            return "apart", "no run comes there"
        source = file.read_bytes()
        file.write_bytes(mutant.of(source))
        try:
            after = self._run("tables")
            if after is not None and after["digests"] == self._digests:
                return "apart", "no table changes"
            for test in [test for _, test, reached in self._tests if not mutant.function or place in reached]:
                outcome = self._run(test)
                if outcome is None or outcome["status"]:
                    return "caught", f"by {test}" + ("" if outcome else ", which broke down or did not end")
        finally:
            file.write_bytes(source)
        lines = [text.decode().splitlines() for text in (source, mutant.of(source))]
        return "survived", "\n       ".join(["", *list(difflib.unified_diff(*lines, n=1, lineterm=""))[2:]])
