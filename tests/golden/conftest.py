"""``pytest tests/golden --update-golden`` writes what the simulator gives now: look at the difference."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the expected files of tests/golden anew")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether to write instead of compare; where the option was not registered, compare."""
    return bool(request.config.getoption("--update-golden", default=False))
