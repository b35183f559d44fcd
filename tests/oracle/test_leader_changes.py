"""What a broker's log says of partitions that it takes over."""

from __future__ import annotations

import csv
from pathlib import Path

from tests.oracle.leader_changes import COLUMNS, LEAST, changes, rows_of

BEGIN = "2026-11-27T15:51:43.{:06d} INFO logger [Broker id=1] Transitioning 9 partition(s) to local {}."
LED = (
    "2026-11-27T15:51:43.{:06d} INFO logger [Broker id=1] Leader {}-{} with topic id Some(x) starts at leader epoch 1"
    " from offset 0 with partition epoch 5, high watermark 0, ISR [0,1], adding replicas [] and removing replicas [] ."
    " Previous leader {} and previous leader epoch was 0."
)


def log(count: int, *, topic: str = "big", former: str = "Some(2)") -> list[str]:
    """A broker that leads so many partitions, one every 2 ms."""
    led = [LED.format(2_000 * number, topic, number, former) for number in range(1, count + 1)]
    return [BEGIN.format(0, "leaders"), *led, BEGIN.format(900_000, "followers")]


def test_a_change_is_when_each_is_led_after_it_has_begun() -> None:
    (led,) = changes(log(LEAST))
    assert led == [2_000 * number for number in range(1, LEAST + 1)]


def test_few_others_topics_and_partitions_that_nobody_led_are_left_out() -> None:
    logs = [log(LEAST - 1), log(LEAST, topic="__consumer_offsets"), log(LEAST, former="None"), ["  at java.base"]]
    assert [list(changes(lines)) for lines in logs] == [[], [], [], []]


def test_only_the_first_change_of_a_process_that_was_started_again_is_first() -> None:
    lines = [*log(60), *log(LEAST)]
    assert list(rows_of(90, 2, lines, is_restarted=True)) == [
        (90, 2, 1, 60, 1, 2), (90, 2, 1, 60, 20, 40), (90, 2, 1, 60, 50, 100), (90, 2, 1, 60, 60, 120),
        (90, 2, 0, LEAST, 1, 2), (90, 2, 0, LEAST, 20, 40), (90, 2, 0, LEAST, LEAST, 2 * LEAST),
    ]  # fmt: skip
    assert {row[2] for row in rows_of(90, 2, lines, is_restarted=False)} == {0}


def test_what_is_kept_has_these_columns() -> None:
    path = Path(__file__).parents[1] / "golden" / "leader_changes" / "taken-over.csv"
    with path.open(encoding="utf-8", newline="") as file:
        assert tuple(next(csv.reader(file))) == COLUMNS
