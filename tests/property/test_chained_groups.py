"""Chains of groups, whatever is killed, frozen, cut off or gone: what is committed is read once when faults are over.

In both fidelities, with equal tables. What there is to be read is taken from the logs of the output topic.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from groupsim.sim.config import CoordinatorConfig, TransactionConfig
from groupsim.sim.model import Cluster, CrashAt, Cut, Entry, GcPause, Kill, Scenario, StartMembers, Stuck, Target
from groupsim.sim.protocol.transactions.messages import TV1, TV2
from groupsim.sim.units import MS, S
from tests.unit.sim.chained_scenes import COMMITTED, UNCOMMITTED, Outputs, chain, of_three, reader
from tests.unit.sim.scenes import entry, everybody, lasting, member
from tests.unit.sim.transactional_scenes import JITTER, played, producing

pytestmark = pytest.mark.property

FAULTS_S, HORIZON_S = 8, 38
"""Faults begin before; the longest session ends, and what has waited is worked off, before the horizon."""
POINTS = ("after_poll", "after_send", "before_commit", "before_end_txn", "after_end_txn", "after_commit")
STILL = Cluster(config=CoordinatorConfig(initial_rebalance_delay_us=0))


@st.composite
def faults(draw: st.DrawFn) -> Entry:
    """Of either group, or of a broker."""
    at_us, name = draw(st.integers(3 * S, FAULTS_S * S)), draw(st.sampled_from(["g", "second", "second"]))
    who, down = member(draw(st.integers(0, 1)), group=name), lasting(draw(st.sampled_from([500 * MS, 3 * S])))
    length = lasting(draw(st.sampled_from([200 * MS, 3 * S, 12 * S])))
    broker = Target(kind="broker", name=str(draw(st.integers(0, 2))))
    others = Target(kind="broker", name=draw(st.sampled_from(["all", "0", "1"])))
    verb: Any = draw(
        st.sampled_from(
            [
                Kill(target=who, down=down),
                GcPause(target=who, duration=length),
                Stuck(target=who, duration=length),
                CrashAt(target=member(0), point=draw(st.sampled_from(POINTS)), down=down),
                Kill(target=broker, down=down),
                Cut(between=(broker, others), duration=lasting(draw(st.sampled_from([20 * MS, S, 5 * S])))),
            ]
        )
    )
    return entry(at_us, verb, f"fault-{draw(st.integers(0, 10**9))}")


@st.composite
def chains(draw: st.DrawFn) -> Scenario:
    """Two groups, or three; the second of one member or two, at either level."""
    timeline = draw(st.lists(faults(), min_size=1, max_size=3, unique_by=lambda one: one.id))
    back = [entry(22 * S, StartMembers(target=everybody(name)), f"{name} is back") for name in ("g", "second")]
    client = draw(st.sampled_from([COMMITTED, COMMITTED, UNCOMMITTED]))
    strategy = draw(st.sampled_from(["range", "cooperative-sticky"]))
    second = reader(count=draw(st.integers(1, 2)), client=replace(client, partition_assignment_strategy=(strategy,)))
    version = draw(st.sampled_from([TV2, TV2, TV1]))
    cluster = replace(draw(st.sampled_from([JITTER, STILL])), transactions=TransactionConfig(version=version))
    produces = producing(transaction_timeout_us=6 * S)
    scenario = chain(
        *timeline, *back, readers=(second,), copies=3, horizon_s=HORIZON_S, cluster=cluster, produces=produces
    )
    return of_three(scenario) if client is COMMITTED and draw(st.booleans()) else scenario


@settings(max_examples=3, deadline=None)
@given(scenario=chains(), seed=st.integers(1, 1000))
def test_all_that_is_committed_is_read_once_in_the_end(scenario: Scenario, seed: int) -> None:
    note(str((scenario.timeline, scenario.groups, seed)))
    with pytest.MonkeyPatch.context() as patch:
        outputs = Outputs(patch)
        result = played(scenario, seed=seed)
    level = scenario.groups[1].client.isolation_level
    assert sum(outputs.there().values()) == 40 * (HORIZON_S - 4)
    assert outputs.processed["second"] == outputs.there(is_committed=level == "read_committed")
    if len(scenario.groups) == 3:
        assert outputs.processed["third"] == outputs.there("last")
        assert sum(outputs.there("last").values()) == 40 * (HORIZON_S - 4)
    assert result.manifest["digests"] == played(scenario, "message", seed).manifest["digests"]
