"""The order in which Kafka's assignors walk members can be switched, group by group."""

from __future__ import annotations

from groupsim.scenarios import load
from groupsim.sim import simulate

SMALL = {
    "topics.orders.partitions": 7,
    "groups.billing.members.count": 5,
    "groups.billing.members.start": {"every": "10s"},
    "timeline": [],
    "groups.billing.config[partition.assignment.strategy]": ["sticky"],
}


def test_java_order_decides_who_keeps_one_more() -> None:
    """Of four three have two partitions; when the fifth comes two keep them, those whose ids are walked first."""

    def owners(seed: int, java_order: bool) -> list[str]:
        scenario = load("kill-detection", set_=SMALL | {"groups.billing.java_order": java_order})
        ownership = simulate(scenario, seed=seed).tables["ownership"]
        last: list[str] = ownership[ownership["ended_by"] == "horizon"].sort_values("partition")["member"].tolist()
        return last

    assert any(owners(seed, True) != owners(seed, False) for seed in range(1, 6))


def test_java_order_is_the_default_and_a_key_of_a_group() -> None:
    assert all(group.java_order for group in load("kill-detection").groups)
    changed = load("kill-detection", set_={"groups.billing.java_order": False})
    assert not any(group.java_order for group in changed.groups)
