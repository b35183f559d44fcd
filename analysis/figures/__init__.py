"""Figures of results. They are plain ``matplotlib.figure.Figure`` objects: no window, no pyplot, no global state."""

from analysis.figures.assignors import trials
from analysis.figures.curves import response_curves
from analysis.figures.files import refuse_unfit, save
from analysis.figures.heat_maps import heat_map, is_two_dimensional
from analysis.figures.intervals import compare
from analysis.figures.knobs import sensitivity
from analysis.figures.lags import lag
from analysis.figures.timelines import timeline

__all__ = [
    "compare", "heat_map", "is_two_dimensional", "lag", "refuse_unfit", "response_curves", "save", "sensitivity",
    "timeline", "trials",
]  # fmt: skip
