"""Exactly once, whatever member or broker is killed or frozen: each input is once in the output after faults stop.

With transactions, group metadata, ``read_committed``, no expired offset and clean elections. What nobody faults is made
once for ``read_uncommitted`` readers too. Slow logs and slow answers keep members in the middle of transactions most of
the time. What readers get is read from the logs of the output topic, record by record; the books are held against it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from groupsim.sim.config import BrokerConfig, CoordinatorConfig, Timing, TransactionConfig
from groupsim.sim.model import Cluster, CrashAt, Cut, Entry, GcPause, Kill, Restart, Scale, StartMembers, Stuck, Target
from groupsim.sim.protocol.transactions.messages import TV1, TV2
from groupsim.sim.units import MS, S
from tests.unit.sim.scenes import entry, everybody, lasting, member, rows
from tests.unit.sim.transactional_scenes import (
    JITTER,
    SLOW_LOG,
    Readers,
    output,
    played,
    producing,
    total,
    transform,
)

pytestmark = pytest.mark.property

POINTS = ("after_poll", "after_send", "before_commit", "before_end_txn", "after_end_txn", "after_commit")
FAULTS_S, THAWED_S, COUNTED_S, HORIZON_S = 34, 53, 70, 85
"""Faults begin before, and are over; what was produced by then is in the output; seconds."""
PRODUCED_A_SECOND = 40
OUTAGE_COUNTED_S, OUTAGE_HORIZON_S = 150, 180
HEALED_S = 110
"""Links are whole for long enough that nobody waits any more for what was sent before."""
SLOW_ANSWERS = Cluster(config=CoordinatorConfig(initial_rebalance_delay_us=0), timing=Timing(service_us=150 * MS))
"""Brokers are slow to hear what coordinators have decided."""
WHO = st.integers(0, 2)
BROKERS = ("0", "1", "2", "coordinator/g", "controller", "leader/t/0", "leader/out/0")
DOWN = st.sampled_from([None, 500 * MS, 4 * S])


@st.composite
def faults(draw: st.DrawFn) -> Entry:
    at_us, who = draw(st.integers(3 * S, 30 * S)), member(draw(WHO))
    down_us = draw(DOWN)
    down = None if down_us is None else lasting(down_us)
    length = lasting(draw(st.sampled_from([200 * MS, 3 * S, 12 * S, 18 * S])))
    verb: Any = draw(
        st.sampled_from(
            [
                Kill(target=who, down=down),
                CrashAt(target=who, point=draw(st.sampled_from(POINTS)), down=down),
                GcPause(target=who, duration=length),
                Stuck(target=who, duration=length),
                Restart(target=who, down=lasting(S)),
                Scale(target=everybody(), to=draw(st.integers(1, 4))),
            ]
        )
    )
    return entry(at_us, verb, f"fault-{draw(st.integers(0, 10**9))}")


@st.composite
def outages(draw: st.DrawFn) -> Entry:
    at_us, who = draw(st.integers(3 * S, 30 * S)), Target(kind="broker", name=draw(st.sampled_from(BROKERS)))
    down = lasting(draw(st.sampled_from([500 * MS, 4 * S, 12 * S])))
    verb: Any = draw(st.sampled_from([Kill(target=who, down=down), Restart(target=who, down=down)]))
    return entry(at_us, verb, f"broker-fault-{draw(st.integers(0, 10**9))}")


@st.composite
def cuts(draw: st.DrawFn) -> Entry:
    """Two brokers that do not reach one another, or one that is cut off from all others, until 70 s at most."""
    one, other = (Target(kind="broker", name=draw(st.sampled_from(BROKERS))) for _ in range(2))
    far = draw(st.sampled_from([other, Target(kind="broker", name="all"), member(draw(WHO))]))
    length = lasting(draw(st.sampled_from([20 * MS, S, 5 * S, 12 * S, 25 * S, 40 * S])))
    verb = Cut(between=(one, far), duration=length)
    return entry(draw(st.integers(3 * S, 30 * S)), verb, f"cut-{draw(st.integers(0, 10**9))}")


@st.composite
def settings_of_runs(draw: st.DrawFn) -> dict[str, Any]:
    """``transactional_id``: whether the next incarnation has the same."""
    name = draw(st.sampled_from(["{member}", "{member}-{incarnation}"]))
    timeout_us = draw(st.sampled_from([6, 15])) * S
    cluster = draw(st.sampled_from([JITTER, SLOW_LOG, SLOW_ANSWERS]))
    transactions = TransactionConfig(version=draw(st.sampled_from([TV2, TV2, TV1])))
    return {
        "protocol": draw(st.sampled_from(["classic", "cooperative", "cooperative", "consumer"])),
        "produces": producing(transaction_timeout_us=timeout_us, transactional_id=name),
        "cluster": replace(cluster, transactions=transactions),
    }


def check(timeline: list[Entry], counted_s: int, horizon_s: int, **more: Any) -> None:
    """Run it, and read the logs of the output topic: what was produced until ``counted_s`` is there."""
    backs_s, fidelity = (FAULTS_S, THAWED_S, *more.pop("healed_s", ())), more.pop("fidelity", "elided")
    back = [entry(at_s * S, StartMembers(target=everybody()), f"back at {at_s}") for at_s in backs_s]
    scenario = transform(*timeline, *back, count=3, horizon_s=horizon_s, **more)
    note(str((timeline, more)))
    with pytest.MonkeyPatch.context() as patch:
        readers = Readers(patch)
        result = played(scenario, fidelity)
    once, under_way = readers.counts(), PRODUCED_A_SECOND * (horizon_s - counted_s)
    assert set(once.values()) <= {1}
    for position in range(4):
        # Of each partition all up to somewhere: what is committed, but for a transaction that is being ended.
        made = sorted(offset for at, offset in once if at == position)
        assert made == [*range(len(made))]
        assert len(made) >= counted_s * PRODUCED_A_SECOND // 4
        assert abs(readers.committed[position] - len(made)) <= under_way
    seen = output(result)
    assert seen["read_committed"] == (0, 0)
    assert PRODUCED_A_SECOND * counted_s <= total(result, "records_committed") <= PRODUCED_A_SECOND * horizon_s
    assert seen["read_uncommitted"][0] <= total(result, "records_aborted") + total(result, "records_open")
    for one in rows(result, "output"):
        assert one["last_stable_offset"] <= one["high_watermark"]
        assert one["high_watermark"] - one["last_stable_offset"] <= under_way


@settings(max_examples=4, deadline=None)
@given(timeline=st.lists(faults(), min_size=1, max_size=5, unique_by=lambda one: one.id), more=settings_of_runs())
def test_each_input_is_counted_once(timeline: list[Entry], more: dict[str, Any]) -> None:
    """At 34 s faults stop and everybody is there, at 53 s who has thawed too late to commit."""
    check(timeline, COUNTED_S, HORIZON_S, **more)


@settings(max_examples=3, deadline=None)
@given(
    timeline=st.lists(faults(), max_size=4, unique_by=lambda one: one.id),
    outages=st.lists(outages(), min_size=1, max_size=3, unique_by=lambda one: one.id),
    more=settings_of_runs(),
)
def test_each_input_is_counted_once_whatever_broker_is_gone(
    timeline: list[Entry], outages: list[Entry], more: dict[str, Any]
) -> None:
    """Brokers are back at 48 s; who reaches its crash in a transaction that has waited for them is out 45 s later."""
    check([*timeline, *outages], OUTAGE_COUNTED_S, OUTAGE_HORIZON_S, copies=3, **more)


@settings(max_examples=4, deadline=None)
@given(
    timeline=st.lists(faults(), max_size=2, unique_by=lambda one: one.id),
    outages=st.lists(outages(), max_size=2, unique_by=lambda one: one.id),
    cut_off=st.lists(cuts(), min_size=1, max_size=4, unique_by=lambda one: one.id),
    more=settings_of_runs(),
    lag_s=st.sampled_from([1, 1, 30]),
    fidelity=st.sampled_from(["elided", "message"]),
)
def test_each_input_is_counted_once_whoever_is_cut_off(
    timeline: list[Entry], outages: list[Entry], cut_off: list[Entry], more: dict[str, Any], lag_s: int, fidelity: str
) -> None:
    """Who was cut off for longer than its transaction lasts is fenced, ends, and is started again at the end.

    ``lag_s``: after that time transactions go on without a follower that is cut off, while the link still is.
    """
    cluster = replace(more["cluster"], broker_config=BrokerConfig(replica_lag_time_max_us=lag_s * S))
    more |= {"copies": 3, "healed_s": (HEALED_S,), "fidelity": fidelity, "cluster": cluster}
    check([*timeline, *outages, *cut_off], OUTAGE_COUNTED_S, OUTAGE_HORIZON_S, **more)
