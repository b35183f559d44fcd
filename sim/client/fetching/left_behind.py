"""Partitions that a consumer has positions of and does not read, since nobody leads them or they cannot be reached."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.production import Offsets
from groupsim.sim.books.truncation import Truncation
from groupsim.sim.protocol.messages import Positions


class LeftBehind:
    """Those of one client: it goes on reading them from where it was.

    Parameters
    ----------
    fails_when_truncated : bool
        Whether poll() throws once a leader says that what has been read is in no log (``auto.offset.reset`` none).

    Attributes
    ----------
    at : dict of int to int
        Partition that would be read if its leader could be reached -> position.
    unknown : set of int
        Partitions whose leader is gone, or not known yet.
    """

    def __init__(self, *, fails_when_truncated: bool) -> None:
        self.at: Final[dict[int, int]] = {}
        self.unknown: Final[set[int]] = set()
        self._fails_when_truncated = fails_when_truncated
        self._diverged: set[int] = set()
        """Those of which it has read what is in no log any more."""

    def add(self, positions: Positions, offsets: Offsets) -> None:
        """These are not read from here on."""
        self.at.update(zip(positions.tolist(), offsets.tolist(), strict=True))

    def drop(self, positions: Positions) -> None:
        """These are not the client's any more."""
        if self.at:
            for position in positions.tolist():
                self.at.pop(position, None)
            self.unknown.intersection_update(self.at)
            self._diverged.intersection_update(self.at)

    def take(self, positions: Positions) -> Offsets:
        """Positions of some that are read again. Shape (n,)."""
        return np.array([self.at.pop(position) for position in positions.tolist()], np.int64)

    def among(self, positions: Positions) -> NDArray[np.bool_]:
        """Which of these it has. Shape (n,)."""
        return np.array([position in self.at for position in positions.tolist()], np.bool_)

    def has_any(self, positions: frozenset[int]) -> bool:
        """Whether it has any of these, or any whose leader is known."""
        return bool(self.at) and not (positions.isdisjoint(self.at) and self.unknown.issuperset(self.at))

    @property
    def known(self) -> Positions:
        """Those whose leader is known. Shape (n,)."""
        return np.array([position for position in self.at if position not in self.unknown], np.int32)

    def are_diverged(self, positions: Collection[int]) -> bool:
        """Whether poll() throws for one of these."""
        return not self._diverged.isdisjoint(positions)

    def skip(self, gone: Truncation) -> None:
        """Some of these were in a log and are not any more: a position beyond them stays, others get past them."""
        for index, position in enumerate(gone.positions.tolist()):
            if position in self.at:
                at = np.full(len(gone.positions), self.at[position])
                if self._fails_when_truncated and gone.has_been_read(at)[index]:
                    self._diverged.add(position)
                self.at[position] += gone.skipped_from(index, self.at[position])

    def seek(self, to: Mapping[int, int]) -> None:
        """Those of these that it has are read from there on."""
        self.at.update({position: at for position, at in to.items() if position in self.at})
