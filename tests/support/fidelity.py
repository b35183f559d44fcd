"""The same scenario in both fidelities."""

from __future__ import annotations

import os

from groupsim.sim import simulate
from groupsim.sim.model import Scenario
from groupsim.sim.tables import TABLES

WATCHES_BOTH = bool(os.environ.get("WATCH_BOTH"))
"""Invariants are held after every event of the elided run; with this also of the other, which takes as long again."""


def differences(scenario: Scenario, seed: int, *, check: bool = True) -> list[str]:
    """Tables that differ between elided and message fidelity; ``check``: under invariants (`WATCHES_BOTH`)."""
    elided = simulate(scenario, seed=seed, check=check)
    message = simulate(scenario, seed=seed, fidelity="message", check=check and WATCHES_BOTH)
    assert elided.warnings == message.warnings
    return [name for name in TABLES if elided.manifest["digests"][name] != message.manifest["digests"][name]]
