"""``groupsim compare``: variants of a sweep, or several results, run by run where they saw the same faults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from groupsim.scenarios.cli.output import (
    counted,
    print_json,
    print_pairs,
    print_table,
    print_wrapped,
    say,
    say_wrapped,
    warn,
    width,
)
from groupsim.scenarios.cli.settings import listed

if TYPE_CHECKING:
    import pandas as pd

    from groupsim.analysis.compare.comparison import Comparison
    from groupsim.analysis.compare.pairing import Absent
    from groupsim.analysis.compare.text import Section
    from groupsim.analysis.data.design import Design

GROUPS_MAX: Final = 6
"""Of more groups than this those are told and drawn that differ most."""
ROWS_MAX: Final = 48
"""More comparisons than this are told as an overview; CSV and JSON hold each."""


def compare(
    folders: Annotated[list[Path], typer.Argument(metavar="A B ...", help="Folder of a sweep, or folders of results.")],
    variant: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only these variants (or bundles); all by default."),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the others are compared with; the first by default.")
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", callback=listed, help="Only these groups; of many the six that differ most."),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", callback=listed, help="Only these columns of the summary; eight by default."),
    ] = None,
    figures: Annotated[Path | None, typer.Option(metavar="DIR", help="Draw figures into a new folder.")] = None,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV: a line per comparison, in base units.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Compare variants with the first one: differences with 95 % intervals.

    Runs with the same seed and replication saw the same faults, and are
    compared pair by pair. Variants without a common run are independent
    samples. Bundles that a sweep crosses with values are compared at equal
    values. More than 48 comparisons become an overview.
    """
    from groupsim.analysis.compare.comparison import compare_variants
    from groupsim.analysis.data.metrics import HEADLINE
    from groupsim.analysis.data.metrics import metric as known
    from groupsim.sim.errors import ConfigError

    if as_markdown + as_csv + as_json > 1:
        raise ConfigError("--markdown, --csv and --json exclude one another: give one of them")
    metrics = [one.name for one in map(known, dict.fromkeys(metric or HEADLINE))]
    study = _of_groups(_study(folders, variant or [], metrics), group or [])
    if baseline is None and not variant and _is_mere_sample(study):
        _only_figures(study, metrics, folders, figures)
        return
    if baseline is None and not variant and len(study.variants) == 1:
        _tell_alone(study, metrics, as_markdown=as_markdown, as_csv=as_csv, as_json=as_json)
        draws = "" if figures else " (--figures DIR draws it)"
        say_wrapped(f"nothing to compare with: the only variant is {study.variants[0]!r}{draws}")
        if figures is not None:
            _draw(study, metrics, folders, figures)
        return
    pairing = None if variant and set(variant) <= set(study.variants) else study.design
    comparisons = compare_variants(study.summary, baseline, metrics, pairing, study.absent)
    _warn(study)
    told = comparisons if group else _differing_most(comparisons)
    if figures is not None:
        shown = {one.group for one in told}
        _draw(replace(study, summary=study.summary[study.summary["group"].isin(shown)]), metrics, folders, figures)
    some = comparisons if as_csv or as_json else told
    _tell(some, pairing, study.design, as_markdown=as_markdown, as_csv=as_csv, as_json=as_json)


@dataclass(frozen=True, slots=True)
class Study:
    """What is compared."""

    summary: pd.DataFrame
    design: Design | None
    failed: Absent
    absent: Absent
    """Those that failed, and those that were not wanted any more."""

    @property
    def variants(self) -> list[str]:
        """The variants that have runs, in their order."""
        from groupsim.analysis.data.columns import names

        return names(self.summary["variant"])


def _study(folders: Sequence[Path], wanted: Sequence[str], metrics: Sequence[str]) -> Study:
    """The runs in some folders, of all variants or of those wanted; one sweep alone has a design."""
    from groupsim.analysis.data.columns import names
    from groupsim.analysis.data.design import chosen, load_design
    from groupsim.analysis.data.load import load_absent, load_failures, load_summaries
    from groupsim.scenarios.sweep.design import short_names

    summary = load_summaries(folders, [*metrics, "end_state"])
    design = load_design(folders[0]) if len(folders) == 1 else None
    if design is not None:
        design = replace(design, names=short_names(design.paths))
    failed, absent = (load(folders[0]) if len(folders) == 1 else {} for load in (load_failures, load_absent))
    if wanted:
        variants = names(summary["variant"])
        named = [*variants, *(design.bundles(variants) if design else ())]
        split = [[name] if name in named else listed([name]) for name in wanted]  # many names have commas themselves
        kept = chosen(variants, [name for some in split for name in some], design)
        order = {name: at for at, name in enumerate(kept)}
        summary = summary[summary["variant"].isin(kept)]
        summary = summary.sort_values("variant", key=lambda column: column.map(order), kind="stable")
        failed = {name: runs for name, runs in failed.items() if name in order}
    return Study(summary, design, failed, absent)


def _of_groups(study: Study, wanted: Sequence[str]) -> Study:
    """The runs of some groups; of all where none are wanted."""
    from groupsim.analysis.data.columns import names
    from groupsim.scenarios.errors import listed as few
    from groupsim.scenarios.errors import nearest
    from groupsim.sim.errors import ConfigError

    known = names(study.summary["group"])
    for name in wanted:
        if name not in known:
            raise ConfigError(f"--group: there is no group {name!r}; {nearest(name, known)}groups: {few(known)}")
    return replace(study, summary=study.summary[study.summary["group"].isin(wanted)]) if wanted else study


