"""Which knob matters, as a ranked table and in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupsim.analysis.data.metrics import Scale, metric, number, plus_minus, scale
from groupsim.analysis.sensitivity.effects import Knob, Sensitivity
from groupsim.analysis.text.tables import WIDTH, Column, TextTable, names

_PERCENT: Final = Scale(100.0, "%")
_COLUMNS: Final = {
    "morris": (("mu*", "mu_star"), ("sigma", "sigma")),
    "sobol_indices": (("total", "st"), ("first order", "s1")),
}
"""Header and name of weight and detail."""
NOTHING: Final = 1e-3
"""Of the heaviest knob's weight."""
IDLE: Final = 0.02
"""Of the heaviest knob's weight: what weighs less, interval included, does next to nothing."""
NAMED: Final = 3
"""More idle knobs than this are counted and not named."""


def sensitivity_table(found: Sensitivity, short: Mapping[str, str], width: int | None = WIDTH) -> TextTable:
    """A row per knob, the heaviest first: its weight with the 95 % interval, and the detail beside it.

    Parameters
    ----------
    short : mapping of str to str
        What each path is called.
    """
    measure = scale_of(found)
    (weight, name), (detail, own) = _COLUMNS[found.method]
    unit = f" [{measure.unit}]" if measure.unit else ""
    knobs = found.knobs
    columns = (
        names("knob", [short[knob.path] for knob in knobs], "knob"),
        Column(
            f"{weight}{unit}",
            tuple(weight_text(found, knob) for knob in knobs),
            _data(found, {"path": "path", name: "weight", f"{name} ±": "weight_half_width"}),
        ),
        Column(
            f"{detail}{unit}",
            tuple(_text(found, knob.detail, knob.detail_half_width) for knob in knobs),
            _data(found, {own: "detail", f"{own} ±": "detail_half_width"}),
        ),
    )
    return TextTable(columns, (counted(found),), width)


def _data(found: Sensitivity, fields: Mapping[str, str]) -> dict[str, tuple[object, ...]]:
    return {name: tuple(getattr(knob, field) for knob in found.knobs) for name, field in fields.items()}


def weight_text(found: Sensitivity, knob: Knob) -> str:
    """A knob's weight with its interval."""
    return _text(found, knob.weight, knob.weight_half_width)


def _text(found: Sensitivity, value: float, half_width: float | None) -> str:
    """A number in the unit of the weights; what is lost beside the heaviest knob is told so."""
    if 0 < abs(value) + (half_width or 0.0) < found.knobs[0].weight * NOTHING:
        return "≈ 0"
    return plus_minus(value, half_width, scale_of(found))


def scale_of(found: Sensitivity) -> Scale:
    """The unit in which weights read well: of elementary effects the metric's, of variance shares per cent."""
    if found.method == "sobol_indices":
        return _PERCENT
    return scale([knob.weight for knob in found.knobs], metric(found.metric).unit)


def title(found: Sensitivity) -> str:
    """Metric, group, and the bundle that was varied."""
    what = [metric(found.metric).label, f"group {found.group}", found.variant]
    return ", ".join(part for part in what if part)


def counted(found: Sensitivity) -> str:
    """How many trajectories or blocks the numbers rest on."""
    noun = "trajectories" if found.method == "morris" else "blocks of crossed points"
    lost = f"; {found.missing} left out: a value is missing" if found.missing else ""
    method = "Morris" if found.method == "morris" else "Sobol"
    return f"{method}, {found.blocks} {noun}{lost}; ± is the 95 % interval"


def sentence(found: Sensitivity, short: Mapping[str, str]) -> str:
    """Which knob matters, and how sure that is."""
    label = metric(found.metric).label
    if not found.varies:
        return f"No knob matters: at every point the {label} came to the same."
    first, second = found.knobs[:2]
    does = _effect(found, first, label) if found.method == "morris" else _share(found, first, label)
    if first.weight - first.weight_half_width > second.weight + second.weight_half_width:
        return f"{short[first.path]} matters most: {does}.{_idle(found, short)}"
    return (
        f"{short[first.path]} has the largest weight: {does}. {short[second.path]} may matter as much: their intervals "
        f"overlap, and it takes more points to tell them apart.{_idle(found, short)}"
    )


def _effect(found: Sensitivity, knob: Knob, label: str) -> str:
    """What a jump does, which is true of whole numbers and choices too."""
    measure = scale_of(found)
    amount = plus_minus(knob.weight * found.jump, knob.weight_half_width * found.jump, measure)
    depends = ", more or less of it depending on where the knobs stand" if knob.detail > knob.weight / 2 else ""
    over = f"a jump over {found.jump * 100:.0f} % of its range"
    return f"{over} changes the {label} by {f'{amount} {measure.unit}'.strip()} on average{depends}"


def _share(found: Sensitivity, knob: Knob, label: str) -> str:
    alone = f"{number(max(knob.detail, 0.0) * 100, 0)} %" if knob.detail < knob.weight else "all of it"
    return f"it accounts for {weight_text(found, knob)} % of the variance of the {label}, {alone} by itself"


def _idle(found: Sensitivity, short: Mapping[str, str]) -> str:
    """The knobs that do next to nothing."""
    top = found.knobs[0].weight
    idle = [short[one.path] for one in found.knobs[1:] if one.weight + one.weight_half_width < top * IDLE]
    if not idle:
        return ""
    told = " and ".join(idle) if len(idle) <= NAMED else f"{len(idle)} others"
    return f" {told} {'does' if len(idle) == 1 else 'do'} next to nothing."
