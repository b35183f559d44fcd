"""The same scenario in both fidelities."""

from __future__ import annotations

from groupsim.sim import simulate
from groupsim.sim.model import Scenario
from groupsim.sim.tables import TABLES


def differences(scenario: Scenario, seed: int, *, check: bool = True) -> list[str]:
    """Tables that differ between elided and message fidelity; ``check``: invariants after every event of both."""
    elided = simulate(scenario, seed=seed, check=check)
    message = simulate(scenario, seed=seed, fidelity="message", check=check)
    assert elided.warnings == message.warnings
    return [name for name in TABLES if elided.manifest["digests"][name] != message.manifest["digests"][name]]
