"""The file of a recording."""

from __future__ import annotations

from pathlib import Path

from tests.oracle import trace

HEADER = {"what": "recording", "source": "kafka", "scenario": "kill", "repetition": 1}
FACTS = [
    {"what": "read", "member": "g/0", "from_us": 5, "partition": "orders-7", "next_offset": None},
    {"what": "end", "at_us": 9, "member": "g/1", "how": "closed"},
    {"what": "end", "at_us": 9, "member": "g/0", "how": "killed"},
    {"what": "assigned", "at_us": 5, "member": "g/0", "partitions": {"orders": [7]}},
]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    made = trace.make(HEADER, FACTS)
    trace.write(tmp_path / "kill" / "1.jsonl.gz", made)
    assert trace.read(tmp_path / "kill" / "1.jsonl.gz") == made


def test_facts_are_in_order_of_instant_kind_and_member() -> None:
    made = trace.make(HEADER, FACTS)
    assert [(one["what"], one["member"]) for one in made.facts] == [
        ("assigned", "g/0"), ("read", "g/0"), ("end", "g/0"), ("end", "g/1"),
    ]  # fmt: skip


def test_the_same_facts_are_the_same_bytes(tmp_path: Path) -> None:
    one, other = tmp_path / "1", tmp_path / "2"
    trace.write(one, trace.make(HEADER, FACTS))
    trace.write(other, trace.make(HEADER, FACTS[::-1]))
    assert one.read_bytes() == other.read_bytes()


def test_kinds_are_picked() -> None:
    assert [one["how"] for one in trace.make(HEADER, FACTS).of("end")] == ["killed", "closed"]


def test_partitions_travel_compactly() -> None:
    some = [("orders", 5), ("orders", 0), ("alarms", 1)]
    assert trace.compact(some) == {"alarms": [1], "orders": [0, 5]}
