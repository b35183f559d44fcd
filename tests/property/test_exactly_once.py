"""Exactly once, whatever member or broker is killed or frozen: each input is once in the output after faults stop.

With transactions, group metadata, ``read_committed``, no expired offset and clean elections. What nobody faults is made
once for ``read_uncommitted`` readers too. Slow logs and slow answers keep members in the middle of transactions most of
the time. What readers get is read from the logs of the output topic, record by record; the books are held against it.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from groupsim.sim.config import CoordinatorConfig, Timing
from groupsim.sim.model import Cluster, CrashAt, Entry, GcPause, Kill, Restart, Scale, StartMembers, Stuck, Target
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
def broker_faults(draw: st.DrawFn) -> Entry:
    at_us, who = draw(st.integers(3 * S, 30 * S)), Target(kind="broker", name=draw(st.sampled_from(BROKERS)))
    down = lasting(draw(st.sampled_from([500 * MS, 4 * S, 12 * S])))
    verb: Any = draw(st.sampled_from([Kill(target=who, down=down), Restart(target=who, down=down)]))
    return entry(at_us, verb, f"broker-fault-{draw(st.integers(0, 10**9))}")


@settings(max_examples=8, deadline=None)
@given(
    timeline=st.lists(faults(), min_size=1, max_size=5, unique_by=lambda one: one.id),
    outages=st.lists(broker_faults(), min_size=0, max_size=3, unique_by=lambda one: one.id),
    protocol=st.sampled_from(["classic", "cooperative", "cooperative", "consumer"]),
    shares=st.booleans(),
    timeout_s=st.sampled_from([6, 15]),
    cluster=st.sampled_from([JITTER, SLOW_LOG, SLOW_ANSWERS]),
)
def test_each_input_is_counted_once(
    timeline: list[Entry], outages: list[Entry], protocol: str, shares: bool, timeout_s: int, cluster: Cluster
) -> None:
    """``shares``: whether the next incarnation has the same transactional id.

    At 34 s faults stop and everybody is there, at 53 s who has thawed too late to commit;
    what was produced until then and long after is counted by the end.
    """
    name = "{member}" if shares else "{member}-{incarnation}"
    produces = producing(transaction_timeout_us=timeout_s * S, transactional_id=name)
    back = [entry(at_s * S, StartMembers(target=everybody()), f"back at {at_s}") for at_s in (FAULTS_S, THAWED_S)]
    scenario = transform(
        *timeline, *outages, *back, protocol=protocol, count=3, horizon_s=HORIZON_S, produces=produces,
        cluster=cluster, copies=3,
    )  # fmt: skip
    note(str((timeline, outages)))
    with pytest.MonkeyPatch.context() as patch:
        readers = Readers(patch)
        result = played(scenario)
    once = readers.counts()
    assert set(once.values()) <= {1}
    for position in range(4):
        # Of each partition all up to somewhere: what is committed, but for a transaction that is being ended.
        seen_of = sorted(offset for at, offset in once if at == position)
        assert seen_of == [*range(len(seen_of))]
        assert len(seen_of) >= COUNTED_S * PRODUCED_A_SECOND // 4
        assert abs(readers.committed[position] - len(seen_of)) <= PRODUCED_A_SECOND * (HORIZON_S - COUNTED_S)
    seen = output(result)
    assert seen["read_committed"] == (0, 0)
    assert PRODUCED_A_SECOND * COUNTED_S <= total(result, "records_committed") <= PRODUCED_A_SECOND * HORIZON_S
    assert seen["read_uncommitted"][0] <= total(result, "records_aborted") + total(result, "records_open")
    for one in rows(result, "output"):
        assert one["last_stable_offset"] <= one["high_watermark"]
        assert one["high_watermark"] - one["last_stable_offset"] <= PRODUCED_A_SECOND * (HORIZON_S - COUNTED_S)
