"""Between a group's partition vector and an assignor's.

Assignors see the topics of one metadata snapshot, densely numbered. The group's positions are permanent and may have
grown in any order. A `Layout` translates, and is shared by everybody who has seen the same metadata.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from groupsim.assignors import Assignment, Assignor, GroupSnapshot, Topics
from groupsim.assignors.core.snapshot import members_of_columns
from groupsim.assignors.guarded_call import ask
from groupsim.sim.catalog import Partitions
from groupsim.sim.protocol.messages import NO_PARTITIONS, JoinResponse, Positions


class Layout:
    """One metadata snapshot's topics, and where their partitions are in the group's vector.

    Parameters
    ----------
    counts : mapping of str to int
        Partition counts of the group's topics.
    partitions : Partitions
    """

    def __init__(self, counts: Mapping[str, int], partitions: Partitions) -> None:
        self.topics = _topics(counts, partitions)
        parts = [partitions.of(name)[: counts[name]] for name in self.topics.names]
        self.to_group: Positions = np.concatenate(parts) if parts else np.empty(0, np.int32)
        self._to_local = np.full(len(partitions), -1, np.int32)
        self._to_local[self.to_group] = np.arange(len(self.to_group), dtype=np.int32)

    def local(self, positions: Positions) -> Positions:
        """The assignor's positions of some of the group's; what this metadata does not know is left out."""
        inside = positions[positions < len(self._to_local)]
        there = self._to_local[inside]
        return there[there >= 0]

    def targets(self, assignment: Assignment) -> list[Positions]:
        """The group's positions that each member is assigned, in the assignor's order."""
        return assignment.parts(self.to_group[assignment.flat])

    def local_sorted(self, lists: Sequence[Positions]) -> list[Positions]:
        """`local` of each of these, ascending."""
        whose, there = self._known(lists)
        there = there[np.lexsort((there, whose))]
        ends = np.searchsorted(whose, np.arange(len(lists)), side="right").tolist()
        return [there[begin:end] for begin, end in pairwise([0, *ends])]

    def local_targets(self, lists: Sequence[Positions]) -> Assignment:
        """`local` of each of these in its own order, as an assignment."""
        whose, there = self._known(lists)
        ends = np.searchsorted(whose, np.arange(1, len(lists) + 1)).astype(np.int64)
        return Assignment(self.topics, there, np.append(0, ends[:-1])[: len(lists)], ends)

    def _known(self, lists: Sequence[Positions]) -> tuple[NDArray[np.int64], Positions]:
        """Whose list each of the positions is in that this metadata knows, and its local position."""
        whose = np.repeat(np.arange(len(lists)), [len(one) for one in lists])
        positions = np.concatenate([NO_PARTITIONS, *lists])
        known = positions < len(self._to_local)
        whose, there = whose[known], self._to_local[positions[known]]
        known = there >= 0
        return whose[known], there[known]


def _topics(counts: Mapping[str, int], partitions: Partitions) -> Topics:
    topics = Topics.of(counts)
    racks = [partitions.racks_of(name, counts[name]) for name in topics.names]
    known = [one for of_topic in racks if of_topic is not None for one in of_topic]
    return replace(topics, racks=tuple(known)) if known else topics


class Layouts:
    """Layouts of one group, one for each view of the metadata that somebody has had."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions
        self._known: dict[tuple[tuple[str, int, int], ...], Layout] = {}

    def of(self, counts: Mapping[str, int]) -> Layout:
        """The layout of a view: topic -> partition count."""
        key = tuple((name, count, self._partitions.id_of(name)) for name, count in counts.items())
        layout = self._known.get(key)
        if layout is None:
            layout = self._known[key] = Layout(counts, self._partitions)
        return layout

    def of_known(self, image: Mapping[str, int]) -> Layout:
        """The layout of all topics of the group that a metadata image has: topic -> partition count."""
        layout = self.of({name: image[name] for name in sorted(self._partitions.topics) if name in image})
        assert len(layout.to_group) == layout.topics.n_partitions, (
            "every partition of the group's topics has a position"
        )
        return layout


@dataclass(frozen=True, slots=True)
class Loads:
    """What an assignor that asks for it (`Assignor.needs_loads`) is told about loads.

    Parameters
    ----------
    rates_mrps : int64 array, shape (n_partitions,)
        Production of the group's partitions, milli-records per second.
    capacities : mapping of str to int
        Milli-records per second that each member can process; none for processing that costs nothing.
    """

    rates_mrps: NDArray[np.int64]
    capacities: Mapping[str, int]


def assign(
    assignor: Assignor, layout: Layout, response: JoinResponse, loads: Loads | None = None
) -> dict[str, Positions]:
    """Run an assignor on what the leader has learnt from its JoinGroup response.

    Returns
    -------
    dict of str to int32 array
        Member id -> the group's positions, in the assignor's order.

    Raises
    ------
    assignors.AssignorError
        What Kafka's assignor would throw; or a user's assignor answered nonsense.
    """
    ids, instances, told = zip(*response.members, strict=True)
    columns: dict[str, Iterable[object]] = {
        "member_id": ids,
        "topics": [one.topics for one in told],
        "owned": layout.local_sorted([one.owned for one in told]),
        "generation": [one.generation for one in told],
        "instance_id": instances,
        "rack": [one.rack for one in told],
        "user_data": [one.user_data for one in told],
    }
    if loads is not None:
        columns["capacity"] = map(loads.capacities.get, ids)
    members = members_of_columns(len(ids), columns)
    topics = layout.topics
    if loads is not None:
        topics = replace(topics, rates=tuple(loads.rates_mrps[layout.to_group].tolist()))
    snapshot = GroupSnapshot(topics, members)
    assignment = ask(assignor, snapshot).within(layout.topics)
    return dict(zip(ids, layout.targets(assignment), strict=True))
