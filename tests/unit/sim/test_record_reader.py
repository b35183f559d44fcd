"""What a reader has in hand when it is told to read on, from where it is or from elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from groupsim.sim.books.offsets.record_reader import Appetite, RecordReader
from groupsim.sim.units import MS, S

EACH_US = 10 * MS
THERE = 8
"""Records of each partition, all of which are there from the beginning."""


class Produced:
    """Of a partition all records that there are, at any time."""

    def comes_in_jumps(self, position: int) -> bool:
        return False

    def history(self, times: Any, position: int) -> Any:
        return np.full(len(times), THERE)

    def seen_us(self, partition: Any, offset: Any) -> Any:
        return np.zeros(len(partition), np.int64)


class EverySecond:
    """Polls once a second; records cost what they cost."""

    held_until = -1
    slowdown = 1.0

    def __init__(self, start: int, wait_us: int = 0) -> None:
        self.start = start
        self.wait_us = wait_us

    def passes(self, begin: int, until: int, most: int) -> tuple[Any, Any, Any]:
        begins = np.arange(begin, max(until, begin + 1), S)[:most]
        return begins, begins + self.wait_us, begins + S

    def costs(self, begins: Any, usual_us: float) -> Any:
        return np.full(len(begins), round(usual_us), np.int64)


class OneMore(Produced):
    """Some have waited, and one more of each partition comes after 100 ms."""

    def history(self, times: Any, position: int) -> Any:
        return THERE + (times >= 100 * MS)

    def seen_us(self, partition: Any, offset: Any) -> Any:
        return np.where(offset < THERE, -1, 100 * MS)


class OneAlone(Produced):
    """Nothing has waited, and a record of each partition comes after 100 ms."""

    def history(self, times: Any, position: int) -> Any:
        return (times >= 100 * MS).astype(np.int64)

    def seen_us(self, partition: Any, offset: Any) -> Any:
        return np.full(len(partition), 100 * MS)


def waiting(polls: EverySecond, appetite: Appetite) -> RecordReader:
    """Two partitions without a record, from now on."""
    reader = RecordReader(OneAlone(), 0, lambda more: None)  # type: ignore[arg-type]
    reader.anchor(0, np.array([0, 1], np.int32), np.array([0, 0]))
    reader.follow(polls, 0, appetite)
    return reader


def reading() -> RecordReader:
    """After 35 ms of a batch of sixteen: partition 0 is handed out first, three of its records are done."""
    reader = RecordReader(Produced(), 0, lambda more: None)  # type: ignore[arg-type]
    reader.anchor(0, np.array([0, 1], np.int32), np.array([0, 0]))
    reader.follow(EverySecond(0), 0, Appetite(2 * THERE, THERE, EACH_US))
    assert reader.positions(35 * MS).tolist() == [3, 0]
    return reader


def read_after(reader: RecordReader, to: list[int]) -> list[tuple[int, int, int]]:
    """Partition, offset and end of what is processed after 35 ms, from these offsets on; polls go on after 300 ms."""
    reader.anchor(35 * MS, np.array([0, 1], np.int32), np.array(to))
    reader.follow(EverySecond(300 * MS), 35 * MS, Appetite(2 * THERE, THERE, EACH_US))
    reader.advance(S)
    found = [records for since, _, records in reader.stretches if since >= 35 * MS]
    return [
        row for one in found for row in zip(one.partition.tolist(), one.offset.tolist(), one.done.tolist(), strict=True)
    ]


def test_what_is_in_hand_goes_on_where_it_was() -> None:
    rows = read_after(reading(), [3, 0])
    assert [(partition, offset) for partition, offset, _ in rows] == [
        *((0, offset) for offset in range(3, THERE)), *((1, offset) for offset in range(THERE))
    ]  # fmt: skip
    assert rows[0][2] == 40 * MS


@pytest.mark.parametrize("to", [[0, 0], [1, 0], [5, 0]])
def test_of_what_is_read_from_elsewhere_on_nothing_is_in_hand(to: list[int]) -> None:
    """The other partition's records go on at once; those of this one come with the next poll()."""
    rows = read_after(reading(), to)
    assert [offset for partition, offset, _ in rows if partition == 1] == list(range(THERE))
    again = [(offset, done) for partition, offset, done in rows if partition == 0]
    assert [offset for offset, _ in again] == list(range(to[0], THERE))
    assert again[0][1] == 300 * MS + EACH_US


def test_a_poll_that_is_disturbed_returns_once() -> None:
    """It takes 1 ms, and is told to go on after half of that; what comes while its records are processed waits."""
    reader, both = RecordReader(OneMore(), 0, lambda more: None), np.array([0, 1], np.int32)  # type: ignore[arg-type]
    appetite = Appetite(4 * THERE, 2 * THERE, EACH_US, poll_us=MS)
    reader.anchor(0, both, np.array([0, 0]))
    reader.follow(EverySecond(0, MS), 0, appetite)
    reader.advance(S)
    reader.anchor(MS // 2, both, np.array([0, 0]))
    polls = EverySecond(500 * MS, MS)
    polls.held_until = MS
    reader.follow(polls, MS // 2, appetite)
    reader.advance(S)
    found = [records for _, _, records in reader.stretches if len(records)]
    assert [one.fetched[0] for one in found] == [MS, 501 * MS]
    assert [len(one) for one in found] == [2 * THERE, 2]
    assert found[0].done[0] == MS + EACH_US


def held(until: int) -> EverySecond:
    """A wait inside poll() that is under way lasts until the first poll."""
    polls = EverySecond(until)
    polls.held_until = until
    return polls


@pytest.mark.parametrize("polls", [EverySecond(0, S), held(S)])
def test_the_next_poll_sees_what_has_come_while_the_last_one_waited(polls: EverySecond) -> None:
    """All that wait long: one is over when the next begins, so that whoever asks then has it."""
    appetite = Appetite(THERE, THERE, EACH_US, poll_us=MS)
    assert waiting(polls, appetite).positions(S).tolist() == [1, 1]
    first = waiting(polls, appetite).first_done({0: 0, 1: 0}, S)
    assert first[0] == 0
    assert 100 * MS + EACH_US <= first[1] <= 100 * MS + EACH_US + MS


def test_what_comes_while_poll_waits_is_not_committed_ahead_of_it() -> None:
    """Who commits what a poll() is about to return does so when that begins."""
    assert waiting(EverySecond(0, S), Appetite(THERE, THERE, EACH_US)).returned(S).tolist() == [0, 0]
