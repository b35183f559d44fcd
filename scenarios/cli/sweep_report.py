"""What a sweep has come to: its manifest, and what is printed. Read variant by variant, however many runs there are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groupsim.scenarios.cli.output import counted, print_json, print_table, say, warn, width
from groupsim.scenarios.cli.replications import NUMBERS, plain_estimates

if TYPE_CHECKING:
    import pyarrow as pa

    from groupsim.analysis.stats.statistics import Estimate
    from groupsim.scenarios.sweep.chunk import Done
    from groupsim.scenarios.sweep.folder import SweepFolder
    from groupsim.scenarios.sweep.loading import Sweep, Variant

_FAILURES_SHOWN = 5
_WARNINGS_SHOWN = 2
_WARNED_VARIANTS = 8
_ENTRIES_SHOWN = 40


@dataclass
class Account:
    """What was read of a sweep's runs."""

    variants: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What the manifest says of each."""
    entries: dict[tuple[str, str], dict[str, Estimate]] = field(default_factory=dict)
    """Of each variant and group, the estimate of each number."""
    seeds: dict[str, int] = field(default_factory=dict)
    failures: list[dict[str, Any]] = field(default_factory=list)
    """The first of them."""
    runs: int = 0
    failed: int = 0


def account(sweep: Sweep, folder: SweepFolder) -> Account:
    """Read all runs, one variant at a time."""
    found = Account()
    for number, one in enumerate(sweep.variants):
        summary, failures = folder.summary(one.name), folder.failures(one.name)
        found.variants[one.name] = _entry(sweep, number, summary, failures)
        found.entries |= {(one.name, group): cells for group, cells in _estimates(summary).items()}
        found.seeds[one.name] = one.seed
        found.failures += [{"variant": one.name, **row} for row in failures.slice(0, _FAILURES_SHOWN).to_pylist()]
        found.runs += found.variants[one.name]["runs"]
        found.failed += failures.num_rows
    return found


def _entry(sweep: Sweep, number: int, summary: pa.Table, failures: pa.Table) -> dict[str, Any]:
    from groupsim.scenarios.files.result_folder import digest_of
    from groupsim.scenarios.sweep.runner import kept_folder

    one: Variant = sweep.variants[number]
    return {
        "number": number, "set": one.changes, "seed": one.seed, "kept": kept_folder(sweep, number),
        "runs": len(set(summary["replication"].to_pylist())) + failures.num_rows, "failed": failures.num_rows,
        "digests": {"summary": digest_of(summary), "failures": digest_of(failures)},
    }  # fmt: skip


def _estimates(summary: pa.Table) -> dict[str, dict[str, Estimate]]:
    from groupsim.analysis.stats.statistics import estimate

    groups = summary["group"].to_numpy()
    values = {name: summary[name].cast("float64").to_numpy() for name in NUMBERS}
    return {
        group: {name: estimate(column[groups == group]) for name, column in values.items()}
        for group in dict.fromkeys(groups.tolist())
    }


def finish(sweep: Sweep, folder: SweepFolder, found: Account, own: Mapping[str, Any]) -> None:
    """Write the manifest, which makes the sweep complete.

    Parameters
    ----------
    own : mapping
        What is known of this process alone: where it ran, how long.
    """
    from groupsim.sim.versions import versions

    content = {
        "sweep": sweep.name, "scenario": sweep.source, "document": sweep.document, "variants": found.variants,
        "runs": found.runs, "failed": found.failed, "versions": versions(), "digests": _digests(found), **own,
    }  # fmt: skip
    folder.finish(content)


def _digests(found: Account) -> dict[str, str]:
    """One digest a table, made of those of the variants."""
    told = {
        name: "".join(f"{variant}\x1e{one['digests'][name]}\x1f" for variant, one in found.variants.items())
        for name in ("summary", "failures")
    }
    return {name: sha256(text.encode()).hexdigest() for name, text in told.items()}


def effort(done: Sequence[Done], executor: str, wall_s: float) -> dict[str, Any]:
    """Where and how long this process carried out runs: in all, and added up over the cores that did."""
    busy_s = sum(one.end_s - one.begin_s for one in done)
    return {
        "executor": executor, "wall_s": round(wall_s, 3), "busy_s": round(busy_s, 3),
        "runs_here": sum(one.runs for one in done),
    }  # fmt: skip


def tell(sweep: Sweep, found: Account, out: Path, *, as_json: bool) -> None:
    """Print the means, failures, and what comes next."""
    if as_json:
        told = {"sweep": sweep.name, "scenario": sweep.source, "runs": found.runs, "failed": found.failed}
        print_json({**told, "summary": _means(sweep, found), "out": str(out)})
    elif found.entries:
        _print_entries(found)
    _warn_of_kept({name: out / one["kept"] for name, one in found.variants.items() if one["kept"]})
    for row in found.failures[:_FAILURES_SHOWN]:
        say(f"failed: {row['variant']}, replication {row['replication']}: {row['error']}\n  replay: {row['replay']}")
    if found.failed:
        say(f"{counted(found.failed, 'run')} of {found.runs:,} failed: see {out / 'failures'}")
    say(f"results in {out}; next: groupsim compare {out}")


def _means(sweep: Sweep, found: Account) -> list[dict[str, Any]]:
    scenarios = {one.name: one.scenario.name for one in sweep.variants}
    return [
        {"scenario": scenarios[variant], "variant": variant, "group": group, "seed": found.seeds[variant]}
        | plain_estimates(cells.items())
        for (variant, group), cells in found.entries.items()
    ]


def _print_entries(found: Account) -> None:
    from groupsim.analysis.text.summary import entries_table, metrics_shown

    shown = dict(list(found.entries.items())[:_ENTRIES_SHOWN])
    metrics = metrics_shown()
    print_table(
        entries_table({key: [cells[name] for name in metrics] for key, cells in shown.items()}, metrics, width())
    )
    if len(found.entries) > len(shown):
        say(f"the first {len(shown)} of {len(found.entries):,}; --json tells them all")


def _warn_of_kept(folders: Mapping[str, Path]) -> None:
    """Tell what runs that are kept have warned of: assignors that failed, targets that were not there."""
    for variant, folder in list(folders.items())[:_WARNED_VARIANTS]:
        file = folder / "manifest.json"
        told = json.loads(file.read_text())["warnings"] if file.exists() else []
        for sentence in told[:_WARNINGS_SHOWN]:
            warn(f"{variant}, replication 0: {sentence}")
        if len(told) > _WARNINGS_SHOWN:
            warn(f"{variant}, replication 0: {len(told) - _WARNINGS_SHOWN} more, in its manifest.json")
