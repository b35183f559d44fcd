"""What is compared of a run, whatever protocols its members use: its course, its durations, its figures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from tests.oracle import epochs, measures, outage_measures
from tests.oracle.trace import Fact


def of_consumer_group(facts: Iterable[Fact]) -> bool:
    """Whether somebody used the consumer protocol."""
    return any(fact["what"] in epochs.EPOCHS for fact in facts)


def course(facts: Iterable[Fact]) -> list[tuple[Any, ...]]:
    """What must be equal: each step of the coordinator, and who came and went before it.

    A step of the classic protocol is another state, with its generation, its trigger and the number of members; one of
    the consumer protocol is another epoch, or a target for one; a conversion is one too.

    Two things are left out, being races of milliseconds: who of several newcomers comes first, and whether it is the
    leader or another member that begins the next round of a cooperative rebalance.
    """
    found: list[tuple[Any, ...]] = []
    changes: dict[tuple[str, str], int] = defaultdict(int)
    present: set[str] = set()
    for fact in facts:
        match fact["what"]:
            case "membership" if fact["change"] == "added" and fact["member_id"] in present:
                pass  # A member of the classic protocol that rejoins a consumer group.
            case "membership" if fact["change"] != "pending":
                changes[fact["change"], fact["member"]] += 1
                (present.add if fact["change"] == "added" else present.discard)(fact["member_id"])
            case "transition" if fact["state"] == "PreparingRebalance":
                trigger = str(fact["trigger"])
                told = "rejoined" if trigger.endswith("rejoined") else trigger
                found.append((fact["state"], fact["generation"], told))
            case "transition":
                found.append((fact["state"], fact["generation"], fact["members"], tuple(sorted(changes.items()))))
                changes.clear()
            case "epoch":
                found.append(("epoch", fact["epoch"], tuple(sorted(changes.items()))))
                changes.clear()
            case "target":
                found.append(("target", fact["epoch"], fact["assignor"]))
            case "converted":
                found.append(("converted", fact["to"]))
    return found


def durations(facts: Sequence[Fact]) -> dict[str, float]:
    """Every duration of a run by name, seconds; equal names mean the same thing in runs of the same course."""
    return {**phases(facts), **measures.unread_by_length(facts)}


def phases(facts: Sequence[Fact]) -> dict[str, float]:
    """How long each part of each round, of each rebalance of a consumer group and of an outage took; seconds."""
    found = measures.phases(facts)
    found |= epochs.phases(facts) if of_consumer_group(facts) else {}
    return found | outage_measures.durations(facts)


def summary(facts: Sequence[Fact]) -> dict[str, float]:
    """The few figures of a run that tables show: seconds, but for numbers of things."""
    found = epochs.summary(facts) if of_consumer_group(facts) else measures.summary(facts)
    return found | outage_measures.durations(facts)
