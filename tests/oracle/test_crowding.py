"""What had piled up on a cluster when its brokers failed, and that `make oracle` plays all outages."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.oracle.broker_instants import instants
from tests.oracle.crowding import OTHERS, crowded, headers, plays_so_far
from tests.oracle.outage_report import RECORDINGS
from tests.oracle.study import played, recordings
from tests.oracle.trace import Fact

REPOSITORY = Path(__file__).parents[2]


def header(minute: int, second: float = 0.0) -> Fact:
    return {"zero": f"2026-11-23T16:{minute:02}:{second:09.6f}+00:00", "horizon_us": 40_000_000}


def test_plays_of_a_cluster_are_those_of_its_batches_so_far() -> None:
    beside, later, other_cluster = header(10, 0.37), header(10, 50), header(12, 5)
    recorded = [other_cluster, later, beside, header(10)]
    assert [plays_so_far(one, recorded) for one in (header(10), beside, later, other_cluster)] == [2, 2, 3, 1]


def test_each_kind_of_outage_was_recorded_on_a_cluster_of_its_own_three_plays_at_once() -> None:
    recorded = headers(RECORDINGS)
    assert Counter(plays_so_far(one, recorded) for one in recorded) == dict.fromkeys(range(3, 19, 3), 18)


def test_a_replay_has_what_other_plays_have_left_and_all_brokers_lead_as_much_of_it() -> None:
    name = "brokers-rolled-range"
    scenario, one = crowded(played(name, RECORDINGS), plays=18), recordings(name, RECORDINGS)[0]
    (_, others) = scenario.topics
    assert (others.name, others.partitions, others.replication_factor) == (OTHERS, 50 + 17 * 6, 3)
    led = instants(scenario, one.facts, lambda at_us: at_us).leaders
    assert len(led["orders"]) == 6
    assert sorted(Counter(led[OTHERS]).values()) == [50, 51, 51]


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_make_oracle_plays_every_scenario_once_and_kinds_of_outages_apart() -> None:
    told = subprocess.run(["make", "-n", "oracle"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    played_ = [re.findall(r"/scenarios/(\S+)\.yaml", one) for one in told.split("tests.oracle play")[1:]]
    written = [path.relative_to(path.parents[1]) for path in (REPOSITORY / "tests/oracle/scenarios").rglob("*.yaml")]
    names = Counter(str(one.with_suffix("")).removeprefix("scenarios/") for one in written)
    assert Counter(name for some in played_ for name in some) == names
    outages = [some for some in played_ if some[0].startswith("outages/")]
    assert [len(some) for some in outages] == [3] * 6
