"""The server assignors of one group, as its machine calls them: between a group's partition vector and an assignor's.

What they take is charged by the same kind of model as what a leader's assignor takes (`sim.cluster.assignor_costs`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from groupsim.assignors.core.assignment import Assignment
from groupsim.assignors.core.snapshot import SubscriptionTable
from groupsim.assignors.registry import create_server
from groupsim.assignors.server.group_spec import GroupSpec
from groupsim.assignors.server.member_names import MemberNames
from groupsim.assignors.server.server_assignor import ServerAssignor
from groupsim.assignors.server.topic_ids import TopicIds
from groupsim.sim.cluster.assignment import Layout, Layouts
from groupsim.sim.cluster.assignor_costs import server_cost_us
from groupsim.sim.protocol.consumer.assigning import AssignorInput, Computed, TargetAssignor
from groupsim.sim.protocol.messages import Positions


def target_assignors(names: Sequence[str], layouts: Layouts, *, java_order: bool) -> Mapping[str, TargetAssignor]:
    """Those of ``group.consumer.assignors``, by name."""
    return {name: _Targets(create_server(name, java_order=java_order), layouts) for name in names}


class _Targets:
    """One server assignor (`TargetAssignor`).

    Parameters
    ----------
    assignor : ServerAssignor
    layouts : Layouts
        Of the group.
    """

    def __init__(self, assignor: ServerAssignor, layouts: Layouts) -> None:
        self._assignor = assignor
        self._layouts = layouts
        self._names = MemberNames(())

    def __call__(self, group: AssignorInput) -> Computed:
        """Compute targets; see `TargetAssignor`."""
        wanted = sorted({name for kind in group.kinds for name in kind if name in group.counts})
        layout = self._layouts.of({name: group.counts[name] for name in wanted})
        if self._names.member_ids != group.member_ids or self._names.instance_ids != group.instance_ids:
            self._names = MemberNames(group.member_ids, group.instance_ids)
        topics = layout.topics
        table = SubscriptionTable(group.kinds, group.kind_of, _has(layout, group.kinds))
        spec = GroupSpec(topics, TopicIds.derived(topics.names), self._names, table, _so_far(layout, group.targets))
        found = self._assignor.assign_group(spec).within(topics)
        charged = server_cost_us(self._assignor.name, len(group.member_ids), topics.n_partitions)
        return Computed([layout.to_group[positions] for positions in found.lists()], charged)


def _has(layout: Layout, kinds: Sequence[tuple[str, ...]]) -> NDArray[np.bool_]:
    names = layout.topics.names
    return np.array([[name in kind for name in names] for kind in map(frozenset, kinds)], np.bool_).reshape(
        len(kinds), len(names)
    )


def _so_far(layout: Layout, targets: Sequence[Positions]) -> Assignment:
    """The targets so far, without topics that are gone."""
    local = [layout.local(one) for one in targets]
    ends = np.cumsum([len(one) for one in local], dtype=np.int64)
    starts = np.append(0, ends[:-1]) if len(ends) else ends
    flat = np.concatenate([*local, np.empty(0, np.int32)]).astype(np.int32)
    return Assignment(layout.topics, flat, starts, ends)
