"""What is measured on a trace of a group of the consumer protocol (KIP-848), the same way on a recording and a run.

A *rebalance* begins when the group epoch is bumped and ends when the group is balanced: every member is at that epoch,
the coordinator has let it have all of its target (state STABLE), and it owns exactly that. Its *phases*: from the first
bump to the last target of it, and from there to the end. Epochs that are bumped meanwhile belong to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import mean

from tests.oracle.measures import faults, read_twice, rounds, unread, zero_us
from tests.oracle.trace import Fact

Partitions = frozenset[str]
EPOCHS = ("epoch", "target", "reconciled", "converted")
"""What only groups of the consumer protocol tell."""


@dataclass
class Rebalance:
    """From a bump of the group epoch to everybody owning its target; what did not come is -1, microseconds."""

    begun_us: int
    epochs: int = 1
    targets: int = 0
    target_us: int = -1
    balanced_us: int = -1


@dataclass
class _Group:
    """A group as its facts tell it, up to some instant."""

    epoch: int = 0
    members: dict[str, str] = field(default_factory=dict)
    """Names to member ids; none of a static member that has been replaced and not been told anything since."""
    told: dict[str, Fact] = field(default_factory=dict)
    owned: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def is_balanced(self) -> bool:
        """Whether every member is at the group's epoch and owns exactly what it is to own."""
        return all(self._is_settled(member_id, name) for name, member_id in self.members.items())

    def _is_settled(self, member_id: str, name: str) -> bool:
        told = self.told.get(member_id)
        if told is None or told["epoch"] != self.epoch or told["state"] != "STABLE":
            return False
        return self.owned[name] == {f"{topic}-{one}" for topic, some in told["assigned"].items() for one in some}

    def take(self, what: str, fact: Fact) -> None:
        """Take in the next fact, or the beginning (``owns``) or the end (``gives up``) of a stretch of reading."""
        match what:
            case "epoch":
                self.epoch = fact["epoch"]
            case "reconciled":
                self.told[fact["member_id"]] = fact
                self.members[fact["member"]] = fact["member_id"]
            case "membership" if fact["change"] == "added":
                self.members[fact["member"]] = fact["member_id"]
            case "membership" if fact["change"] == "replaced":
                self.members[fact["member"]] = ""
            case "membership" if fact["change"] in ("left", "failed"):
                self._remove(fact)
            case "owns":
                self.owned[fact["member"]].add(fact["partition"])
            case "gives up":
                self.owned[fact["member"]].discard(fact["partition"])

    def _remove(self, fact: Fact) -> None:
        """Somebody is gone; not who has the same name and another id meanwhile."""
        if self.members.get(fact["member"]) == fact["member_id"]:
            del self.members[fact["member"]]


def rebalances(facts: Sequence[Fact]) -> list[Rebalance]:
    """Every rebalance of the group, in order; the end of the consumer group ends the last one."""
    found: list[Rebalance] = []
    group = _Group()
    for at_us, what, fact in _told(facts):
        group.take(what, fact)
        is_open = bool(found) and found[-1].balanced_us < 0
        if what == "epoch" and not is_open:
            found.append(Rebalance(at_us))
        elif what == "epoch":
            found[-1].epochs += 1
        elif what == "target" and is_open:
            found[-1].targets += 1
            found[-1].target_us = at_us
        if found and found[-1].balanced_us < 0 and group.is_balanced():
            found[-1].balanced_us = at_us
    return found


def _told(facts: Iterable[Fact]) -> list[tuple[int, str, Fact]]:
    """Facts of the coordinator, and when stretches of reading begin and end, in order of time."""
    told: list[tuple[int, str, Fact]] = []
    for fact in facts:
        if fact["what"] == "read":
            told += [(fact["from_us"], "owns", fact), (fact["to_us"], "gives up", fact)]
        elif fact["what"] in (*EPOCHS, "membership"):
            told.append((fact["at_us"], fact["what"], fact))
    return sorted(told, key=lambda one: one[0])


def phases(facts: Sequence[Fact]) -> dict[str, float]:
    """Every duration of a run by name, seconds; equal names mean the same thing in runs of the same course."""
    found: dict[str, float] = {}
    times = [fact["at_us"] for fact in faults(facts)]
    for number, one in enumerate(rebalances(facts), 1):
        before = max((time for time in times if time <= one.begun_us), default=None)
        if before is not None:
            found[f"rebalance {number}: fault to epoch"] = (one.begun_us - before) / 1e6
        if one.target_us >= 0:
            found[f"rebalance {number}: epoch to target"] = (one.target_us - one.begun_us) / 1e6
        if one.target_us >= 0 and one.balanced_us >= 0:
            found[f"rebalance {number}: target to balanced"] = (one.balanced_us - one.target_us) / 1e6
    return found


def summary(facts: Sequence[Fact]) -> dict[str, float]:
    """The few figures of a run that tables show: seconds, but for numbers of things; all from the first fault on."""
    zero = zero_us(facts)
    after = [one for one in rebalances(facts) if one.begun_us >= zero]
    gaps = {name: [end - begin for begin, end in each if end > zero] for name, each in unread(facts).items()}
    found: dict[str, float] = {
        "rebalances": len(after),
        "epochs": sum(one.epochs for one in after),
        "targets": sum(one.targets for one in after),
        "classic rounds": len([one for one in rounds(facts) if one.preparing_us >= zero]),
        "read twice": read_twice(facts),
    }
    if after and faults(facts):
        found["detection"] = (after[0].begun_us - zero) / 1e6
    if after and after[-1].balanced_us >= 0:
        found["balanced again"] = (after[-1].balanced_us - zero) / 1e6
    if any(gaps.values()):
        found["unread, worst"] = max(length for each in gaps.values() for length in each) / 1e6
        found["unread, mean of partitions"] = mean(map(sum, gaps.values())) / 1e6
    return found
