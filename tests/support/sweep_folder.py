"""A sweep's folder as the runner leaves it: summary and failures by variant, and the manifest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd

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
    write_dataset(folder / "summary", summary)
    lost = pd.DataFrame(list(failed), columns=["variant", "seed", "replication"])
    write_dataset(folder / "failures", lost.assign(error="SimError: no", replay="groupsim run"))
    changes = variants if variants is not None else {name: {} for name in summary["variant"].unique()}
    listed = {
        name: {"set": own, "seed": 1, "kept": f"runs/{number:04d}-x"}
        for number, (name, own) in enumerate(changes.items())
    }
    written = {"design": "grid", "variants": {}, "vary": {}, **(document or {})}
    (folder / "manifest.json").write_text(json.dumps({"variants": listed, "document": written}, sort_keys=True))
    return folder


def write_dataset(folder: Path, rows: pd.DataFrame) -> None:
    """Write rows as a Parquet dataset partitioned by variant, one file each."""
    folder.mkdir(parents=True)
    for variant, some in rows.groupby("variant"):
        part = folder / f"variant={quote(str(variant), safe='') or '__HIVE_DEFAULT_PARTITION__'}"
        part.mkdir()
        some.drop(columns="variant").to_parquet(part / "part-0.parquet", index=False)
