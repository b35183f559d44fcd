"""Short pauses of members whose objects are behind: passed without these, and in the books once the member rejoins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from groupsim.sim.books.ledger import Slots
from groupsim.sim.fastpath.catch_up import schedule_of
from groupsim.sim.fastpath.deferred import QUIET, DeferredMembers
from groupsim.sim.fastpath.steady_state import SteadyState
from groupsim.sim.kernel.environment import Moment


class PassedPauses:
    """Of members of one rejoin phase.

    Parameters
    ----------
    deferred : DeferredMembers
    """

    def __init__(self, deferred: DeferredMembers) -> None:
        self._deferred = deferred
        self._states: dict[int, SteadyState] = {}
        """By slot, as of the moment since which they rejoin."""

    def gather(self, moment: Moment, slots: Slots) -> Mapping[int, SteadyState]:
        """Silent members whose next pause has begun, as they are at ``moment``; some of them must know it themselves.

        These are who stands still at ``moment``, whose passes are drawn, and who goes on by the same polls while it
        rejoins (cooperative members): their own objects show everything.
        """
        deferred, states = self._deferred, self._states
        states.clear()
        for slot in slots.tolist():
            is_simple = deferred.kind[slot] >= 0 and not deferred.is_cooperative[slot]
            if is_simple and not (state := self._state_of(slot)).is_frozen_at(moment):
                states[slot] = state
                deferred.next_start[slot] = state.next_start
            else:
                deferred.elided[slot].look()
        return dict(states)

    def _state_of(self, slot: int) -> SteadyState:
        """A silent member, as it was when it fell silent."""
        deferred, was = self._deferred, self._deferred.was
        schedule = schedule_of(deferred.clients[slot], was, slot, deferred.slowdown.item(slot))
        heartbeats = (was.first_beat.item(slot), was.beat_number.item(slot))
        commits = (was.next_commit.item(slot), int(deferred.next_commit_number(was, slot)))
        state: SteadyState = deferred.elided[slot].state(heartbeats, commits, schedule)
        state.beating.since = was.waiting_since.item(slot)
        return state

    def forget(self, slot: int) -> None:
        """A member goes on by itself: its own objects pass its pauses."""
        self._states.pop(slot, None)

    def write(self, slots: Iterable[int], since: Moment) -> None:
        """Members have rejoined, on their way ``since``: the pauses that they had before are in the books."""
        deferred, was = self._deferred, self._deferred.was
        for slot in self._states.keys() & slots:
            state, one = self._states.pop(slot), deferred.elided[slot]
            if deferred.stage_of(slot) == QUIET:
                assert state.schedule is not None
                one.pass_pauses(state, was.handle.item(slot), was.partitions[slot])
                was.follow(slot, state.schedule)
            else:
                # Somebody has looked at it meanwhile: its own objects pass them.
                one.known.catch_up(since)
