"""How many partitions of each class every party of members gets, as flow through a network."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from groupsim.assignors.flow_network import FlowNetwork
from groupsim.assignors.rack_parties import RackParties

Counts = npt.NDArray[np.int64]


class ShareNetwork:
    """Classes of partitions flow to groups of like members, kept by them or given to their party.

    A unit of flow is a partition. Balance is in the capacities: the flows that fill them all are the balanced
    assignments. Keeping costs nothing.

    Parameters
    ----------
    parties : RackParties
    groups : ndarray of int64, shape (n_groups, 1 + n_classes)
        The party of a group's members, and how much of each class each of them may keep.
    members : ndarray of int64, shape (n_groups,)
        How many members a group has.
    cost : ndarray of int64, shape (n_classes, n_parties)
        What giving a partition costs.
    """

    def __init__(self, parties: RackParties, groups: Counts, members: Counts, cost: Counts) -> None:
        self._parties, self._groups = parties, groups
        self._party = len(parties.local)  # nodes: classes, parties, groups, blocks, source, sink
        self._group = self._party + len(parties.low)
        self._block = self._group + len(groups)
        self._source = self._block + len(parties.extras)
        self._network = FlowNetwork(self._source + 2)
        self._ample = int(parties.sizes.sum()) + 1  # so that an edge in the middle is never full
        self._kept: list[tuple[int, int, int]] = []
        self._given: list[tuple[int, int, int]] = []
        self._new: list[int] = []
        self._more: list[tuple[int, int]] = []
        self._add_classes(cost)
        self._add_groups(members)
        pushed = self._network.push(self._source, self._source + 1)
        assert pushed == self._ample - 1, "counts that no assignment has"

    def shares(self) -> Counts:
        """What each group keeps of every class, and in the last column what it is given."""
        shares = np.zeros((len(self._groups), len(self._parties.local) + 1), dtype=np.int64)
        for group, of, edge in self._kept:
            shares[group, of] = self._network.flow(edge)
        shares[:, -1] = [self._network.flow(edge) for edge in self._new]
        return shares

    def given(self) -> Counts:
        """What is given of each class to every party."""
        given = np.zeros(self._parties.local.shape, dtype=np.int64)
        for of, party, edge in self._given:
            given[of, party] = self._network.flow(edge)
        return given

    def cheapest(self) -> RackParties:
        """The same parties, held to what all cheapest flows have in common, if each party is one group."""
        may_take, low = np.zeros_like(self._parties.may_take), self._parties.low.copy()
        block, extras = np.full_like(self._parties.block, -1), self._parties.extras.copy()
        for of, party, edge in self._given:
            may_take[of, party] = self._network.detour(edge) == 0
        for group, edge in self._more:
            party, detour = self._groups[group, 0], self._network.detour(edge)
            if detour == 0:
                block[party] = self._parties.block[party]
            elif detour < 0:
                low[party] += 1
                extras[self._parties.block[party]] -= self._network.flow(edge)
        return replace(self._parties, may_take=may_take, low=low, block=block, extras=extras)

    def _add_classes(self, cost: Counts) -> None:
        for of, size in enumerate(self._parties.sizes.tolist()):
            self._network.add_edge(self._source, of, size)
        for of, party in np.argwhere(self._parties.may_take).tolist():
            edge = self._network.add_edge(of, self._party + party, self._ample, int(cost[of, party]))
            self._given.append((of, party, edge))

    def _add_groups(self, members: Counts) -> None:
        low, block = self._parties.low.tolist(), self._parties.block.tolist()
        for group, ((party, *owned), size) in enumerate(zip(self._groups.tolist(), members.tolist(), strict=True)):
            node, sink = self._group + group, self._source + 1
            for of, each in enumerate(owned):
                if each:
                    self._kept.append((group, of, self._network.add_edge(of, node, size * each)))
            self._new.append(self._network.add_edge(self._party + party, node, self._ample))
            self._network.add_edge(node, sink, size * low[party])
            if block[party] >= 0:
                self._more.append((group, self._network.add_edge(node, self._block + block[party], size)))
        for at, extra in enumerate(self._parties.extras.tolist()):
            self._network.add_edge(self._block + at, self._source + 1, extra)
