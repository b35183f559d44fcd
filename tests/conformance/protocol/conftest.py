"""What holds for the whole folder: the tap on the wire, and thousands of small runs in one process."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tests.conformance.protocol.wire import wire

__all__ = ["wire"]


@pytest.fixture(scope="session", autouse=True)
def _imports_are_no_garbage() -> Iterator[None]:
    """Every run collects garbage before it starts: without this it would walk through all modules each time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