def _differing_most(comparisons: Sequence[Comparison]) -> Sequence[Comparison]:
    """All of them, or of many groups those of the few that differ most, in that order."""
    from groupsim.analysis.compare.overview import most_different

    groups = len({one.group for one in comparisons})
    if groups <= GROUPS_MAX:
        return comparisons
    chosen = most_different(comparisons, GROUPS_MAX)
    say_wrapped(
        f"the {GROUPS_MAX} of {groups:,} groups that differ most, {groups - GROUPS_MAX:,} groups are left out; "
        "--group NAME chooses, --csv and --json hold each"
    )
    return [one for name in chosen for one in comparisons if one.group == name]


def _is_mere_sample(study: Study) -> bool:
    """Whether the variants are points drawn from ranges, of which none is there to be compared with."""
    design = study.design
    return design is not None and design.is_sample and len(design.bundles(study.variants)) < 2


def _only_figures(study: Study, metrics: Sequence[str], folders: Sequence[Path], into: Path | None) -> None:
    """Draw a sample's figures; say why it has no table."""
    from groupsim.scenarios.sweep.points import SENSITIVITY
    from groupsim.sim.errors import ConfigError

    kind = study.design.kind if study.design else ""
    why = f"the {len(study.variants):,} variants are points of a {kind} design, none of them a baseline for the rest"
    if into is None:
        ranks = " groupsim sensitivity ranks what varies;" if kind in SENSITIVITY else ""
        raise ConfigError(
            f"nothing to compare: {why}. --figures DIR draws how each metric responds;{ranks} --baseline NAME or "
            "--variant NAME compares single points"
        )
    _draw(study, metrics, folders, into)
    say_wrapped(f"no table: {why}")


def _tell_alone(study: Study, metrics: Sequence[str], *, as_markdown: bool, as_csv: bool, as_json: bool) -> None:
    """Print the numbers of the only variant there is."""
    from groupsim.analysis.data.columns import records
    from groupsim.analysis.text.summary import runs_table

    _warn(study)
    table = runs_table(records(study.summary), metrics, width())
    if as_json:
        print_json(table.records())
    elif as_csv or as_markdown:
        print(table.csv() if as_csv else table.markdown(), end="")
    else:
        print_table(table)


def _warn(study: Study) -> None:
    """Tell what a reader of the numbers may overlook."""
    from groupsim.analysis.data.columns import names

    scenarios = names(study.summary["scenario"])
    if len(scenarios) > 1:
        warn(f"several scenarios ({', '.join(scenarios)}): runs share faults as far as their timelines are alike")
    for name, runs in study.failed.items():
        if name not in study.variants:
            warn(f"{name} is left out: all its runs ({len(runs)}) failed")
    if partly := sum(len(runs) for name, runs in study.failed.items() if name in study.variants):
        warn(f"{counted(partly, 'run')} failed: left out, as are the runs that they would be paired with")
    if any(set(runs) - set(study.failed.get(name, ())) for name, runs in study.absent.items()):
        warn("some variants needed fewer runs than others: runs without a counterpart are left out")


def _tell(
    comparisons: Sequence[Comparison], pairing: Design | None, design: Design | None, *, as_markdown: bool,
    as_csv: bool, as_json: bool,
) -> None:  # fmt: skip
    from groupsim.analysis.compare.text import comparison_table, notes

    if as_json:
        print_json(comparison_table(comparisons).records())
        return
    if as_csv:
        print(comparison_table(comparisons).csv(), end="")
        return
    told = list(_sections(comparisons, pairing, design, None if as_markdown else width()))
    if as_markdown:
        print("\n".join([*map(_markdown, told), *(f"{note}\n" for note in notes(comparisons))]), end="")
        return
    for section in told:
        _print(section)
    for note in notes(comparisons):
        print_wrapped(note)


def _sections(
    comparisons: Sequence[Comparison], pairing: Design | None, design: Design | None, characters: int | None
) -> Iterator[Section]:
    """Each comparison, or an overview of many."""
    from groupsim.analysis.compare.overview import overview
    from groupsim.analysis.compare.text import sections

    if len(comparisons) <= ROWS_MAX:
        return sections(comparisons, characters, design)
    many = f"{len(comparisons):,} comparisons: an overview"
    say_wrapped(f"{many}; --variant NAME narrows them down, --csv and --json hold each")
    return overview(comparisons, pairing, characters)


def _print(section: Section) -> None:
    if section.title:
        print_wrapped(f"{section.title}:")
        print()
    print_table(section.table)
    print()
    if section.findings:
        print_pairs(section.findings)
        print()


def _markdown(section: Section) -> str:
    parts = [f"**{section.title}**\n"] if section.title else []
    parts += [section.table.markdown(), "".join(f"- {name}: {text}\n" for name, text in section.findings)]
    return "\n".join(filter(None, parts))


def _draw(study: Study, metrics: Sequence[str], folders: Sequence[Path], into: Path) -> None:
    from groupsim.scenarios.cli.comparison_figures import draw
    from groupsim.scenarios.files.new_folder import complete_or_absent

    with complete_or_absent(into) as folder:
        for sentence in draw(study.summary, study.design, metrics, folders, folder):
            say_wrapped(sentence)
    say(f"figures in {into}")
