"""What the recordings say about times that come from implementation, and what the model has for them.

Each is the span between two facts of one member (or of its coordinator), over all fit recordings. The model's constants
are set from the medians, in `tests.oracle.profile`, once for all scenarios.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from groupsim.sim.units import FOREVER
from tests.oracle.trace import Fact

Spans = Iterator[int]


def _is(what: str, **values: object) -> Callable[[Fact], bool]:
    return lambda fact: fact["what"] == what and all(fact.get(key) == value for key, value in values.items())


def _sent(api: str) -> Callable[[Fact], bool]:
    return _is("request", api=api, error=None)


_STARTED: Final = _is("action", verb="start")
_REFUSED: Final = _is("request", api="JoinGroup", error="MEMBER_ID_REQUIRED")
_PAIRS: Final = {
    "FindCoordinator sent to first JoinGroup sent": (_sent("FindCoordinator"), _sent("JoinGroup")),
    "JoinGroup sent to MEMBER_ID_REQUIRED": (_sent("JoinGroup"), _REFUSED),
    "MEMBER_ID_REQUIRED to JoinGroup sent": (_REFUSED, _sent("JoinGroup")),
    "join answered to SyncGroup sent (members)": (_is("joined", leader=False), _sent("SyncGroup")),
    "join answered to SyncGroup sent (leader)": (_is("joined", leader=True), _sent("SyncGroup")),
    "SyncGroup sent to onPartitionsAssigned": (_sent("SyncGroup"), _is("assigned")),
    "onPartitionsRevoked to JoinGroup sent": (_is("revoked"), _sent("JoinGroup")),
}
"""Name -> a fact and the one of the same member that follows it."""
LONGEST_US: Final = 1_000_000
"""A longer span is a wait for others, no time of implementation."""


def measured(recordings: Iterable[Sequence[Fact]]) -> dict[str, list[int]]:
    """Every span by name, microseconds."""
    found: dict[str, list[int]] = defaultdict(list)
    for facts in recordings:
        for name, (first, second) in _PAIRS.items():
            found[name] += _spans(facts, first, second)
        found["start to FindCoordinator sent"] += _spans(facts, _STARTED, _sent("FindCoordinator"), FOREVER)
        found["heartbeat period beyond heartbeat.interval.ms (3 s)"] += _lateness(facts)
        found["onPartitionsAssigned to first fetch sent"] += _first_fetches(facts)
        found["join phase over to join answered"] += _answers(facts)
    return dict(found)


def _spans(
    facts: Sequence[Fact],
    first: Callable[[Fact], bool],
    second: Callable[[Fact], bool],
    longest_us: int = LONGEST_US,
) -> Spans:
    begun: dict[str, int] = {}
    for fact in facts:
        member = fact.get("member", fact.get("target"))
        if member is None:
            continue
        if second(fact) and member in begun:
            span = fact["at_us"] - begun.pop(member)
            if span < longest_us:
                yield span
        if first(fact):
            begun[member] = fact["at_us"]


def _lateness(facts: Sequence[Fact]) -> Spans:
    last: dict[str, int] = {}
    for fact in facts:
        if _sent("Heartbeat")(fact):
            period = fact["at_us"] - last.get(fact["member"], -LONGEST_US * 100)
            if abs(period - 3_000_000) < LONGEST_US:
                yield period - 3_000_000
            last[fact["member"]] = fact["at_us"]
        elif fact["what"] == "request" and fact["api"] != "OffsetCommit":
            last.pop(fact["member"], None)


def _first_fetches(facts: Sequence[Fact]) -> Spans:
    for fact in facts:
        if fact["what"] == "read" and fact["first_fetch_us"] is not None:
            yield fact["first_fetch_us"] - fact["from_us"]


def _answers(facts: Sequence[Fact]) -> Spans:
    over = 0
    for fact in facts:
        if fact["what"] == "transition" and fact["state"] == "CompletingRebalance":
            over = fact["at_us"]
        elif fact["what"] == "joined" and over and fact["at_us"] - over < LONGEST_US:
            yield fact["at_us"] - over
