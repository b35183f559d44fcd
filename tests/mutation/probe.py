"""Runs in the copy: ``tables``, or a file of tests. Prints JSON last: digests, what was called if REACHED is set."""

from __future__ import annotations

import json
import os
import sys
from types import FrameType
from typing import Any

import pytest

_BOTH: tuple[Any, ...] = ("elided", "message")
_SIM = f"{os.sep}sim{os.sep}"
_reached: set[tuple[str, int]] = set()


def _note(frame: FrameType, event: str, argument: object) -> None:
    if _SIM in (name := frame.f_code.co_filename):
        _reached.add((name[name.rindex(_SIM) + 1 :], frame.f_code.co_firstlineno))


def _tables() -> dict[str, object]:
    from groupsim.sim import simulate
    from tests.support.random_scenarios import random_scenario
    from tests.support.varied_scenarios import varied_scenario

    families: list[Any] = ["jitter", "grid", "dense", "aged"] * 2 + ["crowd"]
    runs = [random_scenario(seed, family) for seed, family in enumerate(families, 7_000)]
    runs += [varied_scenario(seed) for seed in range(7_000, 7_004)]
    return {
        one.name: [simulate(one, fidelity=how).manifest["digests"] for how in ("elided", "message")] for one in runs
    }


if __name__ == "__main__":
    if os.environ.get("REACHED"):
        sys.settrace(_note)  # type: ignore[arg-type]
    is_tables = sys.argv[1:] == ["tables"]
    digests = _tables() if is_tables else None
    status = 0 if is_tables else int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *sys.argv[1:]]))
    print(json.dumps({"digests": digests, "reached": sorted(_reached)}))
    sys.exit(status)
