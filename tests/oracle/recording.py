"""What was heard and done in one play -> the facts of a trace, under the scenario's names and on its clock."""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.oracle import trace
from tests.oracle.artifacts import KAFKA_VERSION
from tests.oracle.client_log import ClientLog
from tests.oracle.cluster_facts import cluster_facts, gaps
from tests.oracle.health import Health, unfit
from tests.oracle.measures import beats_late_ms
from tests.oracle.outages import Outages
from tests.oracle.play import Play
from tests.oracle.reading import Reading
from tests.oracle.trace import Fact, Trace

_UUID = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


def record(play: Play, health: Health, java: str, outages: Outages | None = None) -> Trace:
    """The trace of a play that is over, and of what was done to its brokers."""
    horizon_us = play.plan.scenario.horizon_us
    told = _member_facts(play)
    facts = [*_group_facts(play, told), *told, *play.actions]
    if outages is not None:
        facts += [*cluster_facts(play, outages), *gaps(play)]
    kept = [fact for fact in facts if 0 <= trace.instant(fact) <= horizon_us]
    machine = health.report(play.zero_us, play.zero_us + horizon_us) | {"beats_late_ms": beats_late_ms(kept)}
    zero = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=play.zero_us)
    header = {
        "what": "recording", "source": "kafka", "scenario": play.plan.scenario.name, "repetition": play.plan.repetition,
        "kafka": KAFKA_VERSION, "java": java, "zero": zero.isoformat(timespec="microseconds"), "horizon_us": horizon_us,
        "unfit": unfit(machine, play.late_us), "machine": machine,
    }  # fmt: skip
    return trace.make(header, kept)


def _group_facts(play: Play, told: list[Fact]) -> list[Fact]:
    """The coordinator's transitions and memberships; whose an id is was ``told`` when that member joined."""
    names = {one["member_id"]: one["member"] for one in told if one.get("member_id")}
    topics = {topic_id: name.removeprefix(f"{play.prefix}.") for topic_id, name in play.supply.topic_ids().items()}
    clients = {one.plan.client_id: one.name for one in play.cast.members.values()}
    facts = []
    for group in play.plan.scenario.groups:
        for fact in play.broker.groups.facts(play.group_id(group.name)):
            one = {"what": fact["what"], "at_us": fact["at_us"] - play.zero_us, "group": group.name}
            if "member_id" in fact:
                one["member"] = names.get(fact["member_id"]) or clients.get(_UUID.sub("", fact["member_id"]))
            rest = {key: value for key, value in fact.items() if key not in one}
            for key in ("assigned", "pending"):
                if key in rest:
                    rest[key] = trace.compact((topics[topic], number) for topic, number in rest[key])
            facts.append(one | rest)
    return facts


def _member_facts(play: Play) -> list[Fact]:
    """What members told, line by line, and the stretches in which they read."""
    lives: defaultdict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for name, incarnation, line in play.cast.heard:
        lives[name, incarnation].append(line)
    killed = {(one["member"], one["incarnation"]): one["at_us"] for one in play.ends}
    horizon_us = play.zero_us + play.plan.scenario.horizon_us
    facts = []
    for (name, incarnation), lines in lives.items():
        life = _Life(play, name, incarnation)
        for line in lines:
            if line["at_us"] <= horizon_us:
                life.take(line)
        life.finish(killed.get((name, incarnation)), horizon_us)
        facts += life.facts
    return facts


class _Life:
    """One incarnation of a member."""

    def __init__(self, play: Play, name: str, incarnation: int) -> None:
        self._play = play
        self._whose = {"member": name, "incarnation": incarnation}
        self._log = ClientLog()
        self._reading = Reading(name, incarnation)
        self._is_over = False
        self._called: Fact = {}
        self.facts: list[Fact] = []

    def take(self, line: dict[str, Any]) -> None:
        """Take in a line, in the order in which it was told."""
        what, at_us, cast = line["what"], line["at_us"], self._play.cast
        match what:
            case "assigned" | "revoked" | "lost":
                self._callback(line)
            case "returned":
                self._called["took_us"] = line["took_us"]
            case "fetched":
                self._reading.fetched(at_us, cast.partitions(line))
            case "polled":
                self._reading.polled(at_us, cast.read(line))
            case "logged" | "sent" | "answered":
                self._log.hear(at_us, line)
            case "commit":
                self._add({"what": what, "at_us": at_us, "kind": line["kind"], "error": line["error"]})
            case "error":
                self._add({"what": what, "at_us": at_us, "error": line["error"], "text": line["text"]})
            case "stuck":
                self._began(at_us, line["entry"])
            case "unstuck":
                self._act(at_us, line)
            case "end":
                self._end(at_us, line["how"])

    def _callback(self, line: dict[str, Any]) -> None:
        what, at_us = line["what"], line["at_us"]
        partitions = self._play.cast.partitions(line)
        if what == "assigned":
            self._reading.assigned(at_us, partitions)
        else:
            self._reading.ended(at_us, partitions)
        self._called = {
            "what": what, "at_us": at_us, "took_us": None, "generation": line["generation"],
            "member_id": line["member_id"], "partitions": trace.compact(partitions),
        }  # fmt: skip
        if partitions or what == "assigned":
            self._called = self._add(self._called)

    def _began(self, at_us: int, entry: str) -> None:
        """The hang that was ordered began now, when the thread came out of poll()."""
        ordered = [one for one in self._play.actions if (one["entry"], one["verb"]) == (entry, "stuck")]
        mine = [one for one in ordered if one["target"] == self._whose["member"] and "began_us" not in one]
        mine[0]["began_us"] = at_us - self._play.zero_us

    def _act(self, at_us: int, line: dict[str, Any]) -> None:
        action = {"what": "action", "at_us": at_us, "entry": line["entry"], "verb": line["what"]}
        self.facts.append(_on_clock({**action, "target": self._whose["member"]}, self._play.zero_us))

    def _end(self, at_us: int, how: str) -> None:
        self._is_over = True
        self._reading.ended(at_us)
        self._add({"what": "end", "at_us": at_us, "how": how})

    def finish(self, killed_us: int | None, horizon_us: int) -> None:
        """Nothing more will be told: the incarnation was killed, or lives on beyond the horizon."""
        if not self._is_over:
            self._end(killed_us or horizon_us, "killed" if killed_us else "horizon")
        for fact in self._log.facts:
            self._add(fact)
        for stretch in self._reading.closed:
            self.facts.append(_on_clock(stretch, self._play.zero_us))

    def _add(self, fact: Fact) -> Fact:
        told = _on_clock({"what": fact["what"], "at_us": fact["at_us"], **self._whose, **fact}, self._play.zero_us)
        self.facts.append(told)
        return told


_ON_CLOCK = ("at_us", "from_us", "first_fetch_us", "last_us", "to_us")


def _on_clock(fact: Fact, zero_us: int) -> Fact:
    """A fact on the scenario's clock, its partition as one text."""
    told = {key: value - zero_us if key in _ON_CLOCK and value is not None else value for key, value in fact.items()}
    if "partition" in told:
        topic, partition = told["partition"]
        told["partition"] = f"{topic}-{partition}"
    return told
