"""What holds for every test: hypothesis is repeatable, nothing opens a window, Spark tests need Java."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tests.support.command_line import CommandLine

os.environ["MPLBACKEND"] = "Agg"

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")


LONG = [Path(__file__).parent / name for name in ("oracle", "golden", "unit/sim", "property", "conformance")]
"""Folders with files that take minutes: they come first, so that no processor waits for one at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first; skip the tests on Spark where Spark cannot start, and say what is missing."""
    items.sort(key=lambda item: next((rank for rank, one in enumerate(LONG) if one in item.path.parents), len(LONG)))
    on_spark = [item for item in items if item.get_closest_marker("spark")]
    if not on_spark:
        return
    from groupsim.scenarios.spark.java import java_missing

    if missing := java_missing():
        for item in on_spark:
            item.add_marker(pytest.mark.skip(reason=missing))


@pytest.fixture
def importable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The test's own folder, whose modules can be imported; they are forgotten with it, for others of their names."""
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)


@pytest.fixture
def groupsim(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line in this process."""
    from tests.support.command_line import CommandLine

    return CommandLine(monkeypatch, capsys)
