"""Since which version each rule of a consumer group holds."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from groupsim.sim.config import CoordinatorConfig
from groupsim.sim.protocol.consumer.rules import Rules

NEW = {
    "4.0": set(),
    "4.1": {"refreshes_patterns", "counts_racks"},
    "4.2": {"accepts_rejoin", "keeps_epoch_on_ack", "enforces_subscription"},
    "4.3": {
        "starts_at_one", "has_interval", "accepts_older_epochs", "calls_for_target", "refuses_classic",
        "rebalances_stale_downgrade",
    },
    "4.4": {"resets_when_empty", "bumps_on_vote", "counts_known_instances"},
}  # fmt: skip
"""As their descriptions cite it."""


@pytest.mark.parametrize("version", NEW)
def test_a_version_has_its_own_rules_and_those_before(version: str) -> None:
    held = {name for name, holds in asdict(Rules.of(CoordinatorConfig(version=version))).items() if holds}
    assert held == set().union(*(new for one, new in NEW.items() if one <= version))
