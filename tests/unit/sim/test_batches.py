"""What one poll() returns of records that come in jumps, and what is to do of it afterwards."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from groupsim.sim.client.polling.batches import Batches
from tests.unit.sim.test_arrivals import Jumps

NOW = 100
PACED: Any = SimpleNamespace(full_records=10, capacity=0.5)


class Reader:
    """A client that holds some partitions, at offset 0, and has one poll() at 100 us and the next at 141."""

    def __init__(self, *partitions: int) -> None:
        self.run = Jumps()
        self.run.pass_until(NOW)
        self.poll_loop: Any = SimpleNamespace(goes_on_at=lambda now: now, has_news=True)
        self.schedule: Any = SimpleNamespace(start=NOW, next_poll=lambda after: 141 if after > NOW else NOW)
        client: Any = SimpleNamespace(
            consumption=SimpleNamespace(partitions=np.array(partitions, np.int32)),
            books=SimpleNamespace(ledger=self.run.ledger, partitions=self.run.ledger._partitions),
            world=SimpleNamespace(catalog=self.run.catalog),
        )
        self.held, self.batches = client.consumption, Batches(client, self.poll_loop)

    def arrive(self, partition: int, produced_us: int, records: int) -> None:
        self.run.arrivals.show(NOW, partition, [produced_us] * records)
        self.run.ledger.arrive("t")

    def begin(self, *at: int, most: int = 10, now: int = NOW) -> tuple[float, list[int]]:
        paced: Any = SimpleNamespace(full_records=most, capacity=0.5)
        capacity, returned = self.batches.begin(now, np.array(at, np.int64), paced, self.schedule)
        assert returned is not None
        return capacity, returned.tolist()


@pytest.mark.parametrize(
    ("most", "returned"),
    [(12, [4, 4, 4]), (11, [4, 3, 4]), (10, [3, 3, 4]), (9, [3, 3, 3]), (2, [1, 0, 1]), (1, [0, 0, 1])],
)
def test_a_poll_takes_the_same_of_each_and_one_more_of_those_that_wait_longest(most: int, returned: list[int]) -> None:
    reader = Reader(0, 1, 2)
    for partition, produced_us in ((2, 10), (0, 20), (1, 30)):
        reader.arrive(partition, produced_us, 4)
    assert reader.begin(0, 0, 0, most=most)[1] == returned
    assert reader.poll_loop.has_news == (most < 12), "more waits for the next one"


def test_it_is_the_next_record_that_has_waited_longest() -> None:
    """The oldest of all is taken anyhow."""
    reader = Reader(0, 1)
    reader.arrive(0, 5, 1)
    reader.arrive(0, 60, 2)
    reader.arrive(1, 50, 3)
    assert reader.begin(0, 0, most=3)[1] == [1, 2]


def test_what_is_returned_is_done_when_the_next_poll_begins() -> None:
    reader = Reader(0, 1)
    assert reader.begin(0, 0) == (0.5, [0, 0]), "nothing has come"
    reader.arrive(1, 50, 8)
    assert reader.begin(0, 0) == (8 / 40, [0, 8])


def test_of_a_batch_in_hand_there_is_what_has_not_been_processed_of_partitions_that_are_still_held() -> None:
    reader = Reader(0, 1)
    reader.arrive(0, 50, 4)
    reader.arrive(1, 60, 3)
    assert reader.begin(0, 1)[1] == [4, 2]
    reader.arrive(2, 70, 5)
    reader.held.partitions = np.array([1, 2], np.int32)
    reader.schedule.start = NOW + 1  # not a poll
    assert reader.begin(2, 3)[1] == [1, 0]
    assert reader.poll_loop.has_news, "of the third partition"


def test_beside_a_partition_with_a_rate_it_is_a_flow() -> None:
    reader = Reader(0)
    reader.run.ledger.rate_of = lambda held: 1.0  # type: ignore[method-assign]
    reader.schedule.start = NOW + 1
    held = np.zeros(1, np.int64)
    assert reader.batches.begin(NOW, held, PACED, reader.schedule) == (0.5, None)
    assert reader.poll_loop.has_news, "it looks at the next poll"
    reader.schedule.start = NOW
    reader.batches.begin(NOW, held, PACED, reader.schedule)
    assert not reader.poll_loop.has_news
