"""What ``groupsim assignors compare`` prints: tables of what moves and what it costs, or everything event by event."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

from groupsim.scenarios.cli.output import print_table, width

if TYPE_CHECKING:
    from groupsim.assignors import GroupSnapshot


def tell(records: Sequence[dict[str, Any]], group: GroupSnapshot, many: int) -> None:
    """What moves, and the most of everything else over all events."""
    from groupsim.analysis.text.assignors import costs_tables, moves_tables

    print(fill(f"{title(group)}: what moves (in brackets: the fewest)", width()) + "\n")
    for table in moves_tables(records, many, width()):
        print_table(table)
        print()
    for number, table in enumerate(costs_tables(records, width())):
        if number:
            print()
        print_table(table)


def tell_all(records: Sequence[dict[str, Any]], group: GroupSnapshot, many: int) -> None:
    """A table per event."""
    from groupsim.analysis.text.assignors import event_table, how_to_read

    print(f"{title(group)}; many are {many}")
    for event in dict.fromkeys(one["event"] for one in records):
        print(f"\n{event}:\n")
        print_table(event_table(records, event, width()))
    print(f"\n{fill(how_to_read(records), width())}")


def title(group: GroupSnapshot) -> str:
    """A group in numbers."""

    def counted(number: int, noun: str) -> str:
        return f"{number:,} {noun}{'s' if number != 1 else ''}"

    topics = counted(len(group.topics.names), "topic")
    return f"{counted(group.n_members, 'member')}, {topics}, {counted(group.topics.n_partitions, 'partition')}"
