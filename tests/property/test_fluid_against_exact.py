"""The fluid against ``data: exact``, partition by partition: where everybody has got to, and what a hot one leaves.

By name, what differs: *in hand*, records that poll() has returned or will return next, which the fluid of who is caught
up has processed; *turns*, since a poll() hands out one partition's fetch to its end before the next one's, so that who
is behind is up to a fetch away from the same for each, and a cold partition waits for those of the hot ones; *first
pass* (`sim/decisions/0022-records.md`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from groupsim.sim import simulate
from groupsim.sim.books.offsets.exact_ledger import ExactLedger
from groupsim.sim.books.offsets.holding import Holding
from groupsim.sim.books.offsets.ledger import Ledger
from groupsim.sim.config import Timing
from groupsim.sim.model import GcPause, Kill, Rate, Restart, Scenario, Topic
from groupsim.sim.output import tables
from groupsim.sim.output.lag_figures import LagFigures, figures_of
from groupsim.sim.units import MS, S
from tests.support.random_scenarios import Family, random_scenario
from tests.unit.sim.scenes import CLIENT, PROCESSING, entry, group, lasting, member, scene

pytestmark = pytest.mark.property

FETCH = Timing().records_per_fetch
POLL = 100
"""``max.poll.records`` of the mixes."""


class Side(NamedTuple):
    """One of the two."""

    ledgers: list[Ledger]
    horizon_us: int
    passes_us: dict[Holding, int]
    """How long the passes of who reads records one by one are at most."""

    def processed(self) -> NDArray[np.int64]:
        """Next offset of each partition of each group at the horizon."""
        return np.concatenate([ledger.processed(self.horizon_us) for ledger in self.ledgers])

    def produced(self) -> NDArray[np.int64]:
        """Log end offsets then."""
        return np.concatenate([ledger.produced(self.horizon_us, _all(ledger)) for ledger in self.ledgers])

    def owed(self, is_behind: NDArray[np.bool_]) -> NDArray[np.int64]:
        """What any consumer is done with by then: all that came two passes and a round of turns before."""
        found, ends = [], np.cumsum([len(ledger.frontier) for ledger in self.ledgers])
        for ledger, mine in zip(self.ledgers, np.split(is_behind, ends[:-1]), strict=True):
            assert isinstance(ledger, ExactLedger)
            since = np.full(len(ledger.frontier), self.horizon_us)
            for holding in ledger._reader_of:
                if holding.running:
                    behind = mine[holding.partitions]
                    spare = holding.capacity - ledger.rate_of(holding.partitions[~behind])
                    turns_us = FETCH * behind.sum() / spare if behind.any() else 0
                    since[holding.partitions] -= 2 * self.passes_us[holding] + int(turns_us)
            found.append(ledger.produced_by(since, _all(ledger)))
        return np.concatenate(found)


def _all(ledger: Ledger) -> NDArray[np.int32]:
    return np.arange(len(ledger.frontier), dtype=np.int32)


def assert_alike(fluid: Side, exact: Side, most: int) -> None:
    """Who is behind is within a fetch and a poll, the others have all but what is in hand, or waits for its turn."""
    is_behind = fluid.processed() < fluid.produced()
    done, ahead = exact.processed(), fluid.processed() - exact.processed()
    assert (np.abs(ahead) <= FETCH + most)[is_behind].all(), ahead[is_behind].tolist()
    owed = exact.owed(is_behind)
    assert (done >= owed)[~is_behind].all(), (owed - done)[~is_behind].tolist()
    assert (ahead >= 0)[~is_behind].all()


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Both sides of a scenario."""
    ledgers: list[Ledger] = []

    def seen(found: Sequence[Ledger], *told: Any) -> Iterator[LagFigures]:
        ledgers.extend(found)
        return figures_of(found, *told)

    def follow(self: ExactLedger, holding: Holding, schedule: Any, *told: Any) -> None:
        passes_us[holding] = schedule.longest_us
        follows(self, holding, schedule, *told)

    passes_us: dict[Holding, int] = {}
    follows = ExactLedger.follow
    monkeypatch.setattr(ExactLedger, "follow", follow)
    monkeypatch.setattr(tables, "figures_of", seen)

    def play(scenario: Scenario, seed: int) -> tuple[Side, Side]:
        sides = []
        for data in ("fluid", "exact"):
            ledgers.clear()
            one = replace(scenario, data=data, measure_from_us=0, measure_to_us=None)
            simulate(one, seed=seed)
            sides.append(Side(list(ledgers), scenario.horizon_us, passes_us))
        return sides[0], sides[1]

    return play


@pytest.mark.parametrize(
    ("family", "seed"),
    [
        ("jitter", 0), ("jitter", 1), ("jitter", 2), ("jitter", 4), ("grid", 1), ("grid", 2), ("grid", 3), ("dense", 0),
        ("dense", 1), ("dense", 3), ("aged", 2), ("delivery", 1), ("delivery", 2),
    ],
    ids=str,
)  # fmt: skip
def test_each_partition_gets_as_far(both: Any, family: Family, seed: int) -> None:
    scenario = random_scenario(seed, family)
    fluid, exact = both(scenario, seed)
    assert_alike(fluid, exact, max(one.client.max_poll_records for one in scenario.groups))


MIXES = {
    "one-hot": (1_000, 1_000, 400_000),
    "two-hot": (1_000, 20_000, 150_000, 300_000),
    "many-cold": (*[500] * 8, 2_000, 400_000),
    "nearly-hot": (10_000, 40_000, 60_000, 200_000),
    "all-hot": (100_000, 200_000, 400_000),
}
"""Rates of partitions, milli-records a second, of a member that processes 200 records a second."""
HOT = {"one-hot": 1, "two-hot": 2, "many-cold": 1, "nearly-hot": 1, "all-hot": 3}
"""So many, the last ones, it cannot keep up with."""
EVENTS = {
    "undisturbed": (),
    "pause": (entry(20 * S, GcPause(target=member(0), duration=lasting(8 * S))),),
    "restart": (entry(20 * S, Restart(target=member(0), down=lasting(6 * S))),),
    "kill": (entry(20 * S, Kill(target=member(0), down=lasting(3 * S))),),
}


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("event", EVENTS)
def test_a_hot_partition_leaves_cold_ones_what_they_need(both: Any, mix: str, event: str) -> None:
    """In the fluid they are caught up all the time."""
    topic = Topic(name="t", partitions=len(MIXES[mix]), rate=Rate(per_partition_mrps=(MIXES[mix],)))
    client = replace(CLIENT, auto_offset_reset="earliest", max_poll_records=POLL)
    work = replace(PROCESSING, per_poll_us=MS, per_record=lasting(5 * MS))
    people = group(client=client, processing=work)
    fluid, exact = both(scene(people, timeline=EVENTS[event], topics=(topic,), horizon_us=200 * S), 1)
    assert_alike(fluid, exact, POLL)
    is_behind = fluid.processed() < fluid.produced()
    assert is_behind.tolist() == [False] * (len(is_behind) - HOT[mix]) + [True] * HOT[mix]
    ahead = int((fluid.processed() - exact.processed()).sum())
    assert abs(ahead) <= 2 * POLL, "one poll that was not full for each time that it begins"
