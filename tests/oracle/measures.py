"""What is measured on a trace, the same way on a recording and on a simulated run.

*Rounds* are the coordinator's: from PreparingRebalance (join phase) over CompletingRebalance (sync phase) to Stable.
*Unread* is the time in which nobody fetched a partition: from the end of the last poll() of who had it (the one inside
which it was given up) to the first fetch of who has it next, where the time in which a process is frozen or its
application hangs counts as not polling.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from groupsim.sim.units import FOREVER, MS
from tests.oracle.trace import Fact

Span = tuple[int, int]
ENDS = {"gc_pause": "thaw", "stuck": "unstuck"}
"""Actions after which a member does not poll, and what ends that."""
HEARTBEATS = ("Heartbeat", "ConsumerGroupHeartbeat")
SILENT_US = 5_000_000
"""Who has not sent a heartbeat of every 3 s for so long has none any more."""
SHORTEST_GAP_US = 300 * MS
"""Of a partition that gets a record every tenth of a second: what is shorter is no interruption."""
BROKER = "broker:"
"""What targets begin with that are brokers."""


@dataclass
class Round:
    """One attempt of a group to agree; phases that did not come are -1. A group that ends Empty is stable, too."""

    preparing_us: int
    completing_us: int = -1
    stable_us: int = -1


def rounds(facts: Iterable[Fact]) -> list[Round]:
    """Every round of the group, in order."""
    found: list[Round] = []
    for fact in facts:
        if fact["what"] != "transition":
            continue
        if fact["state"] == "PreparingRebalance":
            found.append(Round(fact["at_us"]))
        elif found and fact["state"] == "CompletingRebalance":
            found[-1].completing_us = fact["at_us"]
        elif found:
            found[-1].stable_us = fact["at_us"]
    return found


def beats_apart(facts: Iterable[Fact], at_us: int) -> tuple[int, int]:
    """How many members beat before an instant, and how far apart, microseconds: heartbeats of the classic protocol."""
    beats: dict[str, list[int]] = defaultdict(list)
    for fact in facts:
        if fact["what"] == "request" and fact["api"] == "Heartbeat" and not fact["error"] and fact["at_us"] <= at_us:
            beats[fact["member"]].append(fact["at_us"])
    living = {name: some for name, some in beats.items() if at_us - some[-1] < SILENT_US and len(some) > 1}
    if len(living) < 2:
        return len(living), 0
    period_us = min(some[-1] - some[-2] for some in living.values())
    return len(living), spread((at_us - some[-1] for some in living.values()), period_us)


def spread(instants_us: Iterable[int], period_us: int) -> int:
    """The shortest span that holds one beat of each of some members, microseconds, of each of whom one is given.

    Members with a period in common beat on a circle: the spread is the circle less the widest gap on it.
    """
    phases = sorted(one % period_us for one in instants_us)
    gaps = [later - one for one, later in pairwise(phases)] + [phases[0] + period_us - phases[-1]]
    return period_us - max(gaps)


def beats_late_ms(facts: Sequence[Fact]) -> float:
    """By how much heartbeats are late, the 90th percentile: a timer's, so the processors' where members only wait.

    While brokers come and go, and up to a heartbeat later, a member waits for its coordinator: that is not counted.
    Where they do, brokers' own heartbeats count besides: members may be too young to have sent many.
    """
    beats: dict[str, dict[Any, list[int]]] = {"members": defaultdict(list), "brokers": defaultdict(list)}
    for fact in facts:
        if fact["what"] == "request" and fact["api"] in HEARTBEATS and not fact["error"]:
            beats["members"][fact["member"], fact["incarnation"]].append(fact["at_us"])
        elif fact["what"] == "broker" and fact["change"] == "beat":
            beats["brokers"][fact["node"]].append(fact["at_us"])
    outage = _outage(facts)
    late = sorted(one for each in beats.values() for one in _late(each.values(), outage))
    return round(late[len(late) * 9 // 10], 2) if late else 0.0


def _late(beats: Iterable[list[int]], outage: Span) -> list[float]:
    """By how much each of these heartbeats is later than is usual, milliseconds; those in an outage left out."""
    spans = [span for some in beats for span in pairwise(some)]
    periods = [later - one for one, later in spans if later < outage[0] or one > outage[1] + SILENT_US]
    if not periods:
        return []
    usual = median(periods)
    return [(one - usual) / 1e3 for one in periods if abs(one - usual) < usual / 5]


def _outage(facts: Sequence[Fact]) -> Span:
    """From what is done to a broker first until all of them and all coordinators are where they stay."""
    done = [one["at_us"] for one in facts if one["what"] == "action" and one["target"].startswith(BROKER)]
    if not done:
        return FOREVER, FOREVER
    news = [one["at_us"] for one in facts if one["what"] in ("broker", "coordinator") and one["change"] != "beat"]
    return done[0], max([*done, *news])


def orders(facts: Iterable[Fact]) -> list[Fact]:
    """What entries of the timeline did, but for the ends of what lasts."""
    ends = {*ENDS.values(), "unslow"}
    told = (one for one in facts if one["what"] == "action" and one["entry"] is not None)
    return [one for one in told if one["verb"] not in ends]


def faults(facts: Sequence[Fact]) -> list[Fact]:
    """What the timeline did, but for what has no effect by itself.

    A member that starts disturbs nobody before its first request: that is when it counts as started.
    """
    first = first_requests(facts)
    return [
        {**one, "at_us": first.get((one["target"], one.get("incarnation", -1)), one["at_us"])}
        for one in orders(facts)
        if one["verb"] != "set_config"
    ]


def first_requests(facts: Iterable[Fact]) -> dict[tuple[str, int], int]:
    """When each incarnation of a member sent its first request."""
    first: dict[tuple[str, int], int] = {}
    for fact in facts:
        if fact["what"] == "request":
            first.setdefault((fact["member"], fact["incarnation"]), fact["at_us"])
    return first


def zero_us(facts: Sequence[Fact]) -> int:
    """From when everything counts: the first fault, or the first JoinGroup where there is none."""
    done = faults(facts)
    return int(done[0]["at_us"] if done else min(fact["at_us"] for fact in facts if fact["what"] == "membership"))


def unread(facts: Sequence[Fact]) -> dict[str, list[Span]]:
    """Per partition the spans in which nobody fetched it, between its first and its last reader; microseconds."""
    return {name: list(_gaps(sorted(span for _, span in spans))) for name, spans in readers(facts).items()}


def readers(facts: Sequence[Fact]) -> dict[str, list[tuple[str, Span]]]:
    """Per partition who fetched it, and from when to when without a halt; in order of its first fetch."""
    halted, missing = _halts(facts), _missing(facts)
    served: dict[str, list[tuple[str, Span]]] = defaultdict(list)
    for fact in facts:
        if fact["what"] == "read" and fact["first_fetch_us"] is not None:
            whole = (fact["first_fetch_us"], max(fact["to_us"], fact["first_fetch_us"]))
            spans = _without(whole, sorted(halted.get(fact["member"], []) + missing.get(fact["partition"], [])))
            served[fact["partition"]] += [(fact["member"], span) for span in spans]
    return dict(sorted(served.items()))


def _halts(facts: Iterable[Fact]) -> dict[str, list[Span]]:
    """When each member's application stood still."""
    begun: dict[tuple[str, str], int] = {}
    found: dict[str, list[Span]] = defaultdict(list)
    for fact in facts:
        if fact["what"] == "action" and fact["verb"] in ENDS:
            begun[fact["target"], ENDS[fact["verb"]]] = fact["at_us"]
        elif fact["what"] == "action" and (fact["target"], fact["verb"]) in begun:
            found[fact["target"]].append((begun.pop((fact["target"], fact["verb"])), fact["at_us"]))
    return found


