"""Runs inside the copy: ``tables`` makes small, varied runs, ``tests FILE`` runs tests.

The last line that it prints is JSON: the tables' digests, if any, and which functions of ``sim`` were called, if the
environment has REACHED.
"""

from __future__ import annotations

import json
import os
import sys
from types import FrameType

_SIM = f"{os.sep}sim{os.sep}"
_reached: set[tuple[str, int]] = set()


def _note(frame: FrameType, event: str, argument: object) -> None:
    code = frame.f_code
    if _SIM in code.co_filename:
        _reached.add((code.co_filename, code.co_firstlineno))


def _tables() -> dict[str, object]:
    from groupsim.sim import simulate
    from tests.support.random_scenarios import Family, random_scenario
    from tests.support.varied_scenarios import varied_scenario

    families: list[Family] = ["jitter", "grid", "dense", "aged", "jitter", "grid", "dense", "aged", "crowd"]
    runs = [(seed, random_scenario(seed, family)) for seed, family in enumerate(families, 7_000)]
    runs += [(seed, varied_scenario(seed)) for seed in range(7_000, 7_004)]
    return {
        scenario.name: [simulate(scenario, seed=seed).manifest["digests"],
                        simulate(scenario, seed=seed, fidelity="message").manifest["digests"]]
        for seed, scenario in runs
    }  # fmt: skip


def main() -> int:
    """Exit code of the tests, or 0."""
    if os.environ.get("REACHED"):
        sys.settrace(_note)  # type: ignore[arg-type]
    status, digests = 0, None
    if sys.argv[1] == "tables":
        digests = _tables()
    else:
        import pytest

        status = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *sys.argv[2:]]))
    sys.settrace(None)
    reached = sorted((name[name.rindex(_SIM) + 1 :], line) for name, line in _reached)
    print(json.dumps({"digests": digests, "reached": reached}))
    return status


if __name__ == "__main__":
    sys.exit(main())
