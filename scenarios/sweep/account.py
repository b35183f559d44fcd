"""What a sweep has come to, read variant by variant, however many runs there are, and the manifest that says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from groupsim.scenarios.sweep.runner import kept_folder
from groupsim.sim.output.arrow_digest import digest_of
from groupsim.sim.versions import versions

if TYPE_CHECKING:
    import pyarrow as pa

    from groupsim.scenarios.sweep.chunk import Done
    from groupsim.scenarios.sweep.folder import SweepFolder
    from groupsim.scenarios.sweep.loading import Sweep, Variant

FAILURES_LISTED: Final = 5
"""Of each variant."""


@dataclass
class Account:
    """What was read of a sweep's runs.

    Parameters
    ----------
    variants : dict of str to dict
        What the manifest says of each variant.
    failures : list of dict
        The first failures of each variant: its name, and a row of the table ``failures``.
    runs, failed : int
        All runs, and those of them that failed.
    """

    variants: dict[str, dict[str, Any]] = field(default_factory=dict)
    failures: list[dict[str, Any]] = field(default_factory=list)
    runs: int = 0
    failed: int = 0


def account(
    sweep: Sweep, folder: SweepFolder, wanted: Mapping[str, int], told: Callable[[str, pa.Table], None]
) -> Account:
    """Read all runs that were wanted of each variant, one variant at a time.

    Parameters
    ----------
    wanted : mapping of str to int
        Runs of each variant; what else is in the folder does not count.
    told : callable
        Gets a variant's name and its rows of ``summary``.
    """
    found = Account()
    for number, one in enumerate(sweep.variants):
        runs = wanted[one.name]
        summary, failures = folder.summary(one.name, runs), folder.failures(one.name, runs)
        found.variants[one.name] = _entry(sweep, number, summary, failures)
        found.failures += [{"variant": one.name, **row} for row in failures.slice(0, FAILURES_LISTED).to_pylist()]
        found.runs += found.variants[one.name]["runs"]
        found.failed += failures.num_rows
        told(one.name, summary)
    return found


def _entry(sweep: Sweep, number: int, summary: pa.Table, failures: pa.Table) -> dict[str, Any]:
    one: Variant = sweep.variants[number]
    return {
        "number": number, "set": one.changes, "seed": one.seed, "kept": kept_folder(sweep, number),
        "runs": len(set(summary["replication"].to_pylist())) + failures.num_rows, "failed": failures.num_rows,
        "digests": {"summary": digest_of(summary), "failures": digest_of(failures)},
    }  # fmt: skip


def finish(sweep: Sweep, folder: SweepFolder, found: Account, own: Mapping[str, Any]) -> None:
    """Write the manifest, which makes the sweep complete.

    Parameters
    ----------
    own : mapping
        What is known of this process alone: where it ran, how long.
    """
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
