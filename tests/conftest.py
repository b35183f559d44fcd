"""What holds for every test: hypothesis is repeatable, nothing opens a window, Spark tests need Java."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tests.support.command_line import CommandLine

os.environ["MPLBACKEND"] = "Agg"

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Share tests out, and skip those on Spark where Spark cannot start."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        _share_out(items)
    on_spark = [item for item in items if _is_on_spark(item)]
    if not on_spark:
        return
    from scenarios.java import java_missing

    if missing := java_missing():
        for item in on_spark:
            item.add_marker(pytest.mark.skip(reason=missing))


def _is_on_spark(item: pytest.Item) -> bool:
    return item.get_closest_marker("spark") is not None


def _share_out(items: list[pytest.Item]) -> None:
    """One process takes whole files; all on Spark go to one, first: a cluster at a time, and none is waited for."""
    items.sort(key=lambda item: not _is_on_spark(item))
    for item in items:
        item.add_marker(pytest.mark.xdist_group("spark" if _is_on_spark(item) else item.nodeid.partition("::")[0]))


@pytest.fixture
def groupsim(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line in this process."""
    from tests.support.command_line import CommandLine

    return CommandLine(monkeypatch, capsys)
