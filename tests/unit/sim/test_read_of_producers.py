"""Groups that read what producers write: each record when it can be seen, as often as it is in the log, or never.

One way takes 10 ms, so a record that is sent at t is appended at t + 10 ms, followers have it 20 ms later, and then
readers see it. Processing takes 1 ms. A record is sent each 100 ms.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from groupsim.sim import Result, simulate
from groupsim.sim.config import ClientConfig, ProducerConfig
from groupsim.sim.model import (
    ElectLeaders,
    Entry,
    Kill,
    Produces,
    Scenario,
    Target,
    Topic,
    appended_topics,
    read_as_flow,
)
from groupsim.sim.model.reading import AT_ZOOKEEPER, DELETED, UNCLEAN
from groupsim.sim.protocol.controller.replica_logs import Gap, ReplicaLogs
from groupsim.sim.units import MS, S
from tests.support.fidelity import differences
from tests.support.producer_scenarios import CLASSIC, CONSUMER, IDEMPOTENT, PLAIN, READING, SURE, leader, written
from tests.unit.sim.chained_scenes import Outputs, is_read_once
from tests.unit.sim.scenes import constant, entry, group, lasting, member, summary
from tests.unit.sim.transactional_scenes import EARLIEST, WORK

ONE = (group("g", 1, client=CLASSIC, processing=READING),)
SEEN_US = 30 * MS


def followed(*timeline: Entry, **more: Any) -> pd.DataFrame:
    """Table ``records`` of one reader of one partition, in the order of the log."""
    records = told(*timeline, **more).tables["records"]
    assert (records.delivery == 1).all()
    return records.sort_values("offset")


def told(*timeline: Entry, **more: Any) -> Result:
    given = {"groups": ONE, "rate": 10, "data": "exact", **more}
    return simulate(written(*timeline, **given), seed=1, check=True)


def killed(at_ms: int, target: Target) -> Entry:
    return entry(at_ms * MS, Kill(target=target), f"kill-{at_ms}")


def read(result: Result, name: str = "g") -> int:
    """Records that members of a group have processed."""
    members = result.tables["members"]
    return int(members[members.group == name].records.sum())


def there(result: Result) -> int:
    """What table ``producers`` finds in the logs."""
    return int(result.tables["producers"][["in_log", "duplicated"]].sum().sum())


@pytest.mark.parametrize("data", ["fluid", "exact"])
def test_who_waits_for_records_acts_for_its_group_when_they_come_in_both_fidelities(data: str) -> None:
    """What a member has to give up is committed while it waits, and given up when what it waits for returns."""
    members = group("g", 2, client=ClientConfig(group_protocol="consumer"))
    assert not differences(written(groups=(members,), partitions=6, rate=1, data=data, horizon_s=20), 1, check=False)


@pytest.mark.parametrize("config", [PLAIN, SURE, IDEMPOTENT], ids=["1", "all", "idempotent"])
def test_a_record_is_read_when_all_in_sync_have_it(config: ProducerConfig) -> None:
    """Its age counts from when the application sent it. 59 are sent and seen in six seconds."""
    records = followed(config=config, horizon_s=6)
    assert records.produced_us.to_list() == list(range(100 * MS, 6 * S, 100 * MS))
    later = records[1:]  # the first waits for its reader
    assert set(later.fetched_us - later.produced_us) == {SEEN_US}
    assert set(later.processed_us - later.produced_us) == {SEEN_US + MS}


@pytest.mark.parametrize("data", ["fluid", "exact"])
@pytest.mark.parametrize("client", [CLASSIC, CONSUMER], ids=["classic", "consumer"])
def test_each_group_reads_all_that_the_logs_have(data: str, client: Any) -> None:
    """Three partitions at 10 a second for 10 s, the last of which of the three are sent at 9.934 s."""
    groups = tuple(group(name, count, client=client, processing=READING) for name, count in (("g", 2), ("h", 1)))
    result = told(groups=groups, partitions=3, count=2, horizon_s=10, data=data)
    assert there(result) == 3 * 100 - 1
    assert [read(result, name) for name in ("g", "h")] == [299, 299]
    assert not len(result.tables["delivery"])


def test_what_a_leader_takes_with_it_nobody_reads() -> None:
    """acks=1; what was sent at 8.0 s is appended at 8.01, acknowledged, and gone when its leader dies at 8.015."""
    result = told(killed(8_015, leader()), horizon_s=25)
    records = result.tables["records"].sort_values("offset")
    sent = list(range(100 * MS, 25 * S, 100 * MS))
    assert records.produced_us.to_list() == [time for time in sent if time != 8 * S]
    assert result.tables["producers"].truncated_leader.sum() == 1
    assert not len(result.tables["delivery"]), "the loss is the log's, and told once"
    assert summary(result).losses == 0


def test_what_waits_at_a_producer_gets_old() -> None:
    """From 8.015 s on nobody leads for more than seven seconds, and the records of that time are as old when read."""
    result = told(killed(8_015, leader()), horizon_s=25, data="fluid")
    exact = followed(killed(8_015, leader()), horizon_s=25)
    waited = exact[exact.produced_us == 8_100 * MS].iloc[0]
    assert waited.fetched_us - waited.produced_us > 7 * S
    oldest_s = (exact.processed_us - exact.produced_us).max() / S
    assert summary(result).lag_s_max == pytest.approx(oldest_s, abs=0.01)


def test_a_backlog_is_worked_off_poll_by_poll() -> None:
    """With ten records a poll what comes all at once after the outage takes several, and each counts once."""
    few = (group("g", 1, client=replace(CLASSIC, max_poll_records=10), processing=READING),)
    result = told(killed(8_015, leader()), groups=few, horizon_s=25)
    records = result.tables["records"]
    polls = records.groupby("fetched_us").size()
    assert polls.max() == 10
    assert (polls == 10).sum() >= 7
    assert read(result) == len(records) == 248


def test_what_comes_during_a_poll_that_has_found_something_waits_for_the_next() -> None:
    """A record each 1.01 ms, a millisecond of poll() and one of work: nothing is seen early, or counted twice."""
    scenario = written(groups=ONE, rate=990, horizon_s=3, data="exact")
    result = simulate(scenario, seed=1)
    records = result.tables["records"]
    done = records[records.delivery == 1]
    assert (done.fetched_us - done.produced_us).min() >= SEEN_US
    polls = done.groupby("fetched_us").size()
    assert polls.max() > 1
    assert polls.index.to_series().diff().min() >= 2 * MS, "poll() and one record"
    assert read(result) == len(done) > 1_000


def test_a_new_leader_makes_no_gap_in_readers_books(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it is said to lack: they have been shown none of that, and who is behind reads all of it."""
    elect = ReplicaLogs.elect

    def lacking(logs: ReplicaLogs, name: Any, node: int, acks: Any, unanswered_us: int, *, has_lost: bool) -> Any:
        is_for_readers = name == ("t", 0) and acks == "all"
        return (
            Gap(S, 8 * S, 8 * S) if is_for_readers else elect(logs, name, node, acks, unanswered_us, has_lost=has_lost)
        )

    monkeypatch.setattr(ReplicaLogs, "elect", lacking)
    slow = (group("g", 1, client=CLASSIC, processing=replace(READING, per_record=lasting(150 * MS))),)
    result = told(killed(8_015, leader()), groups=slow, config=SURE, horizon_s=25, data="fluid")
    assert not len(result.tables["delivery"])
    assert 100 < read(result) < there(result)


