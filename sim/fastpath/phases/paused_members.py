"""Members that are behind and have paused for less than a second since: they rejoin with the others, and stay behind.

What they have sent by then depends on each pause, so it is worked out for one after the other, as of a member that is
quiet; their machines have no part in it. Once they are through, the books have the pauses, and the columns the polls
as these have shifted them.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.sim.books.offsets.services import Slots
from groupsim.sim.fastpath.phases.catch_up import schedule_of
from groupsim.sim.fastpath.phases.deferred import DeferredMembers
from groupsim.sim.fastpath.quiet.steady_state import SteadyState
from groupsim.sim.kernel.environment import Moment


class PausedMembers:
    """Those of one rejoin phase.

    Parameters
    ----------
    deferred : DeferredMembers
    """

    def __init__(self, deferred: DeferredMembers) -> None:
        self._deferred = deferred
        self._under_way: dict[int, SteadyState] = {}

    def part(self, moment: Moment) -> tuple[Slots, dict[int, SteadyState]]:
        """Silent members that have not paused by then, and by slot what is known of those that have.

        Who stands still, or consumes while it rejoins, is none of both: its own objects show its pauses.
        """
        deferred = self._deferred
        silent = deferred.silent()
        has_paused = deferred.next_start[silent] <= moment[0]
        paused: dict[int, SteadyState] = {}
        for slot in silent[has_paused].tolist():
            known = None if deferred.is_cooperative[slot] else self._known(slot)
            if known is None or known.is_frozen_at(moment):
                deferred.elided[slot].look()
            else:
                paused[slot] = known
                deferred.next_start[slot] = known.next_start
        return silent[~has_paused], paused

    def _known(self, slot: int) -> SteadyState:
        """What is known of one, as of when it fell silent."""
        deferred, was = self._deferred, self._deferred.was
        known: SteadyState = deferred.elided[slot].known_from(
            (was.first_beat.item(slot), was.beat_number.item(slot)),
            (was.next_commit.item(slot), int(deferred.next_commit_number(was, slot))),
            schedule_of(deferred.clients[slot], was, slot, deferred.slowdown.item(slot)),
            was.waiting_since.item(slot),
        )
        return known

    def set_out(self, paused: Mapping[int, SteadyState]) -> None:
        """These are on the way with the others."""
        self._under_way.update(paused)

    def turn_back(self, slot: int) -> None:
        """One is disturbed: it finds its pauses itself, if it is one of these."""
        self._under_way.pop(slot, None)

    def arrive(self, slots: Slots) -> None:
        """Members are through: those of these have paused, and polled that much later."""
        if not self._under_way:
            return
        was = self._deferred.was
        for slot in slots.tolist():
            known = self._under_way.pop(slot, None)
            if known is None:
                continue
            assert known.schedule is not None
            was.follow(slot, known.schedule)
            self._deferred.elided[slot].pass_pauses(known, was.handle.item(slot), was.partitions[slot])
