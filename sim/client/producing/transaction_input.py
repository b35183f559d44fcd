"""What the transactions of one producer are made of: from where on, and up to where, each partition is read."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from groupsim.sim.books.offsets.production import Offsets
from groupsim.sim.books.truncation import Truncation
from groupsim.sim.client.producing.transaction_output import TransactionOutput
from groupsim.sim.protocol.messages import Positions


class TransactionInput:
    """Of one client.

    Offsets go on where records were in a log and are not any more (`sim.books.truncation`): what a transaction has been
    made of stays what it is; where it is committed to, and where an aborted one is read again, get past them.

    Attributes
    ----------
    begun : dict of int to int
        Partition -> up to where it is committed: there its transaction begins.
    target : dict of int to int
        Partition -> up to where the transaction that is being ended goes.
    """

    def __init__(self) -> None:
        self.begun: dict[int, int] = {}
        self.target: dict[int, int] = {}
        self._again: dict[int, int] = {}
        """Partitions of which records are gone since the transaction began -> from where on it would be read again."""
        self._told = np.empty(0, np.int64)
        """What the coordinator of the group is told, or has been."""

    def end_at(self, at: Mapping[int, int]) -> None:
        """The transaction has what is processed up to there."""
        self.target = {one: offset for one, offset in at.items() if offset > self.begun[one]}

    def offsets(self) -> tuple[Positions, Offsets]:
        """What is to be committed. Shapes (n,)."""
        positions = sorted(self.target)
        self._told = np.array([self.target[one] for one in positions], np.int64)
        return np.array(positions, np.int32), self._told

    def commit(self) -> None:
        """The transaction is committed: the next one begins there."""
        self._begin(self.target)

    def rewind(self) -> None:
        """The transaction is aborted: the next one begins where that did."""
        self._begin(self._again)

    def _begin(self, at: Mapping[int, int]) -> None:
        self.begun.update(at)
        self.target, self._again, self._told = {}, {}, self._told[:0]

    def drop(self, position: int) -> int:
        """A partition is somebody else's from now on; where its transaction began, 0: it had not."""
        self._again.pop(position, None)
        return self.begun.pop(position, 0)

    def skip(self, gone: Truncation, at: Mapping[int, int], output: TransactionOutput) -> None:
        """Some of what it reads was in a log and is not any more; it has got to ``at``."""
        for index, position in enumerate(gone.positions.tolist()):
            if position in self.begun:
                here = at.get(position, self.begun[position])
                output.skip(position, here, here + gone.skipped_from(index, here))
                self._move(index, position, here, gone)
        if self._told.size:
            self._told[:] = [self.target[one] for one in sorted(self.target)]

    def _move(self, index: int, position: int, here: int, gone: Truncation) -> None:
        begun = self.begun[position]
        if begun == here:
            self.begun[position] += gone.skipped_from(index, begun)
            return
        again = self._again.get(position, begun)
        self._again[position] = again + gone.skipped_from(index, again)
        if position in self.target:
            self.target[position] += gone.skipped_from(index, self.target[position])
