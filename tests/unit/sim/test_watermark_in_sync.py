"""Writes of coordinators wait for followers that are in sync, and for nobody else; so do commits by arithmetic."""

import numpy as np

from groupsim.sim.cluster.shard.watermark import Watermark
from groupsim.sim.kernel.network import FollowerWait, Path, round_trips
from groupsim.sim.model import Distribution, Network
from groupsim.sim.randomness import Draw, Streams
from groupsim.sim.units import MS

AWAY_MS = {1: 2, 2: 40}
"""Two followers, and how far away they are."""


def among(in_sync: tuple[int, ...]) -> Draw | None:
    wait_us = max((AWAY_MS[one] for one in in_sync[1:]), default=0) * MS
    return Draw(0, Distribution.constant(wait_us)) if wait_us else None


def test_who_left_is_not_waited_for_and_who_is_back_is() -> None:
    """1 ms for the append, and the slower of those in sync."""
    mark = Watermark(MS, among, (0, 1, 2))
    assert mark.passes(100 * MS) == 141 * MS
    for in_sync, passes_ms in (((0, 1), 103), ((0,), 101), ((0, 1, 2), 141)):
        mark.await_only(in_sync, lambda: None)
        assert mark.passes(100 * MS) == passes_ms * MS


def test_who_commits_by_arithmetic_is_woken_before_its_commits_wait_otherwise() -> None:
    commits = FollowerWait(Distribution.constant(40 * MS), 40 * MS)
    mark = Watermark(MS, among, (0, 1, 2), commits)
    seen: list[Distribution | None] = []
    for in_sync in ((0, 2), (0, 1), (0, 1), (0,)):
        mark.await_only(in_sync, lambda: seen.append(commits.law))
    assert seen == [Distribution.constant(40 * MS), Distribution.constant(2 * MS)]
    assert commits.law is None


def test_the_answer_to_a_commit_waits_for_who_is_in_sync_then() -> None:
    commits, latency = FollowerWait(Distribution.constant(40 * MS), 40 * MS), Distribution.constant(MS)
    path = Path(Streams(1), Network(latency=latency), latency, "g/0#1", None, commits)
    for law, wait_ms in ((commits.law, 40), (Distribution.constant(2 * MS), 2), (None, 0)):
        commits.law = law
        ways = [path.latency("commit", number) for number in (6, 7)]
        assert ways == round_trips([path], "commit", np.array([3]))[:, 0].tolist() == [MS, (1 + wait_ms) * MS]
        assert path.latency("heartbeat", 7) == MS
    assert path.longest_us == 41 * MS
    assert path.commit_us == 42 * MS, "there and back, and the wait at its opening"