def _missing(facts: Iterable[Fact]) -> dict[str, list[Span]]:
    """When nobody could read each partition, whoever owned it, because of its brokers."""
    found: dict[str, list[Span]] = defaultdict(list)
    for fact in facts:
        if fact["what"] == "gap":
            found[fact["partition"]].append((fact["at_us"], fact["to_us"]))
    return found


def _without(span: Span, holes: Sequence[Span]) -> Iterator[Span]:
    begin, end = span
    for low, high in holes:
        if low < end and high > begin:
            yield begin, max(low, begin)
            begin = high
    if begin <= end:
        yield begin, end


def _gaps(spans: Sequence[Span]) -> Iterator[Span]:
    until = spans[0][1]
    for begin, end in spans[1:]:
        if begin > until:
            yield until, begin
        until = max(until, end)


def read_twice(facts: Iterable[Fact]) -> int:
    """Records that were handed out more than once."""
    spans: dict[str, list[Span]] = defaultdict(list)
    told = 0
    for fact in facts:
        if fact["what"] == "read twice":
            told += fact["records"]
        elif fact["what"] == "read" and fact.get("from_offset") is not None:
            spans[fact["partition"]].append((fact["from_offset"], fact["next_offset"]))
    return told + sum(_overlap(sorted(each)) for each in spans.values())


