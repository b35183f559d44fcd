"""The figures of a comparison: intervals, responses to what varies, and timelines of the runs that were kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pandas as pd

    from groupsim.analysis.data.design import Design

ROWS_MAX: Final = 80
"""More rows than this do not fit a figure."""
LANES_MAX: Final = 8
"""So many runs are drawn below one another."""
TIMELINES_MAX: Final = 12
"""So many variants have their timelines drawn."""


def draw(
    summary: pd.DataFrame, design: Design | None, metrics: Sequence[str], folders: Sequence[Path], into: Path
) -> Iterator[str]:
    """Draw what there is to draw; yields sentences about what is not drawn."""
    from groupsim.analysis.figures import compare, lag, lanes, save, timeline

    rows = len(summary.groupby(["variant", "group"]))
    if rows <= ROWS_MAX:
        save(compare(summary, metrics, design), into / "compare.png")
    else:
        yield f"no figure of intervals: {rows:,} rows are more than it has room for ({ROWS_MAX})"
    if design is not None:
        _draw_responses(summary, design, metrics, into)
    kept = _kept(summary, folders)
    if len(kept) > 1:
        save(lanes({_name_of(folder): folder for folder in kept[:LANES_MAX]}), into / "lanes.png")
    for folder in kept[:TIMELINES_MAX]:
        save(timeline(folder), into / f"{folder.name}-timeline.png")
        save(lag(folder), into / f"{folder.name}-lag.png")
    if len(kept) > TIMELINES_MAX:
        yield f"timelines of {TIMELINES_MAX} variants of {len(kept):,}; --variant NAME chooses others"


def _draw_responses(summary: pd.DataFrame, design: Design, metrics: Sequence[str], into: Path) -> None:
    """Curves where anything varies, maps where two things do."""
    from groupsim.analysis.data.columns import names
    from groupsim.analysis.data.parameters import parameters
    from groupsim.analysis.figures import heat_map, is_two_dimensional, response_curves, save

    if parameters(design, names(summary["variant"])):
        save(response_curves(summary, design, metrics), into / "curves.png")
    if is_two_dimensional(summary, design):
        save(heat_map(summary, design, metrics), into / "heat-map.png")


def _kept(summary: pd.DataFrame, folders: Sequence[Path]) -> list[Path]:
    """Folders with the tables of one run: those given, or those that a sweep has kept of the variants in question."""
    from groupsim.analysis.data.columns import names
    from groupsim.analysis.data.load import load_kept

    found: list[Path] = []
    for folder in folders:
        kept = load_kept(folder)
        of_sweep = [kept[one] for one in names(summary["variant"]) if one in kept]
        found += of_sweep if len(folders) == 1 and of_sweep else _inside(folder)
    return [one for one in found if _is_of_one_run(one)]


def _is_of_one_run(folder: Path) -> bool:
    """Whether a folder has the tables of a run, or should have; of several runs there is a summary alone."""
    from groupsim.analysis.data.files import MANIFEST, listed, load_manifest

    name = "ownership"
    return (folder / f"{name}.parquet").exists() or (
        (folder / MANIFEST).exists() and name in listed(folder, load_manifest(folder))
    )


def _name_of(folder: Path) -> str:
    """The variant of a run that a sweep has kept, or what its folder is called."""
    from groupsim.analysis.data.files import load_manifest

    return str(load_manifest(folder).get("variant") or folder.name)


def _inside(folder: Path) -> list[Path]:
    return sorted((folder / "runs").iterdir()) if (folder / "runs").is_dir() else [folder]