SIX = {"brokers": 6, "horizon_s": 30}
"""Replicas of the partition are 4, 5 and 0: controllers, which are 0 to 2, lose none of them."""
BOTH = (killed(7_050, Target("broker", "5")), killed(8_003, leader()))
"""First a follower that counts as in sync, so that nothing is acknowledged any more, then the leader."""


def test_what_is_written_twice_is_read_twice_in_the_order_of_the_log() -> None:
    """acks=all without idempotence, five requests in flight: the leader has taken the first, which a follower has.

    That is sent again behind the others, each of which goes to the front of the queue as it fails.
    """
    records = followed(*BOTH, config=SURE, **SIX)
    first = records[records.produced_us >= 7 * S][:9].produced_us // MS
    assert first.to_list() == [7_000, 7_100, 7_500, 7_400, 7_300, 7_200, 7_100, 7_600, 7_700]
    result = told(*BOTH, config=SURE, data="fluid", **SIX)
    fates = result.tables["producers"].iloc[0]
    assert fates[["in_log", "duplicated"]].to_list() == [299, 1]
    assert read(result) == 300
    assert summary(result).duplicates == 0, "to its readers these are two records"


def test_with_idempotence_it_is_read_once_and_in_order() -> None:
    records = followed(*BOTH, config=IDEMPOTENT, **SIX)
    assert records.produced_us.to_list() == list(range(100 * MS, 30 * S, 100 * MS))


@pytest.mark.parametrize("data", ["fluid", "exact"])
def test_both_fidelities_agree(data: str) -> None:
    scenario = written(*BOTH, groups=ONE, rate=10, config=SURE, data=data, **SIX)  # type: ignore[arg-type]
    assert not differences(scenario, seed=1, check=False)


