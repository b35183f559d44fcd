"""What logs keep and lose when brokers die: acks, unclean election, and coordinators that cannot append."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.sim import Result, simulate
from groupsim.sim.model import (
    Broker,
    Distribution,
    Entry,
    Kill,
    Override,
    Restart,
    Scenario,
    StartMembers,
)
from groupsim.sim.units import MS, S
from tests.support.coordinators import moved
from tests.support.dying_logs import (
    AUTO,
    QUIET,
    RATE,
    broker,
    offsets_cut_back,
    offsets_replicas,
    the_one_behind_leads,
    truncated,
    world,
)
from tests.support.fidelity import differences
from tests.support.scenarios import at, member

KILL = at(30 * S, Kill(target=broker("leader/t/0")))


@pytest.mark.parametrize(("acks", "least", "most"), [("all", 0, 0), ("1", 1, 10), ("0", 1, 20)])
def test_what_a_dead_leader_had_alone_is_lost_unless_producers_wait_for_all(acks: str, least: int, most: int) -> None:
    losses = [truncated(simulate(world(KILL, acks=acks), seed=seed)) for seed in range(1, 6)]
    assert least <= sum(losses) <= most


def test_both_fidelities_lose_the_same() -> None:
    assert not differences(world(KILL, acks="1"), seed=1, check=False)


def test_an_unclean_election_loses_what_nobody_had_read_since_the_new_leader_fell_behind() -> None:
    result = simulate(the_one_behind_leads(unclean_leader_election=True))
    assert truncated(result) == pytest.approx(10 * RATE, abs=10)  # from 60 s to 70 s
    assert result.summary.lag_records_end.iloc[0] < RATE
    rows = result.tables["delivery"]
    assert not (rows.kind == "loss")[rows.cause != "truncated log"].any()


def test_with_unclean_election_off_the_partition_waits_for_the_last_one_in_sync() -> None:
    result = simulate(the_one_behind_leads())
    assert truncated(result) == 0
    rows = result.tables["unavailability"]
    assert rows.to_us.max() == 150 * S


def test_both_fidelities_agree_on_unclean_elections() -> None:
    assert not differences(the_one_behind_leads(unclean_leader_election=True), seed=1, check=False)


def test_readers_that_wait_for_a_leader_go_on_behind_what_is_gone() -> None:
    made = the_one_behind_leads(unclean_leader_election=True)
    stays = replace(made, timeline=tuple(one for one in made.timeline if one.verb.target.kind == "broker"))
    result = simulate(stays)
    assert truncated(result) == 0, "all of it had been read"
    assert result.summary.lag_records_end.iloc[0] < RATE
    assert result.summary.duplicates.iloc[0] == 0


# --- coordinators -----------------------------------------------------------------------------------------------------


def counts(result: Result) -> dict[tuple[str, str], int]:
    return {(one.api, one.error): one.count for one in result.tables["requests"].itertuples(index=False)}


def too_few(protocol: str, *more: Entry) -> Scenario:
    """One broker of two that must be in sync is closed, and back half a minute later."""
    config = replace(QUIET, min_insync_replicas=2, offsets_replication_factor=2)
    down = Restart(target=broker("1"), down=Distribution.constant(30 * S))
    made = world(at(30 * S, down), *more, config=config, replication_factor=1)
    spec = replace(made.groups[0], client=replace(AUTO, group_protocol=protocol))  # type: ignore[arg-type]
    two = replace(made.cluster, brokers=(Broker(id=0), Broker(id=1)))
    return replace(made, cluster=two, groups=(spec,))


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_commits_are_refused_while_too_few_are_in_sync(protocol: str) -> None:
    one = moved(too_few(protocol), seed=1)
    assert not [time for time in one.committed_s if 36 < time < 60]
    assert [time for time in one.committed_s if time > 70]
    assert one.result is not None
    assert counts(one.result)["OffsetCommit", "COORDINATOR_NOT_AVAILABLE"] > 20, "each is answered at once"
    assert one.rebalances(29.0) == 0


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_both_fidelities_agree_while_nothing_can_be_appended(protocol: str) -> None:
    assert not differences(too_few(protocol, at(40 * S, Kill(target=member(1)))), seed=1, check=False)


def test_nobody_is_assigned_anything_while_too_few_are_in_sync() -> None:
    result = simulate(too_few("classic", at(40 * S, Kill(target=member(1)))))
    states = result.tables["states"]
    stable = states[(states.state == "Stable") & (states.from_us > 40 * S)]
    assert stable.from_us.min() > 60 * S
    assert counts(result)["SyncGroup", "COORDINATOR_NOT_AVAILABLE"] > 0


def test_a_group_is_none_until_the_log_takes_it() -> None:
    """CoordinatorRuntime.failCurrentBatch: with the snapshot, ids that were handed out are gone."""
    made = too_few("classic")
    late = replace(made.groups[0].members, boot=Distribution.constant(65 * S))
    made = replace(made, groups=(replace(made.groups[0], members=late),))
    result = simulate(made)
    asked = counts(result)
    assert asked["JoinGroup", "UNKNOWN_MEMBER_ID"] == asked["JoinGroup", "MEMBER_ID_REQUIRED"] - 3 > 100
    assert ("SyncGroup", "COORDINATOR_NOT_AVAILABLE") not in asked
    (first,) = result.tables["rebalances"].itertuples(index=False)
    assert (first.generation_to, first.members_after) == (1, 3)
    assert first.start_us > 68 * S
    assert first.preparing_us >= 3 * S
    assert not differences(made, seed=1, check=False)


def one_follower_dies(*, commit: bool) -> Scenario:
    """A follower of the group's offsets partition dies; of three members one commits, or nobody."""
    config = replace(QUIET, session_timeout_us=18 * S, offsets_replication_factor=2)
    made = world(config=config, replication_factor=1, partitions=3)
    _, follower = offsets_replicas(made)
    made = replace(made, timeline=(at(30 * S, Kill(target=broker(str(follower)))),))
    silent = replace(AUTO, enable_auto_commit=False)
    overrides = (Override(members=frozenset({0}), client=AUTO),) if commit else ()
    return replace(made, groups=(replace(made.groups[0], client=silent, overrides=overrides),))


