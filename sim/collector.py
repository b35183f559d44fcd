"""Python's cyclic collector, which would be the most expensive part of a run."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_YOUNG_MAX: Final = 1_000_000
"""So many objects more than before are made in a run before the collector looks at them."""
_LEFT_MAX: Final = 100_000
"""So many objects may be left of former runs before they are collected: some 30 MB with what they hold."""


class Collector:
    """Rests during a run, whose objects live until its end, and collects what is left of former runs before the next.

    A process makes one run after the other (sweeps), and a world is full of circles: it dies only if it is collected.
    """

    def __init__(self) -> None:
        self._left = 0

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """During a run."""
        if self._left > _LEFT_MAX:
            gc.collect()
            self._left = 0
        enabled, thresholds = gc.isenabled(), gc.get_threshold()
        gc.freeze()
        gc.set_threshold(_YOUNG_MAX, 50, 50)
        try:
            yield
        finally:
            young, collections, _ = gc.get_count()
            self._left += young + collections * _YOUNG_MAX
            # All of it is old now: the next collection of young objects does not walk through a world that lives.
            gc.freeze()
            gc.unfreeze()
            gc.set_threshold(*thresholds)
            if not enabled:
                gc.disable()