def _overlap(spans: Sequence[Span]) -> int:
    twice, until = 0, 0
    for begin, end in spans:
        twice += max(0, min(until, end) - begin)
        until = max(until, end)
    return twice


# --- what is compared -------------------------------------------------------------------------------------------------


def phases(facts: Sequence[Fact]) -> dict[str, float]:
    """How long each part of each round took, seconds."""
    found: dict[str, float] = {}
    times = [fact["at_us"] for fact in faults(facts)]
    for number, one in enumerate(rounds(facts), 1):
        before = max((time for time in times if time <= one.preparing_us), default=None)
        if before is not None:
            found[f"round {number}: fault to round"] = (one.preparing_us - before) / 1e6
        if one.completing_us >= 0:
            found[f"round {number}: join phase"] = (one.completing_us - one.preparing_us) / 1e6
        if one.stable_us >= 0 <= one.completing_us:
            found[f"round {number}: sync phase"] = (one.stable_us - one.completing_us) / 1e6
    return found


def unread_by_length(facts: Sequence[Fact]) -> dict[str, float]:
    """How long each partition was unread, the longest time first, seconds."""
    found: dict[str, float] = {}
    for partition, spans in unread(facts).items():
        for rank, length in enumerate(sorted((end - begin for begin, end in spans), reverse=True), 1):
            found[f"{partition} unread, no. {rank} by length"] = length / 1e6
    return found


def summary(facts: Sequence[Fact]) -> dict[str, float]:
    """The few figures of a run that tables show: seconds, but for ``rounds`` and ``read twice``."""
    zero = zero_us(facts)
    after = [one for one in rounds(facts) if one.preparing_us >= zero]
    gaps = [end - begin for spans in unread(facts).values() for begin, end in spans]
    found: dict[str, float] = {"rounds": len(after), "read twice": read_twice(facts)}
    if after and faults(facts):
        found["detection"] = (after[0].preparing_us - zero) / 1e6
    if after:
        joined = [one for one in after if one.completing_us >= 0]
        found["join phases"] = sum(one.completing_us - one.preparing_us for one in joined) / 1e6
        found["stable again"] = (max(one.stable_us for one in after) - zero) / 1e6
    if gaps:
        found["unread, worst"] = max(gaps) / 1e6
    return found


def owners(facts: Iterable[Fact]) -> dict[str, list[tuple[str, int]]]:
    """Who read each partition, one after the other: (member, incarnation)."""
    found: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for fact in facts:
        if fact["what"] == "read" and fact["first_fetch_us"] is not None:
            found[fact["partition"]].append((fact["member"], fact["incarnation"]))
    return dict(found)


def commits(facts: Iterable[Fact]) -> dict[tuple[str, int], tuple[int, list[str]]]:
    """How many OffsetCommits each incarnation of a member sent, and what refused some of them, in order."""
    sent: dict[tuple[str, int], int] = defaultdict(int)
    refused: dict[tuple[str, int], list[str]] = defaultdict(list)
    for fact in facts:
        if fact["what"] == "commits":
            sent[fact["member"], fact["incarnation"]] += fact["sent"]
        elif fact["what"] == "request" and fact["api"] == "OffsetCommit":
            life = (fact["member"], fact["incarnation"])
            sent[life] += fact["error"] is None
            refused[life] += [fact["error"]] if fact["error"] else []
    return {life: (number, refused[life]) for life, number in sent.items() if number}


def failures(facts: Iterable[Fact]) -> dict[tuple[str, int], str]:
    """The error that poll() raised to each incarnation of a member that it ended, as Kafka's protocol names it."""
    return {
        (fact["member"], fact["incarnation"]): re.sub(
            r"(?<=[a-z])(?=[A-Z])", "_", fact["error"].removesuffix("Exception")
        ).upper()
        for fact in facts
        if fact["what"] == "error"
    }
