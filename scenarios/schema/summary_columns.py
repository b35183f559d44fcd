"""Columns of the summary that somebody has called otherwise."""

from __future__ import annotations

from collections.abc import Iterable

from groupsim.scenarios.errors import nearest


def column_meant(name: object, known: Iterable[str]) -> str:
    """A hint that names the column that tables on the screen call so, or the nearest; empty when none is near."""
    from groupsim.analysis.data.metrics import named_on_screen

    return nearest(named_on_screen(str(name)) or name, known)
