"""Groups that read what other groups commit: members that die, transactions that are aborted or hang, brokers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from groupsim.sim.config import BrokerConfig
from groupsim.sim.model import Broker, Cluster, CrashAt, Cut, Entry, Kill, Network, Target
from groupsim.sim.model import Subscription as Asked
from groupsim.sim.units import MS, S
from tests.unit.sim.chained_scenes import (
    COMMITTED,
    EACH_BATCH,
    UNCOMMITTED,
    Outputs,
    chain,
    is_read_once,
    of_three,
    reader,
)
from tests.unit.sim.scenes import FIDELITIES, entry, lasting, member, rows, simulate, summary
from tests.unit.sim.transactional_scenes import CONFIGS, JITTER, played, producing, total

KILL = entry(6_070 * MS, Kill(target=member(0), down=lasting(S)))
CRASH = entry(6 * S, CrashAt(target=member(0), point="before_commit", down=lasting(S)))
"""What was sent is aborted when it is back, and made again."""
KILL_READER = entry(7_070 * MS, Kill(target=member(0, group="second"), down=lasting(S)))
BROKERS = Target("broker", "all")
CUT_READER = entry(7_070 * MS, Cut(between=(member(0, group="second"), BROKERS), duration=lasting(8 * S)))
CUT = entry(6_070 * MS, Cut(between=(BROKERS, member(0)), duration=lasting(2 * S)))
COOPERATIVE = replace(CONFIGS["cooperative"], isolation_level="read_committed")
CONSUMER = replace(COMMITTED, group_protocol="consumer")


@pytest.fixture
def outputs(monkeypatch: pytest.MonkeyPatch) -> Outputs:
    return Outputs(monkeypatch)


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_all_that_the_first_commits_is_read_once_by_the_second(outputs: Outputs, fidelity: str) -> None:
    """Under the watch over invariants; a record waits for the end of its transaction, which comes within 140 ms."""
    result = simulate(chain(horizon_s=9), fidelity)
    assert is_read_once(result, outputs)
    assert sum(outputs.there().values()) == total(result, "records_committed") == 200
    seen = summary(result, "second")
    assert (seen.lag_records_end, seen.duplicates, seen.losses) == (0, 0, 0)
    assert 0.1 < seen.lag_s_max < 0.14


def test_who_reads_uncommitted_records_does_not_wait(outputs: Outputs) -> None:
    """A record is there when it is appended: it waits for the batch before it at most."""
    result = played(chain(readers=(reader(client=UNCOMMITTED),), horizon_s=9))
    assert is_read_once(result, outputs, is_committed=False)
    assert summary(result, "second").lag_s_max < 0.012


def test_a_poll_that_waits_returns_with_what_comes() -> None:
    """It would wait for two seconds: each of some forty transactions a member is committed by the second at once."""
    patient = replace(EACH_BATCH, poll_timeout_us=2 * S)
    result = played(chain(readers=(reader(processing=patient),), horizon_s=9))
    decided = total(result, "committed")
    (commits,) = rows(result, "requests", group="second", api="OffsetCommit")
    assert decided > 70
    assert decided / 3 < commits["count"] < 2 * decided, "one, or two where it comes in the middle of a batch"


FAULTS: dict[str, tuple[tuple[Entry, ...], dict[str, Any], dict[str, Any]]] = {
    "the first dies": ((CRASH,), {}, {}),
    "the first dies, uncommitted": ((CRASH,), {}, {"client": UNCOMMITTED}),
    "the second dies": ((KILL_READER,), {}, {}),
    "both die": ((KILL, KILL_READER), {"cluster": JITTER}, {}),
    "the second is cut off": ((CUT_READER,), {"horizon_s": 44}, {}),
    "both are cut off": ((CUT, CUT_READER), {"horizon_s": 60, "cluster": JITTER}, {}),
    "cooperative": ((KILL,), {}, {"client": COOPERATIVE, "count": 2}),
    "by hand": ((KILL,), {}, {"subscription": Asked(assign={"out": (0, 1)})}),
    "by pattern": ((KILL,), {}, {"subscription": Asked(pattern="(o|t)...?")}),
}


LONG = ("the second is cut off",)
"""What both of them are cut off from has it, too."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in FAULTS]
)
def test_both_fidelities_agree_and_all_is_read_in_the_end(outputs: Outputs, name: str) -> None:
    timeline, more, own = FAULTS[name]
    scenario = chain(*timeline, readers=(reader(**own),), **{"horizon_s": 24, **more})
    one = played(scenario)
    assert summary(one, "second").lag_records_max > 200, "something was held up"
    assert is_read_once(one, outputs, is_committed=own.get("client") != UNCOMMITTED)
    assert one.manifest["digests"] == played(scenario, "message").manifest["digests"]


def placed(bandwidth: int | None) -> Cluster:
    """A broker in each of three racks, whose consumers read what is nearest; without latencies that differ."""
    brokers = tuple(Broker(id=at, rack=rack, bandwidth_bytes_per_s=bandwidth) for at, rack in enumerate("abc"))
    aware = BrokerConfig(is_rack_aware=True)
    return replace(JITTER, brokers=brokers, broker_config=aware, network=Network(latency=lasting(MS)))


