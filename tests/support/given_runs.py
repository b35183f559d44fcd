"""A stand-in for ``sim.simulate`` whose summary holds what a test says; everything else means nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sim.model import Scenario
from sim.result import Result
from tests.support import fake_simulation as fake

Numbers = Mapping[str, Any]
"""Value by column, or by column a function of the replication."""


class Given:
    """Runs that give these numbers in every group, zero in all other metrics."""

    def __init__(self, **numbers: Any) -> None:
        self.numbers: dict[str, Any] = numbers
        self.versions: dict[str, str] = {"groupsim": "1.0", "numpy": "2"}
        self.failing: dict[int, Exception] = {}

    def __call__(self, scenario: Scenario, *, seed: int, replication: int, variant: str = "") -> Result:
        """The result of one run."""
        if replication in self.failing:
            raise self.failing[replication]
        result = fake.simulate(scenario, seed=seed, replication=replication, variant=variant)
        rows = [self._row(row, replication) for row in result.tables.rows("summary")]
        tables = _Rows(rows)
        return replace(result, tables=tables, warnings=[], manifest={**result.manifest, "versions": self.versions})  # type: ignore[arg-type]

    def _row(self, row: dict[str, Any], replication: int) -> dict[str, Any]:
        names = {"scenario", "variant", "group", "seed", "replication", "horizon_s"}
        given = {
            name: value(replication) if isinstance(value, Callable) else value for name, value in self.numbers.items()
        }  # type: ignore[arg-type]
        return {name: value if name in names else given.get(name, 0) for name, value in row.items()}


class _Rows:
    """The summary and no rebalances."""

    def __init__(self, summary: list[dict[str, Any]]) -> None:
        self._summary = summary

    def rows(self, name: str) -> list[dict[str, Any]]:
        """A table's rows as plain data."""
        return self._summary if name == "summary" else []