def test_heartbeats_wait_for_commits_of_others_that_are_not_committed() -> None:
    made = one_follower_dies(commit=True)
    found = counts(simulate(made))
    assert found["Heartbeat", "COORDINATOR_NOT_AVAILABLE"] >= 2 * 2
    assert not differences(made, seed=1, check=False)


def test_who_has_asked_nothing_looks_for_a_new_coordinator_as_soon_as_the_connection_closes() -> None:
    """A twentieth of a second after the broker has died; nobody's heartbeat is due."""
    made = one_follower_dies(commit=False)
    leader, _ = offsets_replicas(made)
    made = replace(made, timeline=(at(30 * S, Kill(target=broker(str(leader)))),))
    before, after = (counts(simulate(replace(made, horizon_us=30 * S + later))) for later in (0, 50 * MS))
    assert after["Heartbeat", "NONE"] == before["Heartbeat", "NONE"]
    assert before["FindCoordinator", "NONE"] == 3
    assert after["FindCoordinator", "NONE"] == 2 * 3


def test_heartbeats_do_not_wait_where_nobody_writes() -> None:
    found = counts(simulate(one_follower_dies(commit=False)))
    assert {error for api, error in found if api == "Heartbeat"} == {"NONE"}


def test_an_unclean_election_of_the_offsets_topic_takes_commits_back() -> None:
    made = offsets_cut_back(is_unclean=True)
    duplicates = simulate(made).summary.duplicates.iloc[0]
    assert duplicates == pytest.approx(29 * RATE, abs=1.5 * RATE)
    assert not differences(made, seed=1, check=False)


def test_an_unclean_election_takes_back_nothing_that_the_new_leader_has_caught_up_with() -> None:
    """It was gone before, for nine seconds, and followed again."""
    made = offsets_cut_back(is_unclean=True)
    _, follower = (broker(str(one)) for one in offsets_replicas(made))
    earlier = at(5 * S, Kill(target=follower)), at(14 * S, StartMembers(target=follower))
    duplicates = simulate(replace(made, timeline=(*earlier, *made.timeline))).summary.duplicates.iloc[0]
    assert duplicates == pytest.approx(29 * RATE, abs=1.5 * RATE)


def test_with_unclean_election_off_commits_wait_for_the_last_one_in_sync() -> None:
    one = moved(offsets_cut_back(is_unclean=False), seed=1)
    assert one.loaded_s == []
    assert max(one.committed_s) < 60
