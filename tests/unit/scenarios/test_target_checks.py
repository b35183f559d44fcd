"""Who a verb can be done to, whom a cut parts, and how often an entry may fire."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.scenarios.build.loading import parse
from groupsim.scenarios.errors import ScenarioFileError
from groupsim.scenarios.schema.verbs import VERBS, TargetedFile

BASE: dict[str, Any] = {
    "version": 1, "question": "?", "horizon": "2min",
    "cluster": {"brokers": [{"id": node, "rack": rack} for node, rack in enumerate("aabd")]},
    "topics": {"t": {"partitions": 4, "rate": {"per_partition": 1}}},
    "groups": {
        "g": {
            "topics": ["t"], "members": {"count": 3},
            "overrides": [{"members": 0, "rack": "c"}, {"members": 1, "rack": "d"}],
        },
        "old": {"topics": ["t"], "protocol": "zookeeper", "members": {"count": 1}},
    },
}  # fmt: skip
REQUIRED: dict[str, dict[str, Any]] = {
    "gc_pause": {"for": "1s"}, "stuck": {"for": "1s"}, "slow": {"for": "1s", "factor": 2},
    "slow_host": {"for": "1s", "factor": 2}, "crash_at": {"point": "after_poll"}, "scale": {"to": 2},
    "subscribe": {"topics": ["t"]}, "delete_offsets": {"topics": ["t"]},
}  # fmt: skip
ALL = {"g", "rack:a", "rack:c", "rack:d", "broker:1", "broker:0-1", "zookeeper:0"}
PROCESSES = {"g", "rack:c", "rack:d"}
EVERYBODY = ALL - {"zookeeper:0"}
DONE_TO = {
    "gc_pause": PROCESSES, "slow_host": PROCESSES,
    "kill": ALL, "start": ALL, "close": EVERYBODY, "restart": EVERYBODY, "rolling_restart": EVERYBODY,
    "stuck": {"g"}, "slow": {"g"}, "crash_at": set(), "scale": {"g"}, "subscribe": {"g"}, "unsubscribe": {"g"},
    "set_config": {"g"}, "delete_offsets": {"g"}, "delete_group": {"g"},
}  # fmt: skip
"""Who each verb can be done to here; nobody is in a transaction at which he could crash."""


def told(entry: dict[str, Any], **changes: Any) -> list[str]:
    """Why an entry is refused."""
    try:
        parse({**BASE, "timeline": [{"id": "it", **entry}], **changes}, file="s.yaml", name="s")
    except ScenarioFileError as refused:
        return [f"{one.path}: {one.message}" for one in refused.problems]
    return []


def cut(one: str, other: str, **changes: Any) -> list[str]:
    return told({"at": "1s", "cut": {"between": [one, other], "for": "1s"}}, **changes)


def test_every_verb_that_is_done_to_somebody_is_held_against_every_kind_of_target() -> None:
    assert set(DONE_TO) == {verb for verb, body in VERBS.items() if issubclass(body, TargetedFile)}


@pytest.mark.parametrize("target", sorted(ALL))
@pytest.mark.parametrize("verb", DONE_TO)
def test_a_verb_is_done_to_whom_it_can_be(verb: str, target: str) -> None:
    found = told({"at": "1s", verb: {"target": target, **REQUIRED.get(verb, {})}})
    assert (not found) == (target in DONE_TO[verb]), found
    assert all(one.startswith(f"timeline[it].{verb}.target: ") for one in found)


def test_a_rack_of_brokers_has_no_processes_that_could_pause() -> None:
    assert told({"at": "1s", "gc_pause": {"target": "rack:a", "for": "1s"}}) == [
        "timeline[it].gc_pause.target: gc_pause is done to members, and in this rack are brokers only: overrides say"
        " who is in a rack"
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [("g/0", "g/0"), ("g", "old"), ("g", "rack:c"), ("broker:0", "zookeeper:0"), ("zookeeper:0", "zookeeper:0-1")],
)
def test_a_cut_between_those_who_do_not_talk_is_refused(one: str, other: str) -> None:
    (message,) = cut(one, other, cluster={**BASE["cluster"], "zookeeper": {"nodes": 3}})
    assert message.startswith("timeline[it].cut.between: nothing goes between these: members talk to brokers")


@pytest.mark.parametrize("broker", ["broker:1", "broker:leader/t/0", "rack:b"])
def test_a_cut_between_a_broker_and_itself_is_refused(broker: str) -> None:
    (message,) = cut(broker, broker)
    assert f"a cut is between two sides: {broker} is both" in message


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("g", "broker:0"), ("rack:c", "rack:a"), ("rack:a", "rack:a"), ("broker:all", "broker:all"),
        ("broker:controller", "broker:all"), ("old", "zookeeper:0"), ("broker:0", "broker:1"),
    ],
)  # fmt: skip
def test_other_cuts_are_taken(one: str, other: str) -> None:
    assert cut(one, other) == []


@pytest.mark.parametrize(
    ("clock", "count"),
    [
        ({"every": "1us"}, "120,000,000"),
        ({"every": {"exponential": {"mean": "2us"}}}, "60,000,000"),
        ({"every": {"uniform": ["0s", "2us"]}, "until": "1min"}, "60,000,000"),
        ({"every": "5us", "per_member": True}, "72,000,000"),
        ({"every": {"lognormal": {"median": "1us", "p99": "2us"}}}, "114,789,857"),
    ],
)
def test_an_entry_that_fires_more_often_than_a_run_may_have_events_is_refused(
    clock: dict[str, Any], count: str
) -> None:
    (message,) = told({**clock, "kill": {"target": "g", "down": "1s"}})
    assert message.startswith(f"timeline[it].every: fires some {count} times until ")
    assert "event_budget allows 50,000,000 events" in message


def test_an_entry_that_fires_often_is_taken_with_a_budget_for_it() -> None:
    often = {"every": "2us", "from": "1min", "kill": {"target": "g", "down": "1s"}}
    assert told(often) == []
    assert "fires some 30,000,000 times" in told(often, event_budget=1_000_000)[0]
