"""The simulator's half of a comparison: a run told as a recording tells a real one.

The facts are those of `tests.oracle.trace`. What a recording takes from the broker's log comes here from the facts of
the group machine. Stretches of reading come from the table ``ownership``: they begin with the first fetch, as a
recording's do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from groupsim.sim import Result, simulate
from groupsim.sim.client import members
from groupsim.sim.client.coordination.lookup import Lookup
from groupsim.sim.client.coordination.requests import Requests
from groupsim.sim.client.incarnation import Incarnation
from groupsim.sim.client.rebalancing import Rebalancing
from groupsim.sim.fastpath import engine
from groupsim.sim.fastpath.consumer_engine import ConsumerQuiescence
from groupsim.sim.fastpath.quiescence import Quiescence
from groupsim.sim.kernel.environment import Kind, deadline_key
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.model import Scenario
from groupsim.sim.protocol.consumer.member.member import ConsumerMember
from groupsim.sim.protocol.effects import Adopt, Send
from groupsim.sim.protocol.messages import Api, Error
from tests.oracle.broker_instants import BrokerInstants
from tests.oracle.measures import ENDS
from tests.oracle.simulated_brokers import gaps, give_instants, hear_coordinators, joined
from tests.oracle.simulated_groups import hear_groups
from tests.oracle.timetable import is_outage
from tests.oracle.trace import Fact, compact, instant

Ids = Mapping[tuple[str, int], list[str]]
"""(member, incarnation) -> the member ids that the broker, or the client itself, made up for it, in order."""


@dataclass(frozen=True)
class Delay:
    """What a member of the consumer protocol takes to be connected to its coordinator, microseconds.

    Parameters
    ----------
    asking_us : int
        From its first pass through poll() until it looks for the coordinator.
    connecting_us : int
        By how much later than usual it is connected to it.
    is_found_late : bool
        The lookup takes up that time, and not the connection.
    holding_us : int
        How much later than it comes the answer to its first heartbeat is taken up.
    """

    asking_us: int = 0
    connecting_us: int = 0
    is_found_late: bool = False
    holding_us: int = 0


Delays = Mapping[tuple[str, int], Delay]
"""By (member, incarnation)."""


def simulated(
    scenario: Scenario,
    seed: int,
    ids: Ids | None = None,
    delays: Delays | None = None,
    brokers: BrokerInstants | None = None,
) -> list[Fact]:
    """Run a scenario and tell it as a trace does; no header, no requests but for refused commits.

    Where something is done to brokers, each message is an event, so that accepted commits are told too.

    Parameters
    ----------
    scenario : Scenario
    seed : int
    ids : mapping, optional
        Member ids that the simulated broker and the simulated clients are to make up, instead of their own.
    delays : mapping, optional
    brokers : BrokerInstants, optional
    """
    fails = any(is_outage(entry) for entry in scenario.timeline)
    facts: list[Fact] = []
    with pytest.MonkeyPatch.context() as patch:
        hear_groups(patch, facts)
        _hear_assignments(patch, facts)
        _hear_lookups(patch, facts)
        _give_ids(patch, ids or {})
        _delay(patch, delays or {})
        clients = _hear_commits(patch, facts)
        hear_coordinators(patch, facts)
        if brokers is not None:
            give_instants(patch, brokers)
        result = simulate(scenario, seed=seed, fidelity="message" if fails else "elided")
    stretches = list(_stretches(result, facts))
    told = [*_actions(scenario, result), *_ends(result), *_read_twice(result, scenario.horizon_us)]
    told += joined(stretches) if fails else stretches
    told += _commits(clients, scenario.horizon_us)
    told += gaps(result) if fails else []
    return sorted([*facts, *told], key=instant)


def _give_ids(patch: pytest.MonkeyPatch, ids: Ids) -> None:
    given = {who: iter(each) for who, each in ids.items()}
    made_up, by_itself = Requests._fresh_id, members._uuid

    def recorded(client: Incarnation) -> str:
        return next(given.get(_life(client), iter(())), "")

    patch.setattr(Requests, "_fresh_id", lambda self: recorded(self._client) or made_up(self))
    patch.setattr(members, "_uuid", lambda client: recorded(client) or by_itself(client))


def _delay(patch: pytest.MonkeyPatch, delays: Delays) -> None:
    connect, make, left = Lookup._connected_at, members._new_consumer_member, dict(delays)
    deliver, held = Requests.deliver, dict(delays)

    def connected_late(self: Lookup, time: int, node: int | None) -> None:
        delay = left.pop(_life(self._client), Delay())
        connect(self, time + delay.connecting_us, node)
        if delay.is_found_late:
            self._client.poll_loop.hurry(time + delay.connecting_us)

    def asking_late(client: Incarnation) -> ConsumerMember:
        machine = make(client)
        machine.lookup.retry_at = client.opened_us + delays.get(_life(client), Delay()).asking_us
        return machine

    def delivered_late(self: Requests, exchange: Exchange, response: Any) -> None:
        is_beat = exchange.api is Api.CONSUMER_GROUP_HEARTBEAT
        late_us = held.pop(_life(self._client), Delay()).holding_us if is_beat else 0
        if late_us:
            key = deadline_key(self._client.consumer.entity, Kind.TIMER)
            self._env.at(self._env.now + late_us, key, lambda _: deliver(self, exchange, response))
        else:
            deliver(self, exchange, response)

    patch.setattr(Requests, "deliver", delivered_late)
    patch.setattr(Lookup, "_connected_at", connected_late)
    patch.setattr(members, "_new_consumer_member", asking_late)


def _life(client: Incarnation) -> tuple[str, int]:
    return client.life.member, client.life.incarnation - 1


def _hear_assignments(patch: pytest.MonkeyPatch, facts: list[Fact]) -> None:
    """When members of the consumer protocol are assigned what: they fetch it some passes through poll() later."""
    adopt = Rebalancing.adopt

    def heard(self: Rebalancing, now: int, effect: Adopt) -> None:
        client, partitions = self._client, self._client.books.partitions
        if client.config.group_protocol == "consumer":
            added = compact((partitions.topic[one], int(partitions.number[one])) for one in effect.added.tolist())
            member, incarnation = _life(client)
            told = {"member": member, "incarnation": incarnation, "partitions": added}
            facts.append({"what": "assigned", "at_us": now, **told})
        adopt(self, now, effect)

    patch.setattr(Rebalancing, "adopt", heard)


def _hear_lookups(patch: pytest.MonkeyPatch, facts: list[Fact]) -> None:
    """The first request of a member: before that it disturbs nobody."""
    ask = Lookup.ask

    def heard(self: Lookup, now: int, effect: Send) -> None:
        member, incarnation = _life(self._client)
        told = {"member": member, "incarnation": incarnation, "api": "FindCoordinator", "error": None}
        facts.append({"what": "request", "at_us": now, **told})
        ask(self, now, effect)

    patch.setattr(Lookup, "ask", heard)


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
        elif exchange.api is Api.OFFSET_COMMIT and not exchange.abandoned:
            facts.append({"what": "committed", "at_us": now, **_whose(self)})
        if exchange.api is Api.CONSUMER_GROUP_HEARTBEAT and response.error is Error.UNRELEASED_INSTANCE_ID:
            client = self._client
            refused = {"group": client.group.name, "member": client.life.member, "member_id": client.machine.member_id}
            facts.append({"what": "membership", "at_us": now, **refused, "change": "refused"})
        read(self, now, exchange, response)

    patch.setattr(engine, "finish_silent", lambda group, deferred, moment: None)
    for quiet in (Quiescence, ConsumerQuiescence):
        patch.setattr(quiet, "finish", quiet.wake)  # what has been sent is counted by kind only by who is awake
    patch.setattr(Requests, "__init__", noted)
    patch.setattr(Requests, "read", heard)
    return made


def _whose(requests: Requests) -> Fact:
    member, incarnation = _life(requests._client)
    return {"member": member, "incarnation": incarnation}


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


def _stretches(result: Result, facts: Sequence[Fact]) -> Iterator[Fact]:
    told = [fact for fact in facts if fact["what"] == "assigned"]
    lives = [(row["member"], row["started_us"], row["incarnation"] - 1) for row in result.tables.rows("members")]
    for row in result.tables.rows("ownership"):
        incarnation = max(number for name, start, number in lives if name == row["member"] and start <= row["from_us"])
        mine = [one for one in told if (one["member"], one["incarnation"]) == (row["member"], incarnation)]
        before = [one["at_us"] for one in mine if row["partition"] in one["partitions"].get(row["topic"], ())]
        assigned_us = max((at_us for at_us in before if at_us <= row["from_us"]), default=row["from_us"])
        yield {
            "what": "read", "member": row["member"], "incarnation": incarnation,
            "partition": f"{row['topic']}-{row['partition']}", "from_us": assigned_us,
            "first_fetch_us": row["from_us"], "to_us": row["to_us"],
        }  # fmt: skip


def _read_twice(result: Result, horizon_us: int) -> Iterator[Fact]:
    twice = sum(row["records"] for row in result.tables.rows("delivery") if row["kind"] == "duplicate")
    yield {"what": "read twice", "at_us": horizon_us, "records": twice}
