"""Discrete-event simulation of Apache Kafka consumer groups in virtual time.

>>> import groupsim
>>> result = groupsim.simulate(groupsim.load("kill-detection"), seed=1)
>>> result.summary  # doctest: +SKIP

Names are imported when they are first used: neither pandas nor Spark is, until something needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from groupsim.analysis import figures
    from groupsim.analysis.compare.comparison import compare
    from groupsim.analysis.data.load import load_result
    from groupsim.assignors import Assignment, Assignor
    from groupsim.scenarios.build.loading import load
    from groupsim.scenarios.sweep.execution import sweep
    from groupsim.sim.simulation import simulate

_HOMES: Final = {
    "Assignment": "groupsim.assignors",
    "Assignor": "groupsim.assignors",
    "compare": "groupsim.analysis.compare.comparison",
    "figures": "groupsim.analysis.figures",
    "load": "groupsim.scenarios",
    "load_result": "groupsim.analysis.data.load",
    "simulate": "groupsim.sim",
    "sweep": "groupsim.scenarios.sweep.execution",
}

__all__ = ["Assignment", "Assignor", "compare", "figures", "load", "load_result", "simulate", "sweep"]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(_HOMES[name])
    return home if home.__name__.endswith(f".{name}") else getattr(home, name)
