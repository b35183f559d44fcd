"""``data: exact`` beside ``produces``, whoever is killed or frozen: the fate of each input, and the fluid beside it.

What readers of the output get is read from its logs, record by record; the table ``records`` is held against it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from groupsim.sim import Result
from groupsim.sim.books.record import ENDED_BY
from groupsim.sim.client.producing.producer_requests import ProducerRequests
from groupsim.sim.model import CrashAt, Entry, Kill, Restart, Scenario, StartMembers
from groupsim.sim.protocol.messages import Api
from groupsim.sim.units import MS, S
from tests.property.test_exactly_once import (
    FAULTS_S,
    HORIZON_S,
    POINTS,
    PRODUCED_A_SECOND,
    THAWED_S,
    faults,
    settings_of_runs,
)
from tests.unit.sim.scenes import entry, everybody, lasting, member
from tests.unit.sim.transactional_scenes import (
    CONFIGS,
    JITTER,
    WORK,
    Readers,
    answers,
    output,
    played,
    total,
    transform,
)

pytestmark = pytest.mark.property

LEVELS = {"read_committed": True, "read_uncommitted": False}
UNCLEAN = ("killed", "lost", "failed", "cut off")
DATA = ("fluid", "exact")
DUE_S = 50
"""What was produced by then is counted at the horizon, whoever has to be missed for 45 s before."""
RECORD_US = 5 * MS
"""What a record of these groups costs."""
POLL = 20
"""``max.poll.records`` where both are held against each other."""


def whole(scenario: Scenario, data: Any) -> Scenario:
    """Each record of the whole run counts."""
    return replace(scenario, data=data, measure_from_us=0, measure_to_us=None)


def fates(result: Result) -> pd.DataFrame:
    """Of each input: how often it was processed, when it was committed, how often readers get what was made of it."""
    columns = ["delivery", "committed_us", "produced_us", *LEVELS]
    return result.tables["records"].groupby(["partition", "offset"])[columns].max()


def assert_records_have_what_logs_have(found: pd.DataFrame, readers: Readers) -> None:
    """But for transactions that are decided at the horizon, whose markers are on their way."""
    in_log = readers.counts(is_committed=False)
    for level, is_committed in LEVELS.items():
        told = {place: times for place, times in found[level].items() if times}
        there = readers.counts(is_committed=is_committed)
        assert there.items() <= told.items()
        on_its_way = told.keys() - there.keys()
        assert len(on_its_way) <= (is_committed and PRODUCED_A_SECOND)
        assert on_its_way <= in_log.keys()


@settings(max_examples=2, deadline=None)
@given(timeline=st.lists(faults(), min_size=1, max_size=5, unique_by=lambda one: one.id), more=settings_of_runs())
def test_each_input_has_its_fate(timeline: list[Entry], more: dict[str, Any]) -> None:
    """At 34 s faults stop and everybody is there, at 53 s who has thawed too late to commit."""
    note(str((timeline, more)))
    back = [entry(at_s * S, StartMembers(target=everybody()), f"back at {at_s}") for at_s in (FAULTS_S, THAWED_S)]
    scenario = whole(transform(*timeline, *back, count=3, horizon_s=HORIZON_S, **more), "exact")
    with pytest.MonkeyPatch.context() as patch:
        readers = Readers(patch)
        result = played(scenario)
        found = fates(result)
        assert_records_have_what_logs_have(found, readers)
    due = found[found["produced_us"] <= DUE_S * S]
    assert (due["read_committed"] == 1).all()
    assert (found["read_committed"] <= 1).all()
    assert (found["read_uncommitted"] <= found["delivery"]).all()
    assert (found["read_committed"] <= found["read_uncommitted"]).all()
    assert ((found["committed_us"] >= 0) <= (found["read_committed"] == 1)).all()
    assert found["read_committed"].sum() == total(result, "records_committed")
    twice = (found["read_uncommitted"] - 1).clip(lower=0).sum()
    assert output(result) == {"read_committed": (0, 0), "read_uncommitted": (twice, 0)}
    assert (result.tables["records"]["lost"] == "").all()
    assert result.manifest["digests"] == played(scenario, "message").manifest["digests"]


@st.composite
def ends(draw: st.DrawFn) -> Entry:
    """A member stops at once, somewhere in its loop, or as it is told to."""
    who, down = member(draw(st.integers(0, 2))), lasting(draw(st.sampled_from([S, 4 * S])))
    verb: Any = draw(
        st.sampled_from(
            [
                Kill(target=who, down=down),
                CrashAt(target=who, point=draw(st.sampled_from(POINTS)), down=down),
                Restart(target=who, down=down),
            ]
        )
    )
    return entry(draw(st.integers(3 * S, 25 * S)), verb, f"end-{draw(st.integers(0, 10**9))}")


def ended(result: Result, column: list[str], which: tuple[str, ...]) -> pd.Series:
    """How often somebody stopped reading in one of these ways."""
    ownership = result.tables["ownership"]
    return ownership[ownership["ended_by"].isin(which)].groupby(column).size()


@settings(max_examples=3, deadline=None)
@given(
    timeline=st.lists(ends(), min_size=1, max_size=3, unique_by=lambda one: one.id),
    protocol=st.sampled_from(["classic", "cooperative", "consumer"]),
)
def test_the_fluid_repeats_and_counts_as_much(timeline: list[Entry], protocol: str) -> None:
    """Up to max.poll.records of a partition for each unclean end or aborted batch, and a record for any other end."""
    note(str((timeline, protocol)))
    client = replace(CONFIGS[protocol], max_poll_records=POLL)
    scenario = transform(*timeline, client=client, cluster=JITTER, count=3, horizon_s=40)
    fluid, exact = (played(whole(scenario, data)) for data in DATA)
    place = ["topic", "partition"]
    found = [one.tables["partitions"].set_index(place)["duplicates"] for one in (fluid, exact)]
    unclean, every = (
        pd.concat([ended(one, place, which) for one in (fluid, exact)], axis=1)
        .max(axis=1)
        .reindex(found[0].index)
        .fillna(0)
        for which in (UNCLEAN, ENDED_BY)
    )
    aborted = max(total(one, "aborted") for one in (fluid, exact))
    assert ((found[0] - found[1]).abs() <= POLL * (unclean + aborted) + every).all()
    records = [one.tables["members"]["records"].sum() for one in (fluid, exact)]
    # What each of them has in hand at the horizon, and what was repeated.
    assert abs(records[0] - records[1]) <= 3 * POLL + abs(found[0].sum() - found[1].sum())
    counted = [total(one, "records_committed") for one in (fluid, exact)]
    assert abs(counted[0] - counted[1]) <= 3 * POLL
    assert min(counted) > 0


def committed_by_both(protocol: str, rate: int) -> list[int]:
    """Transactions of the flow, and of records one by one."""
    scenario = transform(cluster=JITTER, protocol=protocol, rate=rate)
    return [total(played(whole(scenario, data)), "committed") for data in DATA]


@pytest.mark.parametrize("protocol", ["classic", "cooperative", "consumer"])
@pytest.mark.parametrize(
    "rate", [2_000, 40_000, *(pytest.param(one, marks=pytest.mark.slow) for one in (10_000, 20_000))]
)
def test_both_end_a_batch_as_often(protocol: str, rate: int) -> None:
    """At 2 to 40 % load, by the records' costs: what comes during a commit takes its time after it.

    With few records poll() waits for one, and what has come by the end of that wait is committed then.
    """
    fluid, exact = committed_by_both(protocol, rate)
    assert abs(fluid - exact) <= 3
    assert fluid > 350


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_where_a_pass_takes_as_long_as_a_record_takes_to_come_they_differ(protocol: str) -> None:
    """By a tenth at most: whether a pass finds a record goes by a few milliseconds, and by the ones before it."""
    fluid, exact = committed_by_both(protocol, rate=5_000)
    assert 3 < abs(fluid - exact) <= 0.1 * exact


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("rate", [2_000, 5_000, 10_000])
def test_without_transactions_both_commit_as_often(protocol: str, rate: int) -> None:
    """After each batch: passes through poll() are the same ones."""
    commits = replace(WORK, commit="after_batch")
    scenario = transform(cluster=JITTER, protocol=protocol, rate=rate, produces=None, processing=commits)
    results = [played(whole(scenario, data)) for data in DATA]
    fluid, exact = (sum(answers(one, "OffsetCommit").values()) for one in results)
    assert fluid == exact > 700


@pytest.mark.parametrize("verb", [Kill, Restart])
@pytest.mark.parametrize("protocol", ["classic", "cooperative", "consumer"])
def test_whoever_goes_on_for_another_has_a_batch_or_two_more_to_do(protocol: str, verb: type[Kill | Restart]) -> None:
    """For each rebalance: the flow has processed them when it commits (`sim/decisions/0022-records.md`)."""
    ends = entry(20 * S, verb(target=member(1), down=lasting(2 * S)))
    scenario = whole(transform(ends, cluster=JITTER, protocol=protocol, rate=40_000, horizon_s=45), "fluid")
    fluid, exact = (played(replace(scenario, data=data)) for data in DATA)
    rebalances = [len(one.tables["rebalances"]) for one in (fluid, exact)]
    assert rebalances[0] == rebalances[1]
    assert 0 < total(fluid, "committed") - total(exact, "committed") <= 2 * rebalances[0]


def test_a_batch_that_is_read_again_takes_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what has come meanwhile is behind it; a record more or less comes in time."""
    ends: list[tuple[int, bool]] = []
    send = ProducerRequests.send

    def spied(requests: ProducerRequests, role: Any, api: Api, body: Any) -> Any:
        if api is Api.END_TXN and requests._client.consumer.name == "g/0":
            ends.append((requests._env.now, body.is_committed))
        return send(requests, role, api, body)

    monkeypatch.setattr(ProducerRequests, "send", spied)
    leaves = entry(20 * S, Restart(target=member(1), down=lasting(8 * S)))
    scenario, gaps = transform(leaves, protocol="cooperative", rate=40_000, horizon_s=22), []
    for data in DATA:
        ends.clear()
        played(whole(scenario, data))
        times, is_committed = np.array([time for time, _ in ends]), [one for _, one in ends]
        aborted = is_committed.index(False)
        gaps.append(np.diff(times[aborted - 2 :])[:4])
    fluid, exact = gaps
    assert (np.abs(fluid - exact) <= RECORD_US).all()
    assert fluid[2] > fluid[0] + 14 * RECORD_US, "about as much as there was in the batch"
