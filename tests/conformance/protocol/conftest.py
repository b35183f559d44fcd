"""What holds for the whole folder: the tap on the wire, and thousands of small runs in one process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import cache
from importlib import metadata

import pytest

from sim import simulation
from tests.conformance.protocol.wire import wire

__all__ = ["wire"]


@pytest.fixture(scope="session", autouse=True)
def _runs_are_cheap() -> Iterator[None]:
    """Spare each run what is not tested here: the garbage collector's walk through all modules, versions, digests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulation, "_collector_at_rest", nullcontext)
        patch.setattr(simulation, "digests", lambda _: {})
        patch.setattr(simulation, "version", cache(metadata.version))
        yield
