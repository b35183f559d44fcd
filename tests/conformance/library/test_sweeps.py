"""What the built-in sweeps of samples say they find, found.

Closed form of detection-timeouts, S the session, H the heartbeat interval, C the commit interval (5 s): a member that
dies is removed S after its last heartbeat or commit, so between S - min(H, C) and S after its death, and the survivors
hear of it with their next heartbeats, all of them within H.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from groupsim.analysis.sensitivity.effects import sensitivity
from groupsim.scenarios.sweep.file import SweepFile
from groupsim.scenarios.sweep.loading import Sweep, load_sweep
from groupsim.sim import simulate
from tests.conformance.library.runs import COMMIT_S, TRIPS_S

SESSION = "groups.billing.config[session.timeout.ms]"
HEARTBEAT = "groups.billing.config[heartbeat.interval.ms]"
STATIC, DOWN, COUNT = (
    "groups.billing.members.static",
    "timeline[deploy].rolling_restart.down",
    "groups.billing.members.count",
)


def gaps_s(sweep: Sweep) -> NDArray[np.float64]:
    """The longest gap of each variant's first run, seconds."""
    found = [simulate(one.scenario, seed=one.seed).tables.rows("summary") for one in sweep.variants]
    return np.array([rows[0]["unavailable_gap_s_max"] for rows in found])


def test_the_gap_after_a_kill_is_the_session_give_or_take_a_heartbeat() -> None:
    sweep = load_sweep("detection-timeouts")
    points = pd.DataFrame([dict(one.changes) for one in sweep.variants]) / 1000
    assert len(points) == 32
    late = gaps_s(sweep) - points[SESSION]
    heartbeat = points[HEARTBEAT]
    assert (late >= -heartbeat.clip(upper=COMMIT_S)).all()
    assert (late <= heartbeat + TRIPS_S).all()
    assert late.max() > 1, "some survivors hear of it late"
    assert late.min() < -1, "some sessions had run for a while"


@pytest.fixture(scope="module")
def deploys() -> tuple[Sweep, NDArray[np.float64]]:
    sweep = load_sweep("deploy-knobs")
    return sweep, gaps_s(sweep)


@pytest.mark.slow
def test_static_membership_and_the_time_down_decide_the_gaps_of_a_deploy(
    deploys: tuple[Sweep, NDArray[np.float64]],
) -> None:
    sweep, gaps = deploys
    plan = SweepFile.model_validate(dict(sweep.document)).plan
    found = sensitivity(
        "morris", plan.paths, plan.places([one.changes for one in sweep.variants]), gaps,
        metric="unavailable_gap_s_max", levels=plan.levels,
    )  # fmt: skip
    assert found.blocks == 10
    assert {knob.path for knob in found.knobs[:2]} == {STATIC, DOWN}
    for knob in found.knobs[:2]:
        assert 10 < knob.weight * found.jump < 30
        assert knob.detail > knob.weight / 2, "each only with the other"
    for knob in found.knobs[2:]:
        assert knob.weight < found.knobs[1].weight / 5
    assert found.knobs[-1].path == COUNT


@pytest.mark.slow
def test_only_static_pods_leave_their_partitions_to_wait(deploys: tuple[Sweep, NDArray[np.float64]]) -> None:
    sweep, gaps = deploys
    static = np.array([one.changes[STATIC] for one in sweep.variants])
    down_s = np.array([float(one.changes[DOWN].removesuffix("s")) for one in sweep.variants])
    session_s = np.array([one.changes[SESSION] / 1000 for one in sweep.variants])
    assert (gaps[~static] < 7).all(), "two heartbeats, two rounds"
    assert (gaps[static] >= np.minimum(down_s, session_s)[static]).all()