@pytest.mark.parametrize(("bandwidth", "age_s"), [(None, (0.1, 0.14)), (60_000, (3.4, 3.6))])
def test_readers_of_the_nearest_replica_and_of_narrow_brokers_read_all(
    outputs: Outputs, bandwidth: int | None, age_s: tuple[float, float]
) -> None:
    """Of 60 kB a second each of four partitions that are read there has a part: 30 records of 1 kB come, of 40.

    So what is produced 10 s after the first record, and committed 0.14 s later, is read at 40 / 30 of that time.
    """
    client = replace(COMMITTED, client_rack="b")
    scenario = chain(readers=(reader(client=client),), copies=3, horizon_s=14, cluster=placed(bandwidth))
    source, out = scenario.topics
    scenario = replace(scenario, topics=(source, replace(out, record_bytes=1_000)))
    one = played(scenario)
    assert is_read_once(one, outputs)
    assert age_s[0] < summary(one, "second").lag_s_max < age_s[1]
    assert one.manifest["digests"] == played(scenario, "message").manifest["digests"]


def test_members_of_the_consumer_protocol_read_on_after_one_has_left(outputs: Outputs) -> None:
    readers = (reader(client=CONSUMER, count=2),)
    scenario = chain(entry(6 * S, Kill(target=member(0), down=lasting(S))), readers=readers, horizon_s=24)
    one = played(scenario)
    assert is_read_once(one, outputs)
    assert one.manifest["digests"] == played(scenario, "message").manifest["digests"]


def test_two_groups_read_the_same_output_each_at_its_level(outputs: Outputs) -> None:
    """What is aborted is read by one of them alone."""
    readers = (reader(), reader("third", client=UNCOMMITTED, count=2))
    result = played(chain(CRASH, readers=readers, horizon_s=24))
    assert is_read_once(result, outputs)
    assert is_read_once(result, outputs, "third", is_committed=False)
    aborted, there = total(result, "records_aborted"), outputs.there(is_committed=False)
    assert aborted > 0
    assert sum(there.values()) == sum(outputs.there().values()) + aborted + total(result, "records_open")


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_a_hanging_transaction_holds_up_who_reads_committed_records_and_nobody_else(
    outputs: Outputs, fidelity: str
) -> None:
    """Who dies for good in a transaction, at 5 s, leaves it to its time-out of 8 s, and to the scan that comes next."""
    crash = entry(5 * S, CrashAt(target=member(0), point="before_commit", down=None))
    produces = producing(transaction_timeout_us=8 * S)
    readers = (reader(), reader("third", client=UNCOMMITTED))
    result = played(chain(crash, readers=readers, produces=produces, horizon_s=30), fidelity)
    assert is_read_once(result, outputs)
    held, free = summary(result, "second"), summary(result, "third")
    blocked_s = max(one["blocked_us_max"] for one in rows(result, "output")) / 1e6
    assert 8 < blocked_s < 19
    assert held.lag_s_max == pytest.approx(blocked_s, abs=0.2)
    assert free.lag_s_max < 11, "until the dead member's partitions have another owner"
    assert held.lag_records_end == 0


def test_of_a_chain_of_three_what_the_last_one_reads_is_once(outputs: Outputs) -> None:
    """The second is killed in the middle of a transaction, and makes what it had sent again."""
    scenario = of_three(chain(KILL, KILL_READER, horizon_s=25))
    one = played(scenario)
    assert is_read_once(one, outputs)
    there = outputs.there("last")
    assert outputs.processed["third"] == there
    assert sum(there.values()) == sum(outputs.committed["second"].values()) == 40 * 21
    seen = {(one["group"], one["kind"], one["cause"]) for one in rows(one, "delivery") if "output" in one["kind"]}
    assert ("second", "output duplicate", "read_uncommitted") in seen
    assert not [cause for _, _, cause in seen if cause == "read_committed"]
    assert one.manifest["digests"] == played(scenario, "message").manifest["digests"]


@pytest.mark.parametrize("node", [pytest.param(0, marks=pytest.mark.slow), 1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_broker_that_dies_with_transactions_open_loses_nothing_to_the_second(outputs: Outputs, node: int) -> None:
    """One leads what the groups read and write, one coordinates them: all is read once when they are back."""
    dead = entry(8 * S, Kill(target=Target(kind="broker", name=str(node)), down=lasting(5 * S)))
    scenario = chain(dead, copies=3, horizon_s=40)
    one = played(scenario)
    assert is_read_once(one, outputs)
    assert sum(outputs.there().values()) == 40 * 36
    assert one.manifest["digests"] == played(scenario, "message").manifest["digests"]


def test_an_arrival_that_nobody_reads_is_no_event() -> None:
    """A group that asks for another topic is quiet, and costs what it costs beside any topic."""
    beside = chain(readers=(reader(topics=("t",)),), horizon_s=9)
    first, second = beside.groups
    runs = [beside, *(replace(beside, groups=some) for some in ((first,), (second,), ()))]
    both, alone, quiet, none = (played(one).manifest["events"] for one in runs)
    assert both - alone == quiet - none
