"""How many partitions of each class every class of members gets, as flow through a network."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from groupsim.assignors.own.flow_network import FlowNetwork
from groupsim.assignors.own.rack_classes import RackClasses

Counts = npt.NDArray[np.int64]


class ShareNetwork:
    """Classes of partitions flow to groups of like members, kept by them or given to their class.

    A unit of flow is a partition. Balance is in the capacities: the flows that fill them all are the balanced
    assignments. Keeping costs nothing.

    Parameters
    ----------
    classes : RackClasses
    groups : ndarray of int64, shape (n_groups, 1 + n_classes)
        The class of a group's members, and how much of each class each of them may keep.
    members : ndarray of int64, shape (n_groups,)
        How many members a group has.
    cost : ndarray of int64, shape (n_classes, n_member_classes)
        What giving a partition costs.
    """

    def __init__(self, classes: RackClasses, groups: Counts, members: Counts, cost: Counts) -> None:
        self._classes, self._groups = classes, groups
        self._first_member_class = len(classes.local)  # nodes: classes, member classes, groups, blocks, source, sink
        self._group = self._first_member_class + len(classes.low)
        self._block = self._group + len(groups)
        self._source = self._block + len(classes.extras)
        self._network = FlowNetwork(self._source + 2)
        self._ample = int(classes.sizes.sum()) + 1  # so that an edge in the middle is never full
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
        shares = np.zeros((len(self._groups), len(self._classes.local) + 1), dtype=np.int64)
        for group, of, edge in self._kept:
            shares[group, of] = self._network.flow(edge)
        shares[:, -1] = [self._network.flow(edge) for edge in self._new]
        return shares

    def given(self) -> Counts:
        """What is given of each class to every class."""
        given = np.zeros(self._classes.local.shape, dtype=np.int64)
        for of, member_class, edge in self._given:
            given[of, member_class] = self._network.flow(edge)
        return given

    def cheapest(self) -> RackClasses:
        """The same member classes, held to what all cheapest flows share, if each member class is one group."""
        may_take, low = np.zeros_like(self._classes.may_take), self._classes.low.copy()
        block, extras = np.full_like(self._classes.block, -1), self._classes.extras.copy()
        for of, member_class, edge in self._given:
            may_take[of, member_class] = self._network.detour(edge) == 0
        for group, edge in self._more:
            member_class, detour = self._groups[group, 0], self._network.detour(edge)
            if detour == 0:
                block[member_class] = self._classes.block[member_class]
            elif detour < 0:
                low[member_class] += 1
                extras[self._classes.block[member_class]] -= self._network.flow(edge)
        return replace(self._classes, may_take=may_take, low=low, block=block, extras=extras)

    def _add_classes(self, cost: Counts) -> None:
        for of, size in enumerate(self._classes.sizes.tolist()):
            self._network.add_edge(self._source, of, size)
        for of, member_class in np.argwhere(self._classes.may_take).tolist():
            edge = self._network.add_edge(
                of, self._first_member_class + member_class, self._ample, int(cost[of, member_class])
            )
            self._given.append((of, member_class, edge))

    def _add_groups(self, members: Counts) -> None:
        low, block = self._classes.low.tolist(), self._classes.block.tolist()
        for group, ((member_class, *owned), size) in enumerate(
            zip(self._groups.tolist(), members.tolist(), strict=True)
        ):
            node, sink = self._group + group, self._source + 1
            for of, each in enumerate(owned):
                if each:
                    self._kept.append((group, of, self._network.add_edge(of, node, size * each)))
            self._new.append(self._network.add_edge(self._first_member_class + member_class, node, self._ample))
            self._network.add_edge(node, sink, size * low[member_class])
            if block[member_class] >= 0:
                self._more.append((group, self._network.add_edge(node, self._block + block[member_class], size)))
        for at, extra in enumerate(self._classes.extras.tolist()):
            self._network.add_edge(self._block + at, self._source + 1, extra)
