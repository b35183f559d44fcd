"""What several runs of one scenario, or one run, come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from groupsim.scenarios.schema.goals import goals_of
from groupsim.sim.model import Group, Scenario, topics_read
from groupsim.sim.tables import OVER_GROUPS, SUMMARY, TEXT

if TYPE_CHECKING:
    from groupsim.analysis.stats.statistics import Estimate
    from groupsim.analysis.text.outliers import Outlier
    from groupsim.sim import Result
    from groupsim.sim.output.result import Tables

_NAMES = ("scenario", "variant", "group", "seed")
NUMBERS = tuple(name for name, dtype in SUMMARY.items() if dtype != TEXT and name not in (*_NAMES, "replication"))
"""Columns of which means are told."""
_FAILED = "failed: "
"""What ``ended_by`` of a member begins with that has died of an error of poll()."""
_OVER_GROUPS = tuple(name for name, dtype in OVER_GROUPS.items() if dtype != TEXT)


@dataclass
class Replications:
    """Runs of one scenario with one seed, one replication each; rows are plain data, None for null."""

    scenario: Scenario
    seed: int
    summary: list[dict[str, Any]] = field(default_factory=list)
    """One row per run and group."""
    over_groups: list[dict[str, Any]] = field(default_factory=list)
    """One row per run and number of ``summary``."""
    rebalances: list[dict[str, Any]] = field(default_factory=list)
    zookeeper: list[dict[str, Any]] = field(default_factory=list)
    """One row per run and group that ZooKeeper holds together."""
    producers: list[dict[str, Any]] = field(default_factory=list)
    """One row per run, process of ``producers`` and partition."""
    output: list[dict[str, Any]] = field(default_factory=list)
    """One row per run and partition that a group has produced to."""
    delivery: list[dict[str, Any]] = field(default_factory=list)
    """One row per run, group, and cause for which records are read twice or never."""
    died_of: dict[str, list[str]] = field(default_factory=dict)
    """Group -> errors of poll() that its members have died of."""
    warnings: dict[str, None] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    runs: int = 0
    _latest: Tables | None = None

    def add(self, result: Result) -> None:
        """Take what matters of a run."""
        summary = result.tables.rows("summary")
        own = {"replication": summary[0]["replication"]}
        self.summary += summary
        self.over_groups += result.tables.rows("over_groups")
        self.rebalances += [row | own for row in result.tables.rows("rebalances")]
        self.zookeeper += [row | own for row in result.tables.rows("zookeeper")]
        self.producers += [row | own for row in result.tables.rows("producers")]
        self.output += [row | own for row in result.tables.rows("output")]
        self.delivery += [row | own for row in result.tables.rows("delivery")]
        if failed := {row["group"] for row in summary if row["failed"]}:
            self._note_errors(failed, result.tables)
        self.warnings |= dict.fromkeys(result.warnings)
        self.versions = result.manifest["versions"]
        self.runs += 1
        self._latest = result.tables

    def _note_errors(self, groups: Collection[str], tables: Tables) -> None:
        for row in tables.rows("members"):
            if row["group"] in groups and row["ended_by"].startswith(_FAILED):
                known, error = self.died_of.setdefault(row["group"], []), row["ended_by"].removeprefix(_FAILED)
                known += [error] if error not in known else []

    def outliers(self) -> list[Outlier]:
        """What stands out in the latest run."""
        from groupsim.analysis.text.outliers import outliers

        latest = self._latest
        return outliers(latest.columns("partitions"), latest.columns("members")) if latest is not None else []

    def blocked(self) -> list[str]:
        """What to say of groups that read what other groups commit."""
        from groupsim.analysis.text.output import blocked_lines

        readers = {
            topic: [one.name for one in self.scenario.groups if self._reads_committed(one, topic)]
            for topic in {row["topic"] for row in self.output}
        }
        return blocked_lines(self.output, readers, self.runs)

    def _reads_committed(self, group: Group, topic: str) -> bool:
        return group.client.isolation_level == "read_committed" and bool(topics_read(self.scenario, group, [topic]))

    def held_up(self) -> list[str]:
        """What to say of partitions that brokers kept from being read in the latest run."""
        from groupsim.analysis.text.held_up import held_up_lines

        return held_up_lines(self._latest.columns("unavailability")) if self._latest is not None else []

    def placement(self) -> str:
        """Over which coordinators the groups of the latest run are spread; empty before there is one."""
        from groupsim.analysis.text.groups import placement_line

        latest = self._latest
        return placement_line(latest.rows("placement"), latest.rows("coordinators")) if latest is not None else ""

    def files(self) -> dict[str, bytes]:
        """The summary of all runs and their manifest, by file name."""
        from groupsim.scenarios.files.result_folder import summary_files, table_of

        own = {"scenario": self.scenario.name, "document": self.scenario.document, "seed": self.seed}
        content = {**own, "replications": self.runs, "versions": self.versions}
        return summary_files(table_of("summary", self.summary), content)

    def as_json(self) -> dict[str, Any]:
        """Scenario, seed, summary and rebalances as plain data; means with intervals where there are several runs."""
        several = self.runs > 1
        told = {
            "rebalances": self.rebalances, "zookeeper": self.zookeeper, "producers": self.producers,
            "output": self.output, "delivery": self.delivery,
        }  # fmt: skip
        return {
            "scenario": self.scenario.name,
            "seed": self.seed,
            "summary": means(self.summary) if several else self.summary,
            "over_groups": means_over_groups(self.over_groups) if several else self.over_groups,
            **{name: rows if several else list(map(_without_replication, rows)) for name, rows in told.items()},
            "unserved": self.unserved(),
            **({} if several else {"placement": self._placed(), "stands_out": list(map(asdict, self.outliers()))}),
        }

    def _placed(self) -> list[dict[str, Any]]:
        return self._latest.rows("placement") if self._latest is not None else []

    def met_goals(self) -> Iterator[str]:
        """The goals that a group met in every run, with the value that came nearest to missing them."""
        from groupsim.analysis.data.metrics import unit_of

        for goal in goals_of(self.scenario.document):
            for group in dict.fromkeys(row["group"] for row in self.summary):
                rows = [row for row in self.summary if row["group"] == group]
                if all(map(goal.met_by, rows)):
                    nearest = min(rows, key=lambda row: abs(row[goal.column] - goal.bound))
                    runs = f" in all {len(rows)} runs, at worst" if len(rows) > 1 else ""
                    yield f"{goal} of group {group}: {goal.told(nearest, unit_of(goal.column))}{runs}"

    def missed_goals(self) -> list[str]:
        """The goals of the scenario that a group missed, with the values that missed them."""
        return list(self._missed_goals())

    def _missed_goals(self) -> Iterator[str]:
        from groupsim.analysis.data.metrics import unit_of

        bounds = goals_of(self.scenario.document)
        for goal in bounds:
            for row in self.summary:
                if not goal.met_by(row):
                    which = f" in replication {row['replication']}" if self.runs > 1 else ""
                    yield f"{goal} of group {row['group']}: {goal.told(row, unit_of(goal.column))}{which}"
        if not bounds and self.scenario.document.get("goals"):
            yield from self.unserved()

    def unserved(self) -> list[str]:
        """What to say of groups that never read anything."""
        from groupsim.analysis.text.unserved import unserved

        return unserved(self.summary, self.died_of)


def _without_replication(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "replication"}


def means(summary: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each variant and group: mean, half-width of the 95 % interval and n of every number; end states, counted."""
    from groupsim.analysis.stats.runs import by_entry, estimates_of

    found = []
    for rows in by_entry(summary).values():
        told: dict[str, Any] = {name: rows[0][name] for name in _NAMES}
        told["end_state"] = Counter(row["end_state"] for row in rows)
        found.append(told | plain_estimates(zip(NUMBERS, estimates_of(rows, NUMBERS), strict=True)))
    return found


def means_over_groups(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each metric the means over runs of what holds over all groups, and how often which group was the worst."""
    from groupsim.analysis.stats.runs import estimates_of

    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["metric"], []).append(row)
    return [
        {
            "metric": metric,
            **plain_estimates(zip(_OVER_GROUPS, estimates_of(some, _OVER_GROUPS), strict=True)),
            "max_group": Counter(row["max_group"] for row in some),
        }
        for metric, some in found.items()
    ]


def plain_estimates(estimates: Iterable[tuple[str, Estimate]]) -> dict[str, dict[str, Any]]:
    """Estimates by column, as plain data."""
    return {
        name: {"mean": one.mean if one.n else None, "half_width": one.half_width, "n": one.n} for name, one in estimates
    }
