"""Runs in the copy: ``tables``, or a file of tests. Prints JSON last: digests, what was called if REACHED is set."""

from __future__ import annotations

import json
import os
import sys
from types import FrameType

import pytest

_SIM = f"{os.sep}sim{os.sep}"
_reached: set[tuple[str, int]] = set()


def _note(frame: FrameType, event: str, argument: object) -> None:
    if _SIM in (name := frame.f_code.co_filename):
        _reached.add((name[name.rindex(_SIM) + 1 :], frame.f_code.co_firstlineno))


def _tables() -> dict[str, object]:
    from groupsim.sim import simulate
    from tests.mutation.runs import scenarios

    return {
        one.name: [simulate(one, fidelity=how).manifest["digests"] for how in ("elided", "message")]
        for one in scenarios()
    }


if __name__ == "__main__":
    if os.environ.get("REACHED"):
        sys.settrace(_note)  # type: ignore[arg-type]
    is_tables = sys.argv[1:] == ["tables"]
    digests = _tables() if is_tables else None
    status = 0 if is_tables else int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *sys.argv[1:]]))
    print(json.dumps({"digests": digests, "reached": sorted(_reached)}))
    sys.exit(status)
