"""``groupsim compare``: variants of a sweep, or several results, against the first of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scenarios.cli.output import print_json, print_pairs, print_table, say, width

if TYPE_CHECKING:
    import pandas as pd

    from analysis.compare import Comparison


def compare(
    folders: Annotated[list[Path], typer.Argument(metavar="A B ...", help="Folder of a sweep, or folders of results.")],
    figures: Annotated[Path | None, typer.Option(metavar="DIR", help="Draw figures into a new folder.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Compare variants with the first one, run by run: differences with 95 % intervals, and what they show."""
    from analysis.compare import compare_variants
    from analysis.load import load_summaries
    from scenarios.results import complete_or_absent

    summary = load_summaries(folders)
    comparisons = compare_variants(summary)
    if figures is not None:
        with complete_or_absent(figures) as folder:
            _draw(summary, folders, folder)
    _tell(comparisons, as_json=as_json)
    if figures is not None:
        say(f"figures in {figures}")


def _tell(comparisons: Sequence[Comparison], *, as_json: bool) -> None:
    from analysis.comparison_text import comparison_table, findings

    table = comparison_table(comparisons, width=width())
    if as_json:
        print_json(table.records())
        return
    print_table(table)
    for title, conclusions in findings(comparisons).items():
        print(f"\n{title}:")
        print_pairs(conclusions)


def _draw(summary: pd.DataFrame, folders: Sequence[Path], into: Path) -> None:
    """The comparison, and for every run whose tables were kept its timeline and its lag."""
    from analysis.figures import compare, lag, save, timeline

    save(compare(summary), into / "compare.png")
    for folder in _kept(folders):
        save(timeline(folder), into / f"{folder.name}-timeline.png")
        save(lag(folder), into / f"{folder.name}-lag.png")


def _kept(folders: Sequence[Path]) -> Iterator[Path]:
    """Folders with the tables of one run: those given, or those inside the sweeps given."""
    for folder in folders:
        inside = sorted((folder / "runs").iterdir()) if (folder / "runs").is_dir() else [folder]
        yield from (one for one in inside if (one / "ownership.parquet").exists())
