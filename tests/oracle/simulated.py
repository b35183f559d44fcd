"""The simulator's half of a comparison: a run told as a recording tells a real one.

The facts are those of `tests.oracle.trace`. What a recording takes from the broker's log comes here from the facts of
the group machine. Stretches of reading come from the table ``ownership``: they begin with the first fetch, as a
recording's do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from groupsim.sim import Result, simulate
from groupsim.sim.books.group_books import GroupBooks
from groupsim.sim.books.rebalances import trigger_of
from groupsim.sim.client.requests import Requests
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.model import Scenario
from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.facts import (
    Cause,
    MemberAdmitted,
    MemberIdGiven,
    MemberRemoved,
    MemberReplaced,
    StateChanged,
)
from groupsim.sim.protocol.facts import Fact as GroupFact
from groupsim.sim.protocol.messages import Api, Error
from tests.oracle.measures import ENDS
from tests.oracle.trace import Fact, instant

Ids = Mapping[tuple[str, int], list[str]]
"""(member, incarnation) -> the member ids that the broker made up for it, in order."""


def simulated(scenario: Scenario, seed: int, ids: Ids | None = None) -> list[Fact]:
    """Run a scenario and tell it as a trace does; no header, no callbacks, no requests but for refused commits.

    Parameters
    ----------
    scenario : Scenario
    seed : int
    ids : mapping, optional
        Member ids that the simulated broker is to make up, instead of its own.
    """
    facts: list[Fact] = []
    with pytest.MonkeyPatch.context() as patch:
        _hear_groups(patch, facts)
        if ids is not None:
            _give_ids(patch, ids)
        clients = _hear_commits(patch, facts)
        result = simulate(scenario, seed=seed)
    told = [*_actions(scenario, result), *_ends(result), *_stretches(result), *_read_twice(result)]
    told += _commits(clients, scenario.horizon_us)
    return sorted([*facts, *told], key=instant)


def _hear_groups(patch: pytest.MonkeyPatch, facts: list[Fact]) -> None:
    note, successors = GroupBooks.note, set[str]()

    def tapped(self: GroupBooks, told: Sequence[GroupFact]) -> None:
        note(self, told)
        for fact in told:
            match fact:
                case StateChanged():
                    facts.append(_transition(self, fact))
                case MemberIdGiven():
                    facts.append(_membership(self, fact, "pending"))
                case MemberAdmitted() if fact.member_id not in successors:
                    facts.append(_membership(self, fact, "added"))
                case MemberRemoved():
                    facts.append(_membership(self, fact, "left" if fact.cause is Cause.LEFT else "failed"))
                case MemberReplaced():
                    successors.add(fact.successor)  # Kafka's log has one line for who is replaced by whom.
                    facts.append(_membership(self, fact, "replaced"))

    patch.setattr(GroupBooks, "note", tapped)


def _transition(group: GroupBooks, fact: StateChanged) -> Fact:
    begins = fact.state is GroupState.PREPARING_REBALANCE
    return {
        "what": "transition", "at_us": group._env.now, "group": group.name, "state": fact.state.value,
        "generation": fact.generation, "members": group.rebalances.members,
        "trigger": trigger_of(fact.reason) if begins else None, "reason": fact.reason,
    }  # fmt: skip


def _membership(
    group: GroupBooks, fact: MemberIdGiven | MemberAdmitted | MemberRemoved | MemberReplaced, change: str
) -> Fact:
    return {
        "what": "membership", "at_us": group._env.now, "group": group.name, "member": fact.name,
        "member_id": fact.member_id, "change": change,
    }  # fmt: skip


def _give_ids(patch: pytest.MonkeyPatch, ids: Ids) -> None:
    given = {who: iter(each) for who, each in ids.items()}
    made_up = Requests._fresh_id

    def recorded(self: Requests) -> str:
        consumer = self._client.consumer
        return next(given.get((consumer.name, consumer.incarnation - 1), iter(())), "") or made_up(self)

    patch.setattr(Requests, "_fresh_id", recorded)


def _hear_commits(patch: pytest.MonkeyPatch, facts: list[Fact]) -> list[Requests]:
    """What refuses an OffsetCommit, as facts, and everybody who counts those sent: most are never an event."""
    make, read, made = Requests.__init__, Requests.read, list[Requests]()

    def noted(self: Requests, *parts: Any) -> None:
        make(self, *parts)
        made.append(self)

    def heard(self: Requests, now: int, exchange: Exchange, response: Any) -> None:
        if exchange.api is Api.OFFSET_COMMIT and not exchange.abandoned and response.error is not Error.NONE:
            refusal = {"what": "request", "at_us": now, **_whose(self), "api": "OffsetCommit"}
            facts.append({**refusal, "error": response.error.name})
        read(self, now, exchange, response)

    patch.setattr(Requests, "__init__", noted)
    patch.setattr(Requests, "read", heard)
    return made


def _whose(requests: Requests) -> Fact:
    life = requests._client.life
    return {"member": life.member, "incarnation": life.incarnation - 1}


def _commits(made: list[Requests], at_us: int) -> Iterator[Fact]:
    for requests in made:
        yield {"what": "commits", "at_us": at_us, **_whose(requests), "sent": requests._in_flight.numbers["commit"]}


def _actions(scenario: Scenario, result: Result) -> Iterator[Fact]:
    """What the timeline did; an entry's name ends before ``#``."""
    verbs = {entry.id: entry.verb for entry in scenario.timeline}
    for row in result.tables.rows("events"):
        entry = row["entry"].partition("#")[0] or None
        fact = {"what": "action", "entry": entry, "verb": row["verb"], "target": row["target"]}
        yield {**fact, "at_us": row["time_us"]}
        if row["verb"] in ENDS:
            (length_us,) = getattr(verbs[row["entry"]], "duration").values  # noqa: B009 - both verbs have one
            yield {**fact, "at_us": row["time_us"] + length_us, "verb": ENDS[row["verb"]]}


def _ends(result: Result) -> Iterator[Fact]:
    for row in result.tables.rows("members"):
        if row["ended_by"] != "horizon":
            how, _, error = row["ended_by"].partition(": ")
            who = {"member": row["member"], "incarnation": row["incarnation"] - 1}
            yield {"what": "end", "at_us": row["ended_us"], **who, "how": how}
            if error:
                yield {"what": "error", "at_us": row["ended_us"], **who, "error": error}


def _stretches(result: Result) -> Iterator[Fact]:
    lives = [(row["member"], row["started_us"], row["incarnation"] - 1) for row in result.tables.rows("members")]
    for row in result.tables.rows("ownership"):
        incarnation = max(number for name, start, number in lives if name == row["member"] and start <= row["from_us"])
        yield {
            "what": "read", "member": row["member"], "incarnation": incarnation,
            "partition": f"{row['topic']}-{row['partition']}", "from_us": row["from_us"],
            "first_fetch_us": row["from_us"], "to_us": row["to_us"],
        }  # fmt: skip


def _read_twice(result: Result) -> Iterator[Fact]:
    horizon_us = round(float(result.summary["horizon_s"].iloc[0]) * 1e6)
    twice = sum(row["records"] for row in result.tables.rows("delivery") if row["kind"] == "duplicate")
    yield {"what": "read twice", "at_us": horizon_us, "records": twice}
