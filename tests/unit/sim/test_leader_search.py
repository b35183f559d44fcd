"""When a client knows who leads, and when its first fetch from that leader is answered: arithmetic, without a run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from groupsim.sim.client.fetching.leader_search import LeaderSearch
from groupsim.sim.units import FOREVER

UP, DOWN, SERVICE, RETRY = 10, 20, 5, 100
"""Microseconds."""


class Connections:
    """Nothing waits on them."""

    def answered(self, asked: int, node: int, trips: Any) -> int:
        return asked + UP + SERVICE + DOWN

    fetched = answered


def search(now: int, *announced: Any, is_told: bool = True) -> LeaderSearch:
    """That of a client that reads one partition for each announcement, from broker 2; metadata take 1,000 us."""
    client: Any = SimpleNamespace(
        env=SimpleNamespace(now=now),
        path=SimpleNamespace(latencies=lambda kind, first, count: np.tile([UP, DOWN], count // 2)),
        books=SimpleNamespace(
            partitions=SimpleNamespace(
                leader=np.full(len(announced), 2, np.int32), announcements=lambda positions: list(announced)
            )
        ),
        machine=SimpleNamespace(is_paced=False),
        config=SimpleNamespace(behaviour=SimpleNamespace(leader_in_fetch_response=is_told), retry_backoff_us=RETRY),
        world=SimpleNamespace(timing=SimpleNamespace(service_us=SERVICE, poll_us=1)),
    )
    metadata: Any = SimpleNamespace(finds_leader=lambda since, heard: since + 1_000)
    nobody: Any = None
    connections: Any = Connections()
    in_flight: Any = SimpleNamespace(trip=lambda: (UP, DOWN), numbers={"other": 0})
    return LeaderSearch(client, nobody, connections, metadata, in_flight)


@pytest.mark.parametrize(("led_us", "asked_us"), [(0, 50), (60, 50), (61, 185), (195, 185), (196, 320)])
def test_a_leader_confirms_positions_if_it_leads_when_it_is_asked(led_us: int, asked_us: int) -> None:
    """At 50 us, or after the backoff; the fetch follows the answer."""
    (begun,) = search(0, SimpleNamespace(led_us=led_us)).begun(50, np.zeros(1, np.int32))
    assert begun == asked_us + 2 * (UP + SERVICE + DOWN)


def test_who_asked_before_the_high_watermark_moved_has_its_fetch_waiting_there() -> None:
    asked = [search(1_000, None).begun(asked_us, np.zeros(1, np.int32))[0] for asked_us in (50, 960)]
    assert asked == [1_000 + SERVICE + DOWN, 1_005 + SERVICE + DOWN]


@pytest.mark.parametrize(
    ("lost_us", "left_us", "known_us"),
    [
        (500, 400, 400 + DOWN),  # refused before it is lost
        (500, 500, 500 + DOWN),
        (500, 501, 1_500),  # nobody answers any more
        (500, FOREVER, 1_500),
        (900, 950, 950 + DOWN),  # nobody died: it is refused by a leader that will have heard of it
        (900, FOREVER, 1_900),
    ],
)
def test_a_leader_that_runs_names_the_next_one_and_of_one_that_died_metadata_tell(
    lost_us: int, left_us: int, known_us: int
) -> None:
    told = SimpleNamespace(former=1, heard_us={1: left_us})
    since, positions = np.array([lost_us]), np.zeros(1, np.int32)
    assert search(900, told).known(positions, since).tolist() == [known_us]
    extra = 1_000 if known_us - DOWN == left_us else 0
    assert search(900, told, is_told=False).known(positions, since).tolist() == [known_us + extra]
