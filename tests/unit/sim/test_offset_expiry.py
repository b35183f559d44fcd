"""Committed offsets that expire or are deleted, and where whoever comes next begins to read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from groupsim.sim import Result
from groupsim.sim.config import CoordinatorConfig
from groupsim.sim.model import (
    Close,
    Cluster,
    DeleteGroup,
    DeleteOffsets,
    Entry,
    Kill,
    Scenario,
    SetConfig,
    StartMembers,
    Subscribe,
    Subscription,
    Topic,
)
from groupsim.sim.units import MS, S
from tests.unit.sim.scenes import (
    CLIENT,
    FIDELITIES,
    PROCESSING,
    constant,
    delivered,
    entry,
    everybody,
    group,
    lasting,
    member,
    rows,
    scene,
    simulate,
    summary,
)

both = pytest.mark.parametrize("fidelity", FIDELITIES)
EARLIEST = replace(CLIENT, auto_offset_reset="earliest")
CONSUMER = replace(CLIENT, group_protocol="consumer")
EACH_BATCH = replace(PROCESSING, commit="after_batch")
RATE = 40
"""Records a second of topic t, four partitions."""


def forgetful(*groups: Any, timeline: tuple[Entry, ...] = (), **more: Any) -> Scenario:
    """Offsets are kept for 20 s, and looked at every 10 s."""
    made = scene(*groups, timeline=timeline, horizon_us=100 * S, **more)
    config = CoordinatorConfig(
        initial_rebalance_delay_us=0, offsets_retention_us=20 * S, offsets_retention_check_interval_us=10 * S
    )
    return replace(made, cluster=Cluster(config=config, network=made.cluster.network))


def away(from_s: int, to_s: int) -> Entry:
    return entry(from_s * S, Kill(target=member(0), down=lasting((to_s - from_s) * S)))


def lives(result: Result) -> list[str]:
    return [one["ended_by"] for one in rows(result, "members")]


# --- expiry -----------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("back_s", [49, 71])
def test_who_comes_back_after_its_offsets_have_expired_skips_what_was_produced_meanwhile(
    fidelity: str, back_s: int
) -> None:
    """Killed at 20 s, Empty at 30 s; the offsets are due at 50 s, so the check of 50 s takes them, or that of 60 s."""
    result = simulate(forgetful(group(processing=EACH_BATCH), timeline=(away(20, back_s),)), fidelity)
    lost = delivered(result).get(("loss", "expired offset"), 0)
    assert lost == pytest.approx((back_s - 20) * RATE, abs=20) if back_s == 71 else lost == 0


@both
def test_from_the_beginning_everything_is_read_twice(fidelity: str) -> None:
    result = simulate(forgetful(group(client=EARLIEST, processing=EACH_BATCH), timeline=(away(20, 71),)), fidelity)
    found = delivered(result)
    assert found["duplicate", "expired offset"] == pytest.approx(20 * RATE, abs=20)
    assert ("loss", "expired offset") not in found


@both
def test_by_duration_only_what_is_older_than_that_is_skipped(fidelity: str) -> None:
    """KIP-1106: of the 51 s that it was away, the last 30 are read."""
    recent = replace(CLIENT, auto_offset_reset="by_duration", reset_duration_us=30 * S)
    result = simulate(forgetful(group(client=recent, processing=EACH_BATCH), timeline=(away(20, 71),)), fidelity)
    assert delivered(result)["loss", "expired offset"] == pytest.approx((71 - 30 - 20) * RATE, abs=20)


@both
@pytest.mark.parametrize("back_s", [49, 71])
def test_without_a_policy_it_dies(fidelity: str, back_s: int) -> None:
    """Configured so while it was away, and back after the check: its offsets were all that it could begin with."""
    strict = entry(30 * S, SetConfig(target=everybody(), client=replace(CLIENT, auto_offset_reset="none")))
    result = simulate(forgetful(group(processing=EACH_BATCH), timeline=(away(20, back_s), strict)), fidelity)
    assert lives(result) == ["killed", "failed: NO_OFFSET_FOR_PARTITION" if back_s == 71 else "horizon"]
    assert not any(cause == "expired offset" for _, cause in delivered(result))


@both
def test_offsets_of_an_empty_consumer_group_expire_by_their_commit(fidelity: str) -> None:
    """ConsumerGroup.offsetExpirationCondition (4.4): not by when the group became empty, which is 45 s later."""
    made = forgetful(group(client=CONSUMER, processing=EACH_BATCH), timeline=(away(15, 75),))
    result = simulate(made, fidelity)
    emptied = next(one["from_us"] for one in rows(result, "states", state="Empty") if one["from_us"] > 15 * S)
    assert emptied > 55 * S
    assert delivered(result)["loss", "expired offset"] == pytest.approx(60 * RATE, abs=20)


@both
@pytest.mark.parametrize("client", [CLIENT, CONSUMER], ids=["classic", "consumer"])
def test_a_topic_that_a_living_group_does_not_read_loses_its_offsets(fidelity: str, client: Any) -> None:
    """Dropped at 20 s, read again at 60 s: what came meanwhile is skipped; the other topic never notices."""
    topics = tuple(Topic(name=name, partitions=2, rate=constant(10_000)) for name in "tu")
    timeline = (
        entry(20 * S, Subscribe(target=everybody(), subscription=Subscription(topics=("t",)))),
        entry(60 * S, Subscribe(target=everybody(), subscription=Subscription(topics=("t", "u")))),
    )
    readers = group(topics=("t", "u"), client=client, processing=EACH_BATCH)
    made = forgetful(readers, timeline=timeline, topics=topics)
    result = simulate(made, fidelity)
    assert delivered(result)["loss", "expired offset"] == pytest.approx(40 * 20, abs=40)
    soon = replace(made, timeline=(timeline[0], replace(timeline[1], at_us=35 * S)))
    assert ("loss", "expired offset") not in delivered(simulate(soon, fidelity))


@both
@pytest.mark.parametrize("back_s", [38, 45])
def test_offsets_of_partitions_that_were_taken_by_hand_expire_by_their_commit(fidelity: str, back_s: int) -> None:
    """A simple group (no protocol type): committed until 20 s, due at 40 s."""
    by_hand = Subscription(assign={"t": (0, 1, 2, 3)})
    made = forgetful(group(subscription=by_hand, processing=EACH_BATCH), timeline=(away(20, back_s),))
    lost = delivered(simulate(made, fidelity)).get(("loss", "expired offset"), 0)
    assert lost == pytest.approx((back_s - 20) * RATE, abs=20) if back_s == 45 else lost == 0


@both
def test_offsets_that_are_committed_over_and_over_do_not_expire(fidelity: str) -> None:
    """A topic without records, and a group that lives."""
    result = simulate(forgetful(group(processing=EACH_BATCH), rate=constant(0), timeline=(away(80, 82),)), fidelity)
    assert delivered(result) == {}
    assert summary(result)["members"] == 1


def test_the_0_9_coordinator_takes_offsets_of_a_living_group() -> None:
    """Before KIP-211 (2.1) an offset that nobody commits again expires, here that of the last rebalance."""
    made = forgetful(
        group(count=2, processing=replace(PROCESSING, commit="none", commit_on_revoked=True)),
        timeline=(entry(10 * S, Close(target=member(1))), away(60, 62)),
    )
    config = replace(made.cluster.config, version="0.9")
    for fidelity in FIDELITIES:
        old = simulate(replace(made, cluster=replace(made.cluster, config=config)), fidelity)
        assert ("loss", "expired offset") not in delivered(simulate(made, fidelity))
        assert delivered(old) != delivered(simulate(made, fidelity))


def test_a_group_that_reads_all_it_has_offsets_of_has_no_check() -> None:
    """The event would change nothing: with any retention the run has the same events."""
    made = forgetful(group(processing=EACH_BATCH))
    config = replace(made.cluster.config, offsets_retention_us=10_000 * S)
    kept = replace(made, cluster=replace(made.cluster, config=config))
    assert simulate(made).manifest["events"] == simulate(kept).manifest["events"]


# --- deletion ---------------------------------------------------------------------------------------------------------


def asked(result: Result, api: str) -> dict[str, int]:
    return {one["error"]: one["count"] for one in rows(result, "requests", api=api)}


@both
def test_offsets_of_a_topic_that_is_read_are_not_deleted(fidelity: str) -> None:
    """OffsetDelete: GROUP_SUBSCRIBED_TO_TOPIC, as a result and as a notice."""
    delete = entry(20 * S, DeleteOffsets(target=everybody(), topics=("t",)), "wipe")
    result = simulate(forgetful(group(processing=EACH_BATCH), timeline=(delete, away(40, 42))), fidelity)
    assert asked(result, "OffsetDelete") == {"GROUP_SUBSCRIBED_TO_TOPIC": 1}
    assert result.warnings == ["wipe at 20.000 s: g: OffsetDelete is refused: GROUP_SUBSCRIBED_TO_TOPIC (t)"]
    assert ("loss", "deleted offset") not in delivered(result)


@both
def test_deleted_offsets_of_a_group_that_is_closed_send_it_to_the_end_of_the_log(fidelity: str) -> None:
    timeline = (
        entry(20 * S, Close(target=everybody())),
        entry(25 * S, DeleteOffsets(target=everybody(), topics=("t",))),
        entry(30 * S, StartMembers(target=everybody())),
    )
    result = simulate(forgetful(group(processing=EACH_BATCH), timeline=timeline), fidelity)
    assert asked(result, "OffsetDelete") == {"NONE": 1}
    assert delivered(result) == {("loss", "deleted offset"): pytest.approx(10 * RATE, abs=20)}
    assert result.warnings == []


@both
@pytest.mark.parametrize("client", [EARLIEST, replace(CONSUMER, auto_offset_reset="earliest")])
def test_a_group_is_deleted_only_when_nobody_is_a_member(fidelity: str, client: Any) -> None:
    """DeleteGroups: NON_EMPTY_GROUP; then all offsets go, and generations begin anew."""
    timeline = (
        entry(10 * S, DeleteGroup(target=everybody()), "too-early"),
        entry(20 * S, Close(target=everybody())),
        entry(22 * S, DeleteGroup(target=everybody()), "wipe"),
        entry(23 * S, DeleteGroup(target=everybody()), "again"),
        entry(25 * S, StartMembers(target=everybody())),
    )
    result = simulate(forgetful(group(client=client, processing=EACH_BATCH), timeline=timeline), fidelity)
    assert asked(result, "DeleteGroups") == {"NON_EMPTY_GROUP": 1, "NONE": 1, "GROUP_ID_NOT_FOUND": 1}
    assert delivered(result) == {("duplicate", "deleted offset"): pytest.approx(20 * RATE, abs=20)}
    first, *_, last = [one["generation"] for one in rows(result, "states", state="Stable")]
    assert first == last


@both
def test_an_empty_group_without_offsets_goes_with_the_next_check(fidelity: str) -> None:
    """cleanupGroupMetadata (4.4): who joins at 35 s makes a new group."""
    silent = replace(PROCESSING, commit="none")
    timeline = (entry(25 * S, Close(target=everybody())), entry(35 * S, StartMembers(target=everybody())))
    for start_us, generation in ((35 * S, 1), (29 * S, 3)):
        made = forgetful(group(processing=silent), timeline=(timeline[0], replace(timeline[1], at_us=start_us)))
        states = rows(simulate(made, fidelity), "states", state="Stable")
        assert states[-1]["generation"] == generation


def test_a_duration_is_read_as_kafka_reads_it() -> None:
    from groupsim.scenarios.kafka.client_config import client_config
    from groupsim.scenarios.kafka.client_profiles import PROFILES

    config = client_config(PROFILES["java"]["4.4"], {"auto.offset.reset": "by_duration:P1DT2H3M4.5S"})
    assert (config.auto_offset_reset, config.reset_duration_us) == ("by_duration", (93_784 * 1000 + 500) * MS)
