"""What a thread of the consumer can wait for, and what it wants done: what its generator yields, or leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.protocol.messages import Positions
from groupsim.sim.protocol.zookeeper.messages import Request
from groupsim.sim.protocol.zookeeper.states import Phase
from groupsim.sim.units import FOREVER

# --- waits that the shell carries out, and effects of the machine -----------------------------------------------------


@dataclass(slots=True, eq=False)
class Ask:
    """Ask ZooKeeper, and call ``on_answer`` with the number; the connection may break and come back in between."""

    request: Request
    number: int = 0


@dataclass(slots=True, eq=False)
class Checkpoint:
    """Call ``on_positions`` with where consumption has got to."""


@dataclass(slots=True, eq=False)
class Connect:
    """Open a session, and keep one until the client ends; every new one is told by ``on_session``."""

    timeout_us: int


@dataclass(slots=True, eq=False)
class Begin:
    """Start fetching these from these offsets; -1 where nobody has committed."""

    positions: Positions
    offsets: NDArray[np.int64]


@dataclass(slots=True, eq=False)
class Report:
    """What the member is at, for the books; ``view``: version of the ids that its part was worked out from."""

    phase: Phase
    view: int = 0
    conflicts: int = 0


# --- waits that the machine sees to itself ----------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Sleep:
    """So long, microseconds."""

    length_us: int


@dataclass(slots=True, eq=False)
class Until:
    """Until something holds, or for so long at most, microseconds; the thread is told whether it holds."""

    holds: Callable[[], bool]
    at_most_us: int = FOREVER
