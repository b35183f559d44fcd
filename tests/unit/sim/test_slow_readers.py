"""Groups whose records take longer than the next ones need to come: what they have in hand goes on, whatever comes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from groupsim.sim import Result
from groupsim.sim.books.offsets.whole_records import equal_shares
from groupsim.sim.distributions import Distribution
from groupsim.sim.model import Entry, GcPause, Kill, Processing, Produces, Scenario, Stuck, Topic
from groupsim.sim.units import MS, S
from tests.unit.sim.chained_scenes import COMMITTED, EACH_BATCH, UNCOMMITTED, Outputs, chain, is_read_once, reader
from tests.unit.sim.scenes import FIDELITIES, constant, entry, lasting, member, rows, simulate, summary
from tests.unit.sim.transactional_scenes import CONSUMER, WORK, played

ONE = replace(COMMITTED, max_poll_records=1)
SLOW = Processing(per_record=lasting(300 * MS))
RANDOM = replace(EACH_BATCH, per_record=Distribution("exponential", (300 * MS,)))


def busy(**second: Any) -> Scenario:
    """Five records a second, each in a transaction of its own; two partitions of them are read by one."""
    first = replace(WORK, per_record=lasting(MS), per_poll_us=20 * MS, poll_timeout_us=20 * MS)
    scenario = chain(readers=(reader(**{"processing": SLOW, **second}),), processing=first, horizon_s=30)
    source, *others = scenario.topics
    topics = replace(source, rate=constant(1_250)), *others, Topic(name="last", partitions=1, replication_factor=1)
    return replace(scenario, topics=topics)


def processed(result: Result) -> int:
    """Records that the second group has processed, which is behind all the time."""
    assert summary(result, "second").lag_records_end > 30
    (one,) = rows(result, "members", group="second")
    return int(one["records"])


@pytest.mark.parametrize("fidelity", FIDELITIES)
@pytest.mark.parametrize(
    ("most", "per_poll_us", "records"),
    [(500, 0, 98), (5, 0, 98), (1, 0, 98), (1, 200 * MS, 59)],
)
def test_records_follow_one_another_without_a_gap(fidelity: str, most: int, per_poll_us: int, records: int) -> None:
    """From the first one at 0.4 s on, each takes 0.3 s, and each poll() 0.2 s in one case: nothing is done twice."""
    processing, client = replace(SLOW, per_poll_us=per_poll_us), replace(COMMITTED, max_poll_records=most)
    result = played(busy(processing=processing, client=client), fidelity)
    assert processed(result) == pytest.approx(records, abs=1)


def test_each_poll_returns_a_record_whatever_the_last_one_took() -> None:
    """What a record costs is drawn; there is a commit for each pass, of which up to four come before the first one."""
    result = played(busy(processing=RANDOM, client=ONE))
    (commits,) = rows(result, "requests", group="second", api="OffsetCommit", error="NONE")
    assert 0 <= commits["count"] - processed(result) <= 4
    assert commits["count"] > 60


def test_a_single_record_takes_one_pass() -> None:
    """One each 0.8 s, and each takes 0.3 s: none waits for more than its transaction."""
    scenario = busy(client=replace(UNCOMMITTED, max_poll_records=1))
    source, *others = scenario.topics
    result = played(replace(scenario, topics=(replace(source, rate=constant(312)), *others)))
    assert summary(result, "second").lag_s_max < 0.32


FAULTS: dict[str, Entry] = {
    "long pause": entry(7_070 * MS, GcPause(target=member(0, group="second"), duration=lasting(3 * S))),
    "short pause": entry(7_070 * MS, GcPause(target=member(0, group="second"), duration=lasting(700 * MS))),
    "hang": entry(7_070 * MS, Stuck(target=member(0, group="second"), duration=lasting(3 * S))),
    "kill": entry(7_070 * MS, Kill(target=member(0, group="second"), down=lasting(S))),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_no_commit_runs_ahead_whatever_comes_between(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """Two members that process one record a poll(), for 200 ms, and produce: under the watch, in both fidelities."""
    outputs = Outputs(monkeypatch)
    work = Processing(per_record=lasting(0), per_poll_us=200 * MS, commit="none")
    second = reader(client=ONE, processing=work, produces=Produces(to="last"), count=2)
    scenario = chain(FAULTS[fault], readers=(second,), rate=1_000, horizon_s=30)
    source, *others = scenario.topics
    rate = replace(source.rate, per_partition_mrps=((1_000,), (0,)))
    topics = replace(source, rate=rate), *others, Topic(name="last", partitions=2, replication_factor=1)
    scenario = replace(scenario, topics=topics)
    result = simulate(scenario)
    assert is_read_once(result, outputs)
    assert result.manifest["digests"] == played(scenario, "message").manifest["digests"]


def test_no_commit_runs_ahead_of_one_partition_that_members_hand_on() -> None:
    """Four members of the consumer protocol produce to one partition, which two read: each joins by itself."""
    first = replace(WORK, per_record=lasting(0), per_poll_us=0)
    second = reader(
        client=replace(CONSUMER, max_poll_records=1), count=2, produces=Produces(to="last"),
        processing=Processing(per_record=lasting(0), per_poll_us=200 * MS, commit="none"),
    )  # fmt: skip
    scenario = chain(readers=(second,), processing=first, protocol="consumer", count=4, horizon_s=35)
    source, out = scenario.topics
    last = Topic(name="last", partitions=1, replication_factor=1)
    topics = replace(source, rate=constant(500)), replace(out, partitions=1), last
    for fidelity in FIDELITIES:
        result = simulate(replace(scenario, topics=topics), fidelity)
        assert sum(one["records"] for one in rows(result, "members", group="second")) > 60


@pytest.mark.parametrize(
    ("waiting", "most", "shares"),
    [([3, 0, 2], 9, [3, 0, 2]), ([3, 0, 2], 4, [2, 0, 2]), ([9, 1, 9], 8, [3, 1, 3]), ([5, 5], 1, [0, 0])],
)
def test_a_poll_returns_as_many_records_of_each_partition(waiting: list[int], most: int, shares: list[int]) -> None:
    """But for a few, if they do not divide."""
    assert equal_shares(np.array(waiting), most).tolist() == shares
