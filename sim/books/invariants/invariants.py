"""Invariants of any run, as objects: checked after every event when a run is watched."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from groupsim.sim.books.invariants.consumer_invariants import (
    ConvergesOnceCalm,
    EpochsOrdered,
    MembersWithinHoldings,
    OneHolder,
    StableIsStable,
)
from groupsim.sim.books.invariants.watched import Invariant, Seen, Watched, protocol_machine, twice
from groupsim.sim.books.offsets.production import Offsets
from groupsim.sim.errors import InvariantViolation
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.protocol.classic.group import ClassicGroup
from groupsim.sim.protocol.mixed.group import MixedGroup


class OneOwner:
    """At most one member believes that it owns a partition in the current generation (broadcast exempt).

    Deferred members (`sim.fastpath.phases.deferred`) still show an older generation and are passed over: to look at one
    would bring it up to date, and what is checked would no longer be the run that is asked about.
    """

    def __init__(self) -> None:
        self._seen = Seen()
        self._are_apart: dict[str, bool] = {}
        """Group -> whether nothing was owned twice when it was last looked at, by who rejoins neither."""

    def violated(self, now: int, group: Watched) -> str | None:
        """Two members that both own a partition, if there are such."""
        coordinator, name = _classic_group(group), group.books.name
        if coordinator is None or group.books.is_broadcast or not coordinator.is_stable:
            return None
        generation = coordinator.generation
        machines = [machine for one in group.members if (machine := one.machine) is not None]
        owned = [machine.owned for machine in machines if machine.generation == generation]
        if not self._seen.is_same(name, owned):
            self._are_apart[name] = twice(owned) is None
        return None if self._are_apart[name] else _two_owners(group, coordinator)


def _two_owners(group: Watched, coordinator: ClassicGroup) -> str | None:
    owner: dict[int, str] = {}
    for consumer in group.members:
        machine = consumer.machine
        if machine is None or machine.generation != coordinator.generation or machine.is_joining:
            continue
        if machine.member_id not in coordinator.roster:
            continue
        for position in machine.owned.tolist():
            if position in owner:
                return f"{consumer.name} and {owner[position]} both own partition {position}"
            owner[position] = consumer.name
    return None


def _classic_group(group: Watched) -> ClassicGroup | None:
    """The group, if it is one of the classic protocol now."""
    machine = protocol_machine(group)
    return machine if isinstance(machine, ClassicGroup) else None


class GenerationsGrow:
    """Neither generation nor epoch goes back, unless the group was forgotten, made anew, or loaded elsewhere."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, int, int]] = {}

    def violated(self, now: int, group: Watched) -> str | None:
        """A generation lower than the last one seen, if it is."""
        machine = group.machine
        last, size, term = self._last.get(group.books.name, (0, 0, 1))
        generation = machine.generation
        self._last[group.books.name] = generation, machine.size, group.host.terms
        if generation >= last:
            return None
        forgotten = (generation == 0 or not machine.exists) and not machine.size
        renewed = not size and isinstance(machine, MixedGroup)
        is_excused = forgotten or renewed or term < group.host.terms
        return None if is_excused else f"generation {last} became {generation}"


class CommitsWithinPositions:
    """Nobody has committed what nobody has processed (commit before processing and broadcast exempt).

    It is looked at whenever offsets have been committed: processed records only become more.
    """

    def __init__(self) -> None:
        self._last: dict[str, bytes] = {}

    def violated(self, now: int, group: Watched) -> str | None:
        """A partition committed beyond its processed records, if there is one."""
        if group.books.is_broadcast or group.books.commits_ahead:
            return None
        ledger = group.books.ledger
        committed = ledger.committed.tobytes()
        if committed == self._last.get(group.books.name):
            return None
        self._last[group.books.name] = committed
        processed = np.maximum(ledger.processed(now), 0)
        for zombie in group.books.delivery.zombies:
            processed = np.maximum(processed, zombie.processed(now))
        ahead = ledger.committed > processed
        if ahead.any():
            return f"partition {int(np.flatnonzero(ahead)[0])} is committed beyond what was processed"
        return None


class ReadsWhatIsThere:
    """Nobody has processed, of what comes in jumps, a record that readers of its isolation level do not see.

    It is looked at whenever what they see has changed, or who reads it since when: processed records only become more,
    and are held against what was there until then.
    """

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, Offsets]] = {}

    def violated(self, now: int, group: Watched) -> str | None:
        """A partition that is processed beyond its records, if there is one."""
        ledger, name = group.books.ledger, group.books.name
        positions, ends = ledger.shown()
        if not positions.size:
            return None
        changes, there = self._last.get(name, (-1, ends))
        if changes == ledger.log.rows and np.array_equal(there, ends):
            return None
        self._last[name] = ledger.log.rows, ends
        seen = np.minimum(ends, there) if len(ends) == len(there) else ends
        beyond = ledger.processed(now)[positions] > seen
        if beyond.any():
            return f"partition {int(positions[np.flatnonzero(beyond)[0]])} is processed beyond what readers see"
        return None


class Watch:
    """Checks groups after every event.

    Parameters
    ----------
    env : Environment
    groups : sequence of Watched
    """

    def __init__(self, env: Environment, groups: Sequence[Watched]) -> None:
        self._env = env
        self._groups = groups
        self._invariants: tuple[Invariant, ...] = (
            OneOwner(), GenerationsGrow(), CommitsWithinPositions(), OneHolder(), EpochsOrdered(), StableIsStable(),
            MembersWithinHoldings(), ConvergesOnceCalm(), ReadsWhatIsThere(),
        )  # fmt: skip

    def attach(self) -> None:
        """From now on, check after every event."""
        self._env.after_each = self.check

    def check(self) -> None:
        """Check now.

        Raises
        ------
        InvariantViolation
        """
        for group in self._groups:
            for invariant in self._invariants:
                if (wrong := invariant.violated(self._env.now, group)) is not None:
                    name = type(invariant).__name__
                    raise InvariantViolation(f"{name} at {self._env.now} us, group {group.books.name}: {wrong}")
