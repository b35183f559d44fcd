"""The figures of ``groupsim run --figures``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from groupsim.sim import Result

RUNS_DRAWN: Final = 12
"""Of several runs so many have figures of their own."""


def draw_run(result: Result, into: Path, prefix: str) -> None:
    """Draw who served what when, and the lag."""
    from groupsim.analysis.figures import lag, save, timeline

    save(timeline(result), into / f"{prefix}timeline.png")
    save(lag(result), into / f"{prefix}lag.png")


def draw_several(summary: Sequence[Mapping[str, Any]], into: Path) -> None:
    """Draw the means of several runs with their intervals."""
    from groupsim.analysis.data.metrics import HEADLINE
    from groupsim.analysis.figures import compare, save
    from groupsim.scenarios.files.result_folder import table_of

    named = [{**row, "variant": row["variant"] or row["scenario"]} for row in summary]
    save(compare(table_of("summary", named).to_pandas(), HEADLINE), into / "means.png")
