"""Server assignors as a group machine calls them: positions of the group in and out, time to charge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import pytest

from groupsim.assignors import (
    Assignment,
    AssignorError,
    GroupSnapshot,
    GroupSpec,
    MemberSubscription,
    ServerAssignor,
    Topics,
    create_server,
)
from groupsim.sim.catalog import Catalog, Partitions
from groupsim.sim.cluster.groups.assignment import Layouts
from groupsim.sim.cluster.groups.assignor_costs import Task, coordinator_cost_us
from groupsim.sim.cluster.groups.target_assignors import CoordinatorAssignor, target_assignors
from groupsim.sim.config import CoordinatorConfig
from groupsim.sim.model import Broker, Cluster, Group, Members, Scenario, Subscription, Topic
from groupsim.sim.protocol.consumer.assigning import AssignorInput
from groupsim.sim.protocol.messages import NO_PARTITIONS, Positions

COUNTS = {"a": 5, "b": 3, "c": 4}
ORDERS = ("abc", "cab", "bca")


def _partitions(order: str) -> Partitions:
    """A group's partitions, whose topics came in this order."""
    catalog = Catalog([Topic(name=name, partitions=count) for name, count in COUNTS.items()], [0, 1])
    partitions = Partitions(catalog)
    for name in order:
        partitions.cover([name])
    return partitions


def _assignor(name: str, partitions: Partitions) -> CoordinatorAssignor:
    return _offered(partitions, (name,))[name]


def _offered(
    partitions: Partitions, names: tuple[str, ...], own: tuple[str, ...] = ()
) -> dict[str, CoordinatorAssignor]:
    group = Group(name="g", subscription=Subscription(topics=("a",)), members=Members(count=1))
    cluster = Cluster(brokers=(Broker(id=0),), config=CoordinatorConfig(consumer_assignors=names))
    scenario = Scenario(
        name="s", question="?", horizon_us=1, cluster=cluster, topics=(), groups=(group,), allow_assignors=own
    )
    return target_assignors(scenario, group, Layouts(partitions))


def _group(
    members: Mapping[str, tuple[str, ...]],
    targets: Sequence[Positions] | None = None,
    counts: Mapping[str, int] = COUNTS,
    instances: Sequence[str | None] | None = None,
) -> AssignorInput:
    kinds = tuple(dict.fromkeys(members.values()))
    return AssignorInput(
        tuple(members),
        tuple(instances or [None] * len(members)),
        (None,) * len(members),
        kinds,
        np.array([kinds.index(one) for one in members.values()], np.int32),
        tuple(targets or [NO_PARTITIONS] * len(members)),
        counts,
    )


def _named(partitions: Partitions, positions: Positions) -> list[tuple[str, int]]:
    return [(partitions.topic[one], int(partitions.number[one])) for one in positions]


def _directly(
    name: str, members: Mapping[str, tuple[str, ...]], targets: Sequence[Sequence[tuple[str, int]]]
) -> list[list[tuple[str, int]]]:
    """What the assignor itself says of the same group."""
    topics = Topics.of(COUNTS)
    found = tuple(
        MemberSubscription(member_id=member_id, topics=names, owned=topics.positions(list(target)))
        for (member_id, names), target in zip(members.items(), targets, strict=True)
    )
    assignment = create_server(name).assign(GroupSnapshot(topics, found))
    return list(assignment.plain(list(members)).values())


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", ["uniform", "range"])
@pytest.mark.parametrize(
    "members",
    [
        {"x": ("a", "b"), "y": ("a", "b"), "z": ("a", "b")},
        {"x": ("a", "b"), "y": ("b", "c"), "z": ("a", "b", "c")},
        {"x": ("a", "none-such")},
    ],
)
def test_a_chain_of_targets_is_the_assignors_own(order: str, name: str, members: dict[str, tuple[str, ...]]) -> None:
    partitions = _partitions(order)
    assignor = _assignor(name, partitions)
    given, direct = [NO_PARTITIONS] * len(members), [[]] * len(members)
    changing = dict(members)
    for step in range(3):
        computed = assignor(_group(changing, given))
        expected = _directly(name, changing, direct)
        assert [_named(partitions, one) for one in computed.targets] == expected
        changing = {**changing, f"new-{step}": next(iter(members.values()))}
        given, direct = [*computed.targets, NO_PARTITIONS], [*expected, []]