def test_a_chain_may_begin_with_producers() -> None:
    """What ``g`` makes of it, a transaction a batch, ``last`` reads; a record takes both of them less than 0.3 s."""
    g = group("g", 1, client=EARLIEST, processing=WORK, produces=Produces(to="out"))
    last = group("last", 1, topics=("out",), client=CLASSIC, processing=READING)
    scenario = written(groups=(g, last), rate=10, horizon_s=10)
    scenario = replace(scenario, topics=(*scenario.topics, Topic(name="out", partitions=1)))
    result = simulate(scenario, seed=1, check=True)
    assert there(result) == 99
    assert read(result) >= 98
    assert read(result, "last") >= 96


@pytest.mark.parametrize("data", ["fluid", "exact"])
@pytest.mark.parametrize("client", [CLASSIC, CONSUMER], ids=["classic", "consumer"])
def test_a_member_may_read_a_flow_beside_what_comes(data: str, client: Any) -> None:
    """One of two members dies for good at 4 s; all of both topics is read, what is sent and what only has a rate."""
    both = (group("g", 2, client=client, processing=READING, topics=("t", "flow")),)
    scenario = written(killed(4_000, member(0)), groups=both, rate=10, partitions=2, horizon_s=18, data=data)  # type: ignore[arg-type]
    flow = Topic(name="flow", partitions=2, rate=constant(20_000))
    scenario = replace(scenario, topics=(*scenario.topics, flow))
    result = simulate(scenario, seed=1, check=True)
    again = int(result.tables["delivery"].query("kind == 'duplicate'").records.sum())
    produced = there(result) + 2 * 20 * 18
    assert read(result) - again == pytest.approx(produced, abs=4), "but what is in hand at the end"
    assert summary(result).losses == 0
    assert not differences(scenario, seed=1, check=False)


def test_a_chain_that_begins_with_producers_outlives_kills(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader of what is sent, then the member in the middle: what was sent to the log comes out of it once."""
    outputs = Outputs(monkeypatch)
    g = group("g", 1, client=EARLIEST, processing=WORK, produces=Produces(to="out"))
    last = group("last", 1, topics=("out",), client=replace(EARLIEST, isolation_level="read_committed"))
    deaths = (killed(8_015, leader()), entry(17 * S, Kill(target=member(0), down=lasting(S)), "kill"))
    scenario = written(*deaths, groups=(g, last), config=SURE, rate=10, horizon_s=45)
    scenario = replace(scenario, topics=(*scenario.topics, Topic(name="out", partitions=1)))
    result = simulate(scenario, seed=1, check=True)
    assert is_read_once(result, outputs, "last")
    assert sum(outputs.there().values()) == pytest.approx(there(result), abs=3), "but what is in hand at the end"
    assert not differences(scenario, seed=1, check=False)


def test_balance_is_that_of_what_is_sent() -> None:
    """Of three partitions at ten records a second one member has two."""
    result = told(groups=(group("g", 2, client=CLASSIC),), partitions=3, horizon_s=10, data="fluid")
    assert result.tables["rebalances"].imbalance_rate.max() == 10


# --- what stays a flow ------------------------------------------------------------------------------------------------


def elected(topics: tuple[str, ...] = (), election: Any = "unclean") -> Entry:
    return entry(5 * S, ElectLeaders(topics=topics, election=election))


def of_topic(*timeline: Entry, groups: Any = ONE, **topic: Any) -> Scenario:
    made = written(*timeline, groups=groups)
    return replace(made, topics=(replace(made.topics[0], **topic),))


@pytest.mark.parametrize(
    ("scenario", "reason"),
    [
        (of_topic(), None),
        (of_topic(unclean_leader_election=True), UNCLEAN),
        (of_topic(elected()), UNCLEAN),
        (of_topic(elected(("t",))), UNCLEAN),
        (of_topic(elected(("u",))), None),
        (of_topic(elected(election="preferred")), None),
        (of_topic(retention_us=10 * S), DELETED),
        (of_topic(groups=(group("z", 1, client=replace(CLASSIC, group_protocol="zookeeper")),)), AT_ZOOKEEPER),
    ],
)
def test_what_arrivals_cannot_carry_is_read_as_a_flow(scenario: Scenario, reason: str | None) -> None:
    assert read_as_flow(scenario) == ({"t": reason} if reason else {})
    assert appended_topics(scenario) == ({"t"} if reason is None else set())


def test_a_flow_is_read_as_it_is_sent() -> None:
    """At 10 a second each record is read at once, and no batch waits for followers."""
    scenario = replace(of_topic(unclean_leader_election=True), data="exact", horizon_us=6 * S)
    records = simulate(scenario, seed=1).tables["records"]
    later = records[(records.produced_us > 2 * S) & (records.delivery == 1)]
    assert set(later.fetched_us - later.produced_us) == {0}
