"""Named deadlines with a readable earliest one: a heap with lazy deletion, as trio's.

Renewing costs a dictionary write; a stale heap entry is dropped, or moved to its new time, when it surfaces.
"""

from __future__ import annotations

from heapq import heappop, heappush, heapreplace

from groupsim.sim.units import FOREVER


class Deadlines:
    """Deadlines by name; arming an armed name replaces its deadline (as ``CoordinatorTimer.schedule`` does)."""

    __slots__ = ("_due", "_heap", "_queued")

    def __init__(self) -> None:
        self._due: dict[str, int] = {}
        self._queued: dict[str, int] = {}
        self._heap: list[tuple[int, str]] = []

    def arm(self, name: str, due: int) -> None:
        """Let ``name`` be due at ``due`` (microseconds), whatever it was before."""
        self._due[name] = due
        queued = self._queued.get(name)
        if queued is None or due < queued:
            self._queued[name] = due
            heappush(self._heap, (due, name))

    def cancel(self, name: str) -> None:
        """Forget ``name``."""
        self._due.pop(name, None)

    def due(self, name: str) -> int:
        """When ``name`` is due; `FOREVER` if it is not armed."""
        return self._due.get(name, FOREVER)

    @property
    def earliest(self) -> int:
        """The earliest deadline; `FOREVER` if there is none."""
        heap, due, queued = self._heap, self._due, self._queued
        while heap:
            time, name = heap[0]
            if queued.get(name) != time:
                heappop(heap)
                continue
            actual = due.get(name)
            if actual is None:
                heappop(heap)
                del queued[name]
            elif actual > time:
                heapreplace(heap, (actual, name))
                queued[name] = actual
            else:
                return time
        return FOREVER

    def pop(self, now: int) -> str | None:
        """Take out the name that is due first, at or before ``now``, ties by name; None if none is."""
        if self.earliest > now:
            return None
        _, name = heappop(self._heap)
        del self._queued[name], self._due[name]
        return name
