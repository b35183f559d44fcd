"""Offsets of a group whose coordinator moves: what administrators delete, and what expires."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from groupsim.scenarios import load
from groupsim.sim import Result, simulate
from groupsim.sim.model import Close, DeleteGroup, DeleteOffsets, Distribution, Entry, Kill, Restart, Scenario, Target
from groupsim.sim.units import S
from tests.support.dying_logs import broker, world
from tests.support.fidelity import differences
from tests.support.scenarios import EVENTS_MAX, at

GROUP = Target("group", "g")


def counts(result: Result) -> dict[tuple[str, str], int]:
    return {(one.api, one.error): one.count for one in result.tables["requests"].itertuples(index=False)}


def large(*timeline: Entry, log_bytes: int = 200 << 20) -> Scenario:
    """A group that is stopped at 20 s, and whose log takes seconds to be read when its broker is closed at 30 s."""
    made = world(at(20 * S, Close(target=GROUP)), at(30 * S, Close(target=broker("coordinator/g"))), *timeline)
    return replace(made, cluster=replace(made.cluster, offsets_log_bytes=log_bytes))


def test_a_group_is_deleted_when_its_coordinator_has_read_the_log() -> None:
    made = large(at(31 * S, DeleteGroup(target=GROUP)))
    result = simulate(made)
    found = counts(result)
    assert found["DeleteGroups", "COORDINATOR_LOAD_IN_PROGRESS"] >= 3
    assert found["DeleteGroups", "NONE"] == 1
    assert result.warnings == []
    assert not differences(made, seed=1, check=False)


def test_offsets_are_deleted_when_the_coordinator_has_read_the_log() -> None:
    found = counts(simulate(large(at(31 * S, DeleteOffsets(target=GROUP, topics=("t",))))))
    assert found["OffsetDelete", "COORDINATOR_LOAD_IN_PROGRESS"] >= 3
    assert found["OffsetDelete", "NONE"] == 1


def test_nobody_waits_for_a_coordinator_for_ever() -> None:
    result = simulate(large(at(33 * S, DeleteGroup(target=GROUP)), log_bytes=20 << 30))
    assert ("DeleteGroups", "NONE") not in counts(result)
    assert result.warnings == [
        "DeleteGroup-33000000 at 92.500 s: g: DeleteGroups is not answered in time: COORDINATOR_LOAD_IN_PROGRESS"
    ]


def expiring(*timeline: Entry) -> Scenario:
    """An empty group's offsets are kept for a minute, and looked at every ten seconds; readers are back at 95 s."""
    stop = Restart(target=GROUP, stop="close", down=Distribution.constant(75 * S))
    made = world(at(20 * S, stop), *timeline, horizon_us=150 * S)
    config = replace(
        made.cluster.config, offsets_retention_us=60 * S, offsets_retention_check_interval_us=10 * S
    )  # fmt: skip
    return replace(made, cluster=replace(made.cluster, config=config))


def causes(result: Result) -> set[str]:
    return set(result.tables["delivery"].cause)


def test_offsets_expire_at_the_coordinator_that_has_loaded_them() -> None:
    assert causes(simulate(expiring())) == {"expired offset"}
    for verb in (Close(target=broker("coordinator/g")), Kill(target=broker("coordinator/g"))):
        made = expiring(at(40 * S, verb))
        assert causes(simulate(made)) == {"expired offset"}
        assert not differences(made, seed=1, check=False)


def test_offsets_that_came_of_age_while_nobody_coordinated_expire_after_the_load() -> None:
    made = expiring(at(75 * S, Close(target=broker("coordinator/g"))))
    made = replace(made, cluster=replace(made.cluster, offsets_log_bytes=200 << 20))
    assert causes(simulate(made)) == {"expired offset"}


def test_a_commit_that_waits_for_a_dead_follower_keeps_the_next_one_waiting(tmp_path: Path) -> None:
    """A member of the consumer protocol has one automatic commit under way, also if it was quiet when it sent that."""
    file = tmp_path / "one.yaml"
    file.write_text("""
        version: 1
        question: Is a commit that was sent 0.3 ms before a follower dies the only one until it is answered?
        horizon: 32s
        topics: {orders: {partitions: 1, replication_factor: 2}}
        groups:
          billing:
            topics: [orders]
            protocol: consumer
            client: "4.0"
            config: {auto.commit.interval.ms: 1000}
            members: {count: 3}
        timeline:
          - {id: death, at: 20s, kill: {target: "broker:1"}}
          - {id: growth, at: 2620ms, add_partitions: {topic: orders, to: 2}}
    """)
    assert not differences(replace(load(file), event_budget=EVENTS_MAX), seed=26057)
