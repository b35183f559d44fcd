"""The assignors of a group coordinator, as the machine of a consumer group calls them.

The machine knows positions of the group and names of topics. An assignor is given the topics of one metadata image,
densely numbered (`sim.cluster.groups.assignment.Layout`), and the targets so far in the order in which they were
written.
"""

from __future__ import annotations

from functools import partial

from groupsim.assignors import (
    GroupSnapshot,
    GroupSpec,
    MemberNames,
    MemberSubscription,
    ServerAssignor,
    TopicIds,
    create_server,
    load_classes,
)
from groupsim.assignors.core.snapshot import SubscriptionTable
from groupsim.assignors.guarded_call import ask, is_own, made
from groupsim.sim.cluster.groups.assignment import Layout, Layouts
from groupsim.sim.cluster.groups.assignor_costs import Task, coordinator_cost_us
from groupsim.sim.model import Group, Scenario
from groupsim.sim.protocol.consumer.assigning import AssignorInput, Computed


def target_assignors(scenario: Scenario, group: Group, layouts: Layouts) -> dict[str, CoordinatorAssignor]:
    """The assignors that a broker offers a group (``group.consumer.assignors``), by name.

    Parameters
    ----------
    scenario : Scenario
        Says which assignors there are, and which of the user's own may be imported.
    group : Group
    layouts : Layouts
        Of the group.
    """
    own = {one.name: one for one in load_classes(scenario.allow_assignors).values() if issubclass(one, ServerAssignor)}
    return {
        name: CoordinatorAssignor(
            made(name, own.get(name, partial(create_server, name, java_order=group.java_order))), layouts
        )
        for name in scenario.cluster.config.consumer_assignors
    }


class CoordinatorAssignor:
    """A server assignor for one group (`TargetAssignor`).

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
        """Compute targets, and what that takes.

        Raises
        ------
        assignors.AssignorError
            What Kafka's assignor would throw; or a user's own threw something or answered nonsense.
        """
        assignor, layout = self._assignor, self._layouts.of_known(group.counts)
        spec = self._spec(group, layout)
        answer = ask(assignor, _snapshot(group, spec)) if is_own(assignor.name) else assignor.assign_group(spec)
        return Computed(layout.targets(answer.within(layout.topics)), coordinator_cost_us(assignor.name, _task(spec)))

    def _spec(self, group: AssignorInput, layout: Layout) -> GroupSpec:
        if self._names.member_ids != group.member_ids or self._names.instance_ids != group.instance_ids:
            self._names = MemberNames(group.member_ids, group.instance_ids)
        topics = layout.topics
        return GroupSpec(
            topics,
            TopicIds.derived(topics.names),
            self._names,
            SubscriptionTable.of_kinds(topics, group.kinds, group.kind_of),
            layout.local_targets(group.targets),
            mixes_patterns=group.mixes_patterns,
        )


def _snapshot(group: AssignorInput, spec: GroupSpec) -> GroupSnapshot:
    """The same group in the form in which answers of a user's own assignor are checked."""
    lists = spec.target.lists()
    members = [
        MemberSubscription(
            member_id=member_id, topics=group.kinds[kind], owned=lists[at], instance_id=instance_id, rack=rack
        )
        for at, (member_id, instance_id, rack, kind) in enumerate(
            zip(group.member_ids, group.instance_ids, group.racks, group.kind_of.tolist(), strict=True)
        )
    ]
    return GroupSnapshot(spec.topics, tuple(members))


def _task(spec: GroupSpec) -> Task:
    subscribed = spec.subscriptions.subscribed_topics
    partitions = sum(spec.topics.counts[topic] for topic in subscribed)
    return Task(spec.n_members, partitions, len(subscribed), spec.homogeneous, bool(len(spec.positions)))
