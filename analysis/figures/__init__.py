"""Figures of results. They are plain ``matplotlib.figure.Figure`` objects: no window, no pyplot, no global state."""

from analysis.figures.assignors import trials
from analysis.figures.files import refuse_unfit, save
from analysis.figures.intervals import compare
from analysis.figures.knobs import sensitivity
from analysis.figures.lags import lag
from analysis.figures.timelines import timeline

__all__ = ["compare", "lag", "refuse_unfit", "save", "sensitivity", "timeline", "trials"]
