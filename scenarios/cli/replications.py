"""What several runs of one scenario, or one run, come to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from scenarios.cli.output import records
from scenarios.goals import goals_of
from sim.model import Scenario
from sim.tables import SUMMARY, TEXT

if TYPE_CHECKING:
    from sim import Result

_NAMES = ("scenario", "variant", "group", "seed")


@dataclass
class Replications:
    """Runs of one scenario with one seed, one replication each."""

    scenario: Scenario
    seed: int
    summaries: list[pd.DataFrame] = field(default_factory=list)
    rebalances: list[pd.DataFrame] = field(default_factory=list)
    warnings: dict[str, None] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    def add(self, result: Result) -> None:
        """Take what matters of a run."""
        replication = int(result.summary["replication"].iloc[0])
        self.summaries.append(result.summary)
        self.rebalances.append(result.tables["rebalances"].assign(replication=replication))
        self.warnings |= dict.fromkeys(result.warnings)
        self.versions = result.manifest["versions"]

    @property
    def summary(self) -> pd.DataFrame:
        """One row per run and group."""
        return pd.concat(self.summaries, ignore_index=True)

    def files(self) -> dict[str, bytes]:
        """The summary of all runs and their manifest, by file name."""
        from scenarios.results import summary_files, to_arrow

        own = {"scenario": self.scenario.name, "document": self.scenario.document, "seed": self.seed}
        content = {**own, "replications": len(self.summaries), "versions": self.versions}
        return summary_files(to_arrow("summary", self.summary), content)

    def as_json(self) -> dict[str, Any]:
        """Scenario, seed, summary and rebalances as plain data; means with intervals where there are several runs."""
        several = len(self.summaries) > 1
        rebalances = pd.concat(self.rebalances, ignore_index=True)
        return {
            "scenario": self.scenario.name,
            "seed": self.seed,
            "summary": estimates(self.summary) if several else records(self.summary),
            "rebalances": records(rebalances if several else rebalances.drop(columns="replication")),
        }

    def missed_goals(self) -> list[str]:
        """The goals of the scenario that a group missed, with the values that missed them."""
        return list(self._missed_goals())

    def _missed_goals(self) -> Iterator[str]:
        for goal in goals_of(self.scenario.document):
            for row in records(self.summary):
                value = row[goal.column]
                if not goal.met(value):
                    told = "null" if value is None else f"{value:g}"
                    yield f"{goal} of group {row['group']}: {told} in replication {row['replication']}"


def estimates(summary: pd.DataFrame) -> list[dict[str, Any]]:
    """For each variant and group: mean, half-width of the 95 % interval and n of every number."""
    from analysis.statistics import estimate

    numbers = [column for column, dtype in SUMMARY.items() if dtype != TEXT and column not in (*_NAMES, "replication")]
    found = []
    for _, rows in summary.groupby(["variant", "group"], sort=False):
        told: dict[str, Any] = {name: records(rows[:1])[0][name] for name in _NAMES}
        for column in numbers:
            one = estimate(rows[column].to_numpy(np.float64, na_value=np.nan))
            told[column] = {"mean": one.mean if one.n else None, "half_width": one.half_width, "n": one.n}
        found.append(told)
    return found
