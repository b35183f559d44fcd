"""Exactly once, whatever is killed or frozen: each input is counted once in the output after faults stop.

With transactions, group metadata, ``read_committed``, no expired offset and clean elections. What nobody faults is made
once for ``read_uncommitted`` readers too.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from groupsim.sim.model import CrashAt, Entry, GcPause, Kill, Restart, Scale, Stuck
from groupsim.sim.units import MS, S
from tests.unit.sim.scenes import entry, everybody, lasting, member, rows
from tests.unit.sim.transactional_scenes import JITTER, output, played, producing, total, transform

pytestmark = pytest.mark.property

POINTS = ("after_poll", "after_send", "before_commit", "before_end_txn", "after_end_txn", "after_commit")
WHO = st.integers(0, 2)
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


@settings(max_examples=15, deadline=None)
@given(
    timeline=st.lists(faults(), min_size=1, max_size=4, unique_by=lambda one: one.id),
    protocol=st.sampled_from(["classic", "cooperative", "cooperative", "consumer"]),
    shares=st.booleans(),
    timeout_s=st.sampled_from([2, 10, 60]),
)
def test_each_input_is_counted_once(timeline: list[Entry], protocol: str, shares: bool, timeout_s: int) -> None:
    """``shares``: whether the next incarnation has the same transactional id."""
    name = "{member}" if shares else "{member}-{incarnation}"
    produces = producing(transaction_timeout_us=timeout_s * S, transactional_id=name)
    scenario = transform(*timeline, protocol=protocol, count=3, horizon_s=50, produces=produces, cluster=JITTER)
    result = played(scenario)
    note(str(timeline))
    seen = output(result)
    assert seen["read_committed"] == (0, 0)
    assert total(result, "records_committed") > 60 or protocol == "consumer"
    assert seen["read_uncommitted"][0] <= total(result, "records_aborted") + total(result, "records_open")
    for one in rows(result, "output"):
        assert one["last_stable_offset"] <= one["high_watermark"]
