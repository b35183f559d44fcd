"""``groupsim`` with accidents where results are written: ``python -m tests.support.accidents NAME sweep ...``."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from groupsim import sim
from groupsim.sim.model import Scenario
from groupsim.sim.output.result import Result
from groupsim.sim.simulation import simulate

_COMMIT_S = 0.4


def slow_commits(scenario: Scenario, *, seed: int, replication: int, variant: str) -> Result:
    """A file waits under its other name before it is renamed, so that a death can hit it."""
    _before("replace", _wait)
    return simulate(scenario, seed=seed, replication=replication, variant=variant)


def no_space(scenario: Scenario, *, seed: int, replication: int, variant: str) -> Result:
    """The disk is full from each variant's second run on, as long as ``full`` stands in the temporary folder."""
    if replication > 0:
        _before("write_bytes", _refuse)
    return simulate(scenario, seed=seed, replication=replication, variant=variant)


def _wait() -> None:
    time.sleep(_COMMIT_S)


def _refuse() -> None:
    if Path(os.environ["TMPDIR"], "full").exists():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@cache
def _before(method: str, happens: Callable[[], None]) -> None:
    """In this process, from now on, ``happens`` comes before a method of paths."""
    own = getattr(Path, method)

    def call(self: Path, *arguments: Any) -> Any:
        happens()
        return own(self, *arguments)

    setattr(Path, method, call)


if __name__ == "__main__":
    from groupsim.scenarios.cli import main
    from tests.support import accidents

    sim.simulate = getattr(accidents, sys.argv[1])
    sys.argv = ["groupsim", *sys.argv[2:]]
    main()