def test_only_what_the_image_has_is_given_out() -> None:
    partitions = _partitions("abc")
    computed = _assignor("range", partitions)(_group({"x": ("a", "b")}, counts={"a": 2, "c": 4}))
    assert _named(partitions, computed.targets[0]) == [("a", 0), ("a", 1)]


def test_a_target_of_a_topic_that_the_image_lacks_is_left_out() -> None:
    partitions = _partitions("abc")
    former = np.concatenate([partitions.of("b"), partitions.of("a")])
    computed = _assignor("uniform", partitions)(_group({"x": ("a", "b")}, [former], counts={"a": 5}))
    assert sorted(_named(partitions, computed.targets[0])) == [("a", number) for number in range(5)]


def test_instance_ids_order_a_range() -> None:
    partitions = _partitions("abc")
    members = {"x": ("a",), "y": ("a",)}
    assigned = _assignor("range", partitions)(_group(members, instances=["two", "one"])).targets
    assert [len(one) for one in assigned] == [2, 3], "the first by instance id has one more"


@pytest.mark.parametrize(
    ("members", "targets", "task"),
    [
        ({"x": ("a", "b"), "y": ("a", "b")}, None, Task(2, 8, 2)),
        ({"x": ("a", "b"), "y": ("b",)}, None, Task(2, 8, 2, equal=False)),
        ({"x": ("a",)}, [np.array([0], np.int32)], Task(1, 5, 1, owned=True)),
        ({"x": ("none-such",)}, None, Task(1, 0, 0)),
    ],
)
def test_the_time_is_that_of_the_task(
    members: dict[str, tuple[str, ...]], targets: list[Positions], task: Task
) -> None:
    charged: list[Task] = []

    def noted(name: str, asked: Task) -> int:
        charged.append(asked)
        return coordinator_cost_us(name, asked)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("groupsim.sim.cluster.groups.target_assignors.coordinator_cost_us", noted)
        _assignor("uniform", _partitions("abc"))(_group(members, targets))
    assert charged == [task]


def test_large_groups_take_milliseconds() -> None:
    count = 2_000
    catalog = Catalog([Topic(name="t", partitions=count)], [0])
    partitions = Partitions(catalog)
    partitions.cover(["t"])
    members = {f"m{index}": ("t",) for index in range(count)}
    computed = _assignor("uniform", partitions)(_group(members, counts=catalog.counts))
    assert computed.charged_us == coordinator_cost_us("uniform", Task(count, count, 1)) > 100


class Own(ServerAssignor):
    """A user's own that gives everything to the first member."""

    name: ClassVar[str] = "own"
    answer: ClassVar[str] = "right"

    def assign_group(self, spec: GroupSpec) -> Assignment:
        if self.answer == "throws":
            raise KeyError("lost")
        everything = np.arange(spec.topics.n_partitions, dtype=np.int32)
        given = everything[:-1] if self.answer == "incomplete" else everything
        return Assignment.of_lists(spec.topics, [given, *([[]] * (spec.n_members - 1))])


def _own(partitions: Partitions) -> CoordinatorAssignor:
    return _offered(partitions, ("uniform", "own"), (f"{Own.__module__}:Own",))["own"]


def test_a_users_own_is_asked_and_charged_as_range() -> None:
    partitions = _partitions("bca")
    computed = _own(partitions)(_group({"x": ("a", "b", "c"), "y": ("a", "b", "c")}))
    assert sorted(_named(partitions, computed.targets[0])) == [(n, i) for n, c in COUNTS.items() for i in range(c)]
    assert len(computed.targets[1]) == 0
    assert computed.charged_us == coordinator_cost_us("range", Task(2, 12, 3))


@pytest.mark.parametrize(("answer", "reason"), [("throws", "own: KeyError: 'lost'"), ("incomplete", "own: ")])
def test_what_a_users_own_does_wrong_is_its_failure(answer: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Own, "answer", answer)
    with pytest.raises(AssignorError, match=reason):
        _own(_partitions("abc"))(_group({"x": ("a", "b", "c")}))


def test_a_target_keeps_its_order() -> None:
    partitions = _partitions("bca")
    layout = Layouts(partitions).of(COUNTS)
    lists = [partitions.of("c")[::-1], np.concatenate([partitions.of("a")[3:], partitions.of("b")[:1]]), NO_PARTITIONS]
    local = layout.local_targets(lists)
    assert [layout.to_group[one].tolist() for one in local.lists()] == [one.tolist() for one in lists]
