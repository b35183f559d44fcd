"""groupsim's model: Apache Kafka consumer groups in virtual time.

>>> from groupsim.scenarios import load
>>> from groupsim.sim import simulate
>>> simulate(load("kill-detection"), seed=1).summary  # doctest: +SKIP

`simulate` and `Result` are imported when they are first asked for: reading a scenario file needs neither.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from groupsim.sim.errors import (
    CannotBeginAged,
    ConfigError,
    EventBudgetExceeded,
    InvariantViolation,
    MemoryBudgetExceeded,
    ProtocolMisuse,
    RecordBudgetExceeded,
    ScenarioError,
    SimError,
)

if TYPE_CHECKING:
    from groupsim.sim.client.polling.overload import overload
    from groupsim.sim.gauge import Gauge
    from groupsim.sim.output.result import Result
    from groupsim.sim.simulation import simulate

_HOMES = {
    "Gauge": "groupsim.sim.gauge",
    "Result": "groupsim.sim.output.result",
    "overload": "groupsim.sim.client.polling.overload",
    "simulate": "groupsim.sim.simulation",
}

__all__ = [
    "CannotBeginAged",
    "ConfigError",
    "EventBudgetExceeded",
    "Gauge",
    "InvariantViolation",
    "MemoryBudgetExceeded",
    "ProtocolMisuse",
    "RecordBudgetExceeded",
    "Result",
    "ScenarioError",
    "SimError",
    "overload",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'sim' has no attribute {name!r}")
