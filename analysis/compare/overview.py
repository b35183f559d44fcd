"""Many comparisons in few rows: how often A is better, how often worse, and how far the differences reach.

A sweep of two bundles at a hundred points makes hundreds of comparisons. Each row here stands for all of one metric.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from groupsim.analysis.compare.comparison import Comparison
from groupsim.analysis.compare.conclusions import counted
from groupsim.analysis.compare.text import Section, title, verdict
from groupsim.analysis.data.design import Design
from groupsim.analysis.data.metrics import Metric, Scale, number, scale
from groupsim.analysis.text.tables import WIDTH, Column, TextTable, named

OTHERS = "all others"
"""What A is where there are no bundles."""


def most_different(comparisons: Sequence[Comparison], most: int) -> list[str]:
    """So many groups at most, those first whose means differ most: by the first metric, then by those that follow."""
    found: dict[str, list[float]] = {}
    for one in comparisons:
        known = abs(_difference(one)) if all(one.outcome.sizes) else 0.0
        found.setdefault(one.group, []).append(known)
    metrics = max(1, len({one.metric.name for one in comparisons}))
    reach = {name: [max(some[at::metrics]) for at in range(metrics)] for name, some in found.items()}
    return sorted(found, key=lambda name: [-one for one in reach[name]])[:most]


@dataclass(frozen=True, slots=True)
class Overview:
    """All comparisons of one metric and group between two bundles, or between a baseline and all others."""

    a: str
    b: str
    group: str
    metric: Metric
    comparisons: tuple[Comparison, ...]

    def count(self, *outcomes: str) -> int:
        """How many comparisons end like this."""
        return sum(verdict(one).startswith(outcomes) for one in self.comparisons)

    @property
    def shown(self) -> int:
        """How many comparisons show a difference."""
        return self.count("A better", "A worse", "A lower", "A higher")

    @property
    def extremes(self) -> tuple[Comparison, ...]:
        """The comparisons with the lowest and with the highest difference; none where there is no value."""
        known = [one for one in self.comparisons if all(one.outcome.sizes)]
        return (min(known, key=_difference), max(known, key=_difference)) if known else ()


def overviews(comparisons: Sequence[Comparison], design: Design | None) -> list[Overview]:
    """The comparisons, put together by what is compared with what, group and metric."""
    found: dict[tuple[str, str, str, str], list[Comparison]] = {}
    for one in comparisons:
        found.setdefault((*_names(one, design), one.group, one.metric.name), []).append(one)
    return [Overview(a, b, group, some[0].metric, tuple(some)) for (a, b, group, _), some in found.items()]


def overview(comparisons: Sequence[Comparison], design: Design | None, width: int | None = WIDTH) -> Iterator[Section]:
    """What is compared with what, in each group: a table of its overviews, and where the differences are largest."""
    groups = {one.group for one in comparisons}
    parts: dict[str, list[Overview]] = {}
    for one in overviews(comparisons, design):
        parts.setdefault(title(one.a, one.b, one.group if len(groups) > 1 else "", design), []).append(one)
    for name, found in parts.items():
        reaches = tuple((one.metric.label, _reach(one, design)) for one in found if one.shown and one.extremes)
        yield Section(name, overview_table(found, width), reaches)


def overview_table(found: Sequence[Overview], width: int | None = WIDTH) -> TextTable:
    """Each overview in a row: how many comparisons end how, and the lowest and the highest difference."""
    scales = [scale([_difference(end) for end in one.extremes], one.metric.unit) for one in found]
    columns = [
        named("metric", [one.metric.label for one in found], "metric", [one.metric.name for one in found]),
        named("unit", [measure.unit for measure in scales], "unit", [one.metric.unit for one in found]),
        _counts("better", [one.count("A better") if _is_judged(one) else None for one in found]),
        _counts("worse", [one.count("A worse") if _is_judged(one) else None for one in found]),
        _counts("none", [len(one.comparisons) - one.shown for one in found]),
        _ends("A - B, from", found, scales, 0),
        _ends("to", found, scales, 1),
    ]
    most = counted(max(len(one.comparisons) for one in found), "comparison")
    note = f"how many of {most} show A better, A worse, and neither; lowest and highest A - B"
    return TextTable(tuple(columns), (note,), width)


def _names(one: Comparison, design: Design | None) -> tuple[str, str]:
    """The bundles that are compared, or the baseline and all others."""
    a, b = (design.places[name].bundle if design and name in design.places else "" for name in (one.a, one.b))
    return (a, b) if a != b and one.a != a else (OTHERS, one.b)


def _reach(one: Overview, design: Design | None) -> str:
    low, high = (_point(end.a, one.a, design) for end in one.extremes)
    return f"lowest at {low}, highest at {high}"


def _point(variant: str, bundle: str, design: Design | None) -> str:
    """Where a variant stands in what varies: its name without the bundle's; behind a number, the values."""
    return (variant if design is None else design.told(variant)).removeprefix(f"{bundle}, ")


def _is_judged(one: Overview) -> bool:
    return one.metric.lower_is_better is not None


def _difference(one: Comparison) -> float:
    return one.outcome.difference.mean


def _ends(header: str, found: Sequence[Overview], scales: Sequence[Scale], end: int) -> Column:
    values = tuple(_difference(one.extremes[end]) if one.extremes else None for one in found)
    texts = ("-" if v is None else number(v * measure.factor) for v, measure in zip(values, scales, strict=True))
    return Column(header, tuple(texts), {header: values})


def _counts(header: str, values: Sequence[int | None]) -> Column:
    return Column(header, tuple("-" if v is None else f"{v:,}" for v in values), {header: tuple(values)})
