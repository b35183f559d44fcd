"""Invariants of any run, as objects: checked after every event when a run is watched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from groupsim.sim.errors import InvariantViolation
from groupsim.sim.protocol.classic.states import GroupState

if TYPE_CHECKING:
    from groupsim.sim.cluster.group_host import GroupHost
    from groupsim.sim.world import World


class Invariant(Protocol):
    """Something that must hold of a group at any time."""

    def violated(self, group: GroupHost) -> str | None:
        """What is wrong, or None."""
        ...


class OneOwner:
    """At most one member believes that it owns a partition in the current generation (broadcast exempt).

    Deferred members (`sim.fastpath.deferred`) still show an older generation and are passed over: to look at one would
    bring it up to date, and what is checked would no longer be the run that is asked about.
    """

    def violated(self, group: GroupHost) -> str | None:
        """Two members that both own a partition, if there are such."""
        if group.is_broadcast or group.machine.state is not GroupState.STABLE:
            return None
        owner: dict[int, str] = {}
        for consumer in group.consumers:
            machine = consumer.machine
            if machine is None or machine.generation != group.machine.generation or machine.is_joining:
                continue
            if machine.member_id not in group.machine.roster:
                continue
            for position in machine.owned.tolist():
                if position in owner:
                    return f"{consumer.name} and {owner[position]} both own partition {position}"
                owner[position] = consumer.name
        return None


class GenerationsGrow:
    """The generation never goes back, unless the group was forgotten."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}

    def violated(self, group: GroupHost) -> str | None:
        """A generation lower than the last one seen, if it is."""
        last, now = self._last.get(group.name, 0), group.machine.generation
        self._last[group.name] = now
        forgotten = now == 0 and (group.machine.is_old or group.machine.state is GroupState.EMPTY)
        return f"generation {last} became {now}" if now < last and not forgotten else None


class CommitsWithinPositions:
    """Nobody has committed what nobody has processed (commit before processing and broadcast exempt)."""

    def violated(self, group: GroupHost) -> str | None:
        """A partition committed beyond its processed records, if there is one."""
        if group.is_broadcast or group.commits_ahead:
            return None
        if not len(group.ledger.committed):
            return None
        ahead = group.ledger.committed > np.maximum(group.ledger.processed(group.now), 0)
        if ahead.any():
            return f"partition {int(np.flatnonzero(ahead)[0])} is committed beyond what was processed"
        return None


class Watch:
    """Checks a world after every event."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._invariants: tuple[Invariant, ...] = (OneOwner(), GenerationsGrow(), CommitsWithinPositions())

    def attach(self) -> None:
        """From now on, check after every event."""
        self._world.env.after_each = self.check

    def check(self) -> None:
        """Check now.

        Raises
        ------
        InvariantViolation
        """
        for group in self._world.groups.values():
            for invariant in self._invariants:
                if (wrong := invariant.violated(group)) is not None:
                    raise InvariantViolation(
                        f"{type(invariant).__name__} at {self._world.env.now} us, group {group.name}: {wrong}"
                    )
