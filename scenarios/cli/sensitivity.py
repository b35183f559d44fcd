"""``groupsim sensitivity``: which of the paths that a sweep sampled matters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from groupsim.scenarios.cli.output import print_json, print_table, print_wrapped, say, width
from groupsim.scenarios.cli.settings import listed

if TYPE_CHECKING:
    import pandas as pd

    from groupsim.analysis.sensitivity.effects import Floats, Sensitivity
    from groupsim.scenarios.sweep.file import SweepFile

METRIC: Final = "unavailable_gap_s_max"


def sensitivity(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a sweep of design morris or sobol_indices.")],
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="METRIC", callback=listed, help=f"Columns of the summary; {METRIC} by default."),
    ] = None,
    figure: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the bars into a PNG file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Rank the varied paths by what they do to a metric, and say in a sentence which matters."""
    from groupsim.analysis.data.files import load_manifest
    from groupsim.analysis.data.load import load_summary
    from groupsim.analysis.data.metrics import metric as known
    from groupsim.scenarios.sweep.design import short_names

    metrics = [known(name).name for name in metric or [METRIC]]
    manifest = load_manifest(folder)
    file = _sampled(manifest, folder)
    found = list(_found(file, _points(file, manifest, folder), load_summary(folder), metrics))
    short = short_names(list(file.vary))
    if figure is not None:
        _draw(found, short, figure)
    if as_json:
        print_json([_as_json(one, short) for one in found])
    else:
        _tell(found, short)
    if figure is not None:
        say(f"figure in {figure}")


def _sampled(manifest: Mapping[str, Any], folder: Path) -> SweepFile:
    """The sweep file behind a folder, if its design lends itself to this."""
    from groupsim.analysis.errors import ResultError
    from groupsim.scenarios.sweep.file import sweep_file_of
    from groupsim.scenarios.sweep.points import SENSITIVITY

    file = sweep_file_of(manifest.get("document"))
    if file is None:
        raise ResultError(f"{folder} is not the folder of a sweep")
    if file.design not in SENSITIVITY:
        raise ResultError(
            f"{folder} is a sweep of design {file.design}, which does not tell effects apart: run one of design morris "
            "(trajectories: 10; cheap: ranks them) or sobol_indices (points: 256; expensive: shares of the variance)"
        )
    return file


def _points(file: SweepFile, manifest: Mapping[str, Any], folder: Path) -> dict[str, dict[str, Floats]]:
    """The variants of each bundle in the order of the design, and where each stands in the ranges of what varies.

    Raises
    ------
    ResultError
        The manifest lacks a variant, or one has no value of a path, or none that could be in its range.
    """
    from groupsim.analysis.errors import ResultError
    from groupsim.scenarios.sweep.design import numbered, variant_name

    plan, found = file.plan, {}
    for bundle in file.variants or [""]:
        names = [variant_name(bundle, point) for point in numbered(plan.count())]
        try:
            places = plan.places([manifest["variants"][name]["set"] for name in names])
        except (KeyError, TypeError, ValueError) as error:
            told = f"{folder / 'manifest.json'} does not say where its variants stand in the ranges of what varies"
            raise ResultError(told) from error
        found[bundle] = dict(zip(names, places, strict=True))
    return found


def _found(
    file: SweepFile, points: Mapping[str, Mapping[str, Floats]], summary: pd.DataFrame, metrics: Sequence[str]
) -> Iterator[Sensitivity]:
    """One finding per metric, group and bundle."""
    import numpy as np

    from groupsim.analysis.data.columns import floats
    from groupsim.analysis.data.columns import names as distinct
    from groupsim.analysis.sensitivity.effects import sensitivity

    plan = file.plan
    for bundle, places in points.items():
        for group in distinct(summary["group"]):
            rows = summary[summary["group"] == group]
            for metric in metrics:
                means = rows.assign(value=floats(rows, metric)).groupby("variant")["value"].mean()
                values = means.reindex(list(places)).to_numpy(dtype=float)
                yield sensitivity(
                    plan.kind, plan.paths, np.array([*places.values()]), values, metric=metric, group=group,
                    variant=bundle, levels=plan.levels,
                )  # fmt: skip


def _tell(found: Sequence[Sensitivity], short: Mapping[str, str]) -> None:
    from groupsim.analysis.sensitivity.text import sensitivity_table, sentence, title

    for number, one in enumerate(found):
        print_wrapped(f"\n{title(one)}:" if number else f"{title(one)}:")
        print_table(sensitivity_table(one, short, width()))
        print_wrapped(f"\n{sentence(one, short)}")


def _as_json(one: Sensitivity, short: Mapping[str, str]) -> dict[str, Any]:
    from groupsim.analysis.sensitivity.text import sensitivity_table, sentence

    return {
        "method": one.method, "metric": one.metric, "group": one.group, "variant": one.variant,
        "blocks": one.blocks, "missing": one.missing, "sentence": sentence(one, short),
        "knobs": sensitivity_table(one, short).records(),
    }  # fmt: skip


def _draw(found: Sequence[Sensitivity], short: Mapping[str, str], file: Path) -> None:
    from groupsim.analysis.figures import save
    from groupsim.analysis.figures import sensitivity as bars

    save(bars(found, short), file)
