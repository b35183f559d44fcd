"""groupsim's model: Apache Kafka consumer groups in virtual time.

>>> from scenarios import load
>>> from sim import simulate
>>> simulate(load("kill-detection"), seed=1).summary  # doctest: +SKIP
"""

from __future__ import annotations

from sim.errors import ConfigError, EventBudgetExceeded, InvariantViolation, ProtocolMisuse, ScenarioError, SimError
from sim.result import Result
from sim.simulation import simulate

__all__ = [
    "ConfigError",
    "EventBudgetExceeded",
    "InvariantViolation",
    "ProtocolMisuse",
    "Result",
    "ScenarioError",
    "SimError",
    "simulate",
]
