"""A stand-in for ``sim.simulate`` whose summary holds what a test says; everything else means nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from groupsim.sim.model import Scenario
from groupsim.sim.output.result import Result
from tests.support import fake_simulation as fake

SUITE = """
seed: 3
replications: 3
scenarios:
  small:
    scenario: small.yaml
    metrics: {requests: exact, lag_s_max: {absolute: 0.5}, unavailable_gap_s_max: {relative: 0.1}, duplicates: overlap}
    goals: {unavailable_gap_s_max: "< 60"}
"""
"""One scenario, small.yaml beside it, and each kind of tolerance."""


class Given:
    """Runs that give these numbers in every group, zero in all other metrics."""

    def __init__(self, **numbers: Any) -> None:
        self.numbers: dict[str, Any] = numbers
        self.versions: dict[str, str] = {"groupsim": "1.0", "numpy": "2"}
        self.failing: dict[int, BaseException] = {}
        self.runs = 0

    def __call__(self, scenario: Scenario, *, seed: int, replication: int, variant: str = "") -> Result:
        """The result of one run."""
        self.runs += 1
        if replication in self.failing:
            raise self.failing[replication]
        result = fake.simulate(scenario, seed=seed, replication=replication, variant=variant)
        rows = [self._row(row, replication) for row in result.tables.rows("summary")]
        manifest = {**result.manifest, "versions": self.versions}
        return replace(result, tables=_Rows(rows), warnings=[], manifest=manifest)

    def _row(self, row: dict[str, Any], replication: int) -> dict[str, Any]:
        names = {"scenario", "variant", "group", "seed", "replication", "horizon_s", "end_state"}
        given = {name: one(replication) if callable(one) else one for name, one in self.numbers.items()}
        return {name: value if name in names else given.get(name, 0) for name, value in row.items()}


class _Rows:
    """The summary and no rebalances."""

    def __init__(self, summary: list[dict[str, Any]]) -> None:
        self._summary = summary

    def rows(self, name: str) -> list[dict[str, Any]]:
        """A table's rows as plain data."""
        return self._summary if name == "summary" else []


def start() -> Given:
    """Three runs that differ from one another, where `SUITE` looks."""
    return Given(
        requests=1000, lag_s_max=2.0, unavailable_gap_s_max=lambda r: [40.0, 42.0, 44.0][r],
        duplicates=lambda r: [10, 20, 30][r], recovery_s=lambda r: 30.0 + r,
    )  # fmt: skip


def flat(text: str) -> str:
    """A text in one line."""
    return " ".join(text.split())
