"""The same scenario and seed give the same tables: in any process, beside any group, declared in any order."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from groupsim.sim import simulate
from groupsim.sim.config import CoordinatorConfig
from groupsim.sim.errors import ConfigError
from groupsim.sim.model import (
    Cluster,
    Distribution,
    Entry,
    GcPause,
    Group,
    Kill,
    Members,
    Network,
    Rate,
    Restart,
    Scenario,
    Start,
    Subscription,
    Target,
    Topic,
)
from groupsim.sim.tables import TABLES
from groupsim.sim.units import MS, S
from tests.support.scenarios import EVENTS_MAX
from tests.unit.sim.scenes import CLIENT, PROCESSING

ROOT = Path(__file__).parents[3]
SCRIPT = """
import json, sys
from groupsim.sim import simulate
from tests.unit.sim.test_determinism import LIVELY
print(json.dumps(simulate(LIVELY, seed=3).manifest["digests"]))
"""


def people(name: str, topics: tuple[str, ...]) -> Group:
    members = Members(count=3, start=Start(kind="within", value_us=5 * S))
    return Group(
        name=name, subscription=Subscription(topics=topics), members=members, client=CLIENT, processing=PROCESSING
    )


BILLING = Target("group", "billing")
HALF_OF_AUDIT = Target("group", "audit", pick="share", share=0.5)
LIVELY = Scenario(
    name="lively", question="?", horizon_us=90 * S, event_budget=EVENTS_MAX,
    cluster=Cluster(
        config=CoordinatorConfig(initial_rebalance_delay_us=S),
        network=Network(latency=Distribution("lognormal", (500, 5_000)), loss=0.01),
    ),
    topics=(
        Topic(name="orders", partitions=5, rate=Rate(per_partition_mrps=((10_000, 500, 70_000),))),
        Topic(name="returns", partitions=3, rate=Rate(per_partition_mrps=((1_000,),))),
    ),
    groups=(people("billing", ("orders", "returns")), people("audit", ("orders",))),
    timeline=(
        Entry(id="gc", every=Distribution("exponential", (8 * S,)), per_member=True,
              verb=GcPause(target=BILLING, duration=Distribution("lognormal", (300 * MS, 4 * S)))),
        Entry(id="crash", at_us=30 * S,
              verb=Kill(target=Target("group", "billing", pick="random"), down=Distribution("uniform", (S, 9 * S)))),
        Entry(id="deploy", at_us=60 * S,
              verb=Restart(target=HALF_OF_AUDIT, down=Distribution.constant(5 * S))),
    ),
)  # fmt: skip
"""Random everything: start, latency, loss, pauses, targets, down times, two groups."""


@cache
def lively() -> dict[str, str]:
    return simulate(LIVELY, seed=3).manifest["digests"]  # type: ignore[no-any-return]


def test_a_run_repeats_itself_and_another_seed_does_not() -> None:
    assert simulate(LIVELY, seed=3).manifest["digests"] == lively()
    assert simulate(LIVELY, seed=4).manifest["digests"]["ownership"] != lively()["ownership"]
    assert simulate(LIVELY, seed=3, replication=1).manifest["digests"]["ownership"] != lively()["ownership"]


def test_a_checked_run_and_a_message_run_have_the_same_tables() -> None:
    assert simulate(LIVELY, seed=3, check=True).manifest["digests"] == lively()
    assert simulate(LIVELY, seed=3, fidelity="message").manifest["digests"] == lively()


def elsewhere(python: str, hash_seed: str) -> dict[str, str]:
    told = subprocess.run(
        [python, "-c", SCRIPT], cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    return json.loads(told.stdout)  # type: ignore[no-any-return]


@pytest.mark.parametrize("hash_seed", ["0", "4242"])
def test_the_hash_seed_of_a_process_does_not_matter(hash_seed: str) -> None:
    assert elsewhere(sys.executable, hash_seed) == lively()


def test_another_python_gives_the_same() -> None:
    others = sorted(Path.home().glob(".pyenv/versions/3.1[1-9]*/bin/python"))
    for python in others:
        if f"{sys.version_info.major}.{sys.version_info.minor}." in python.parts[-3]:
            continue
        has = subprocess.run([str(python), "-c", "import numpy, pandas, simpy"], capture_output=True, check=False)
        if has.returncode == 0:
            assert elsewhere(str(python), "1") == lively()
            return
    pytest.skip("no other Python here has numpy, pandas and simpy")


def of_group(scenario: Scenario, group: str) -> dict[str, pd.DataFrame]:
    tables = {name: table for name, table in simulate(scenario, seed=3).tables.items() if "group" in table}
    return {name: table[table["group"] == group].reset_index(drop=True) for name, table in tables.items()}


@pytest.mark.parametrize("name", ["a", "zz"])
def test_an_unrelated_group_changes_nothing(name: str) -> None:
    """Its own topic, its own members; named before and after the others."""
    more = replace(
        LIVELY,
        topics=(*LIVELY.topics, Topic(name=f"{name}-topic", partitions=4)),
        groups=(people(name, (f"{name}-topic",)), *LIVELY.groups),
    )
    for group in ("billing", "audit"):
        alone, beside = of_group(LIVELY, group), of_group(more, group)
        for table in alone:
            pd.testing.assert_frame_equal(alone[table], beside[table], obj=f"{table} of {group}")


@pytest.mark.parametrize("field", ["topics", "groups", "timeline"])
def test_the_order_of_declaration_does_not_matter(field: str) -> None:
    turned = replace(LIVELY, **{field: tuple(reversed(getattr(LIVELY, field)))})
    assert simulate(turned, seed=3).manifest["digests"] == lively()


def test_a_pause_entry_of_another_group_does_not_move_the_draws_of_this_one() -> None:
    other = Entry(
        id="more", at_us=10 * S, verb=GcPause(target=Target("group", "audit"), duration=Distribution.constant(5 * S))
    )
    more = of_group(replace(LIVELY, timeline=(other, *LIVELY.timeline)), "billing")
    alone = of_group(LIVELY, "billing")
    for table in alone:
        columns = [column for column in TABLES[table] if column != "recovery_s"]  # since the last fault anywhere
        pd.testing.assert_frame_equal(alone[table][columns], more[table][columns])


@pytest.mark.parametrize("name", ["seed", "replication"])
@pytest.mark.parametrize("number", [-1, 1.5, 1.0, "1", None, True, 1 << 63])
def test_a_seed_that_tables_would_tell_as_another_is_refused(name: str, number: object) -> None:
    with pytest.raises(ConfigError, match=f"{name} is .*; it must be a whole number, 0 or more"):
        simulate(LIVELY, **{name: number})  # type: ignore[arg-type]
