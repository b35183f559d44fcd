"""The same scenario in both fidelities."""

from __future__ import annotations

from groupsim.sim import simulate
from groupsim.sim.model import Scenario
from groupsim.sim.tables import TABLES


def differences(scenario: Scenario, seed: int) -> list[str]:
    """Tables that differ between elided and message fidelity; the invariants are checked after every event of both."""
    elided = simulate(scenario, seed=seed, check=True)
    message = simulate(scenario, seed=seed, fidelity="message", check=True)
    assert elided.warnings == message.warnings
    return [name for name in TABLES if elided.manifest["digests"][name] != message.manifest["digests"][name]]
