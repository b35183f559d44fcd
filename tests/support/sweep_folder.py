"""A sweep's folder as the runner leaves it, with runs that are made up: summary, failures, manifest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from groupsim.scenarios.sweep.chunk import part_of

Changes = Mapping[str, Any]


def write_sweep(
    folder: Path,
    summary: pd.DataFrame,
    variants: Mapping[str, Changes] | None = None,
    failed: Iterable[tuple[str, int, int]] = (),
    document: Changes | None = None,
) -> Path:
    """Write a sweep of these runs.

    Parameters
    ----------
    variants : mapping, optional
        What each sets, in the order of the sweep; by default those of ``summary``, which set nothing.
    failed : iterable of (variant, seed, replication)
    document : mapping, optional
        Of the sweep file: what differs from a grid in which nothing varies.
    """
    columns = ["variant", "seed", "replication"]
    lost = list(failed)
    (folder / "summary").mkdir(parents=True)
    write_dataset(folder, "summary", summary)
    told = {"error": "SimError: no", "replay": "groupsim run"}
    write_dataset(folder, "failures", pd.DataFrame(lost, columns=columns).assign(**told))
    changes = variants if variants is not None else {name: {} for name in summary["variant"].unique()}
    runs = {*zip(*(summary[column].tolist() for column in columns), strict=True), *lost}
    listed = {
        name: {"number": number, "set": own, "seed": min((seed for one, seed, _ in runs if one == name), default=0),
               "runs": sum(one == name for one, _, _ in runs), "kept": f"runs/{number}"}
        for number, (name, own) in enumerate(changes.items())
    }  # fmt: skip
    written = {"design": "grid", "variants": {}, "vary": {}, **(document or {})}
    (folder / "manifest.json").write_text(json.dumps({"variants": listed, "document": written}, sort_keys=True))
    return folder


def write_dataset(folder: Path, table: str, rows: pd.DataFrame) -> None:
    """Write rows as the runner does, two files a variant."""
    for variant, some in rows.groupby("variant"):
        own = some.drop(columns="variant")
        for first, part in ((0, own.iloc[::2]), (500, own.iloc[1::2])):
            file = folder / part_of(table, str(variant), first)
            file.parent.mkdir(parents=True, exist_ok=True)
            part.to_parquet(file, index=False)
