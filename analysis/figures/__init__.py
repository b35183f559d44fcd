"""Figures of results. They are plain ``matplotlib.figure.Figure`` objects: no window, no pyplot, no global state."""

from groupsim.analysis.figures.assignors import trials
from groupsim.analysis.figures.curves import response_curves
from groupsim.analysis.figures.files import refuse_unfit, save
from groupsim.analysis.figures.heat_maps import heat_map, is_two_dimensional
from groupsim.analysis.figures.intervals import compare
from groupsim.analysis.figures.knobs import sensitivity
from groupsim.analysis.figures.lags import lag
from groupsim.analysis.figures.lanes import lanes
from groupsim.analysis.figures.timelines import timeline

__all__ = [
    "compare", "heat_map", "is_two_dimensional", "lag", "lanes", "refuse_unfit", "response_curves", "save",
    "sensitivity", "timeline", "trials",
]  # fmt: skip
