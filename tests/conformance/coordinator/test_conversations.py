"""Kafka's own conversations with its group coordinator, played to the group machine; and the player itself is tried."""

from __future__ import annotations

import copy
import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.coordinator.__main__ import main
from tests.conformance.coordinator.conversations import read_folder
from tests.conformance.coordinator.fields import IGNORED
from tests.conformance.coordinator.verdicts import Verdict, play

GOLDEN = Path(__file__).parents[2] / "golden" / "coordinator"
CONVERSATIONS = read_folder(GOLDEN)
_STUB = "mock_group: the group is a stub"
SKIPPED = {
    f"OffsetMetadataManagerTest.{name}": why
    for name, why in {
        "testCleanupExpiredOffsets": _STUB,
        "testCleanupExpiredOffsetsEmptyOffsetExpirationCondition": _STUB,
        "testOffsetsExpiredSensor": _STUB,
        "testCleanupExpiredOffsetsGroupDoesNotExist": _STUB,
        "testCleanupExpiredOffsetsWithPendingTransactionalOffsets": _STUB,
        "testCleanupExpiredOffsetsWithPendingTransactionalOffsetsOnly": _STUB,
    }.items()
}  # fmt: skip
"""What of the files is not played, and why; the rules of the stubs' tests are in `test_group_offsets`."""
CLASSIC = [one for one in CONVERSATIONS if one["kind"] == "classic"]

_RESULTS = (
    "response", "error", "pending", "records", "applied", "awaits_append", "completes", "groups", "timers", "expired",
    "results", "offsets",
)  # fmt: skip
_NOT_COMPARED = {*IGNORED, "type", "message", "class", "version"}
"""``type``: of another one is skipped. Texts of errors are not modelled, nor are Java's classes, nor versions of the
embedded protocol and of metadata images."""


@pytest.mark.parametrize("conversation", CONVERSATIONS, ids=[one["name"].partition(".")[2] for one in CONVERSATIONS])
def test_the_machine_says_what_kafka_says(conversation: dict[str, Any]) -> None:
    name, kind = conversation["name"], conversation["kind"]
    why = SKIPPED.get(name, "")
    assert play(conversation) == Verdict(name, kind, "skipped" if why else "pass", why)


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a single value stands in a result, but for those that are not compared."""
    if isinstance(value, (dict, list)) and value:
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            if key not in _NOT_COMPARED:
                yield from _leaves(inner, (*path, key))
    else:
        yield path


def _changed(value: Any) -> Any:
    """Another value of its kind."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case str():
            return value + "x"
        case _:
            return {"x": 1} if value is None or isinstance(value, (dict, list)) else None


def _with_change(conversation: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    other = copy.deepcopy(conversation)
    inner: Any = other["steps"]
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = _changed(inner[path[-1]])
    return other


def _is_compared(one: dict[str, Any], step: dict[str, Any], result: str, rest: tuple[Any, ...]) -> bool:
    """Whether a single value decides anything; the others are named in `fields.IGNORED`."""
    if result == "response" and isinstance(step[result], dict) and one["kind"] == "offsets":
        return not {"recordOffset", "commitTimestampMs", "expireTimestampMs", "groupId", "name"} & {*rest}
    if result == "timers":  # what a timer could do shows in the state
        return step["timers"][rest[0]] is not None and _may_run(step, one, rest[0])
    if result == "expired":
        return not ("timer_tie" in one["needs"] or "awaits_append" in rest)
    if result in ("records", "results") and _record(step[result], rest)["type"] == "ConsumerGroupPartitionMetadata":
        return False
    kinds = [record["type"] for record in step.get("records", [])]
    is_converted = (kinds[-1:] == ["GroupMetadata"] and len(kinds) > 1) or (
        kinds[:1] == ["GroupMetadata"] and len(kinds) > 1
    )
    is_emptied = any(not (record["value"] or {}).get("members", True) for record in step.get("records", []))
    if result == "awaits_append":
        return not (is_converted or is_emptied)
    return result != "applied" or "groups" in step


def _may_run(step: dict[str, Any], one: dict[str, Any], key: str) -> bool:
    """Whether the timer is that of a member that is there; a replaced id's runs to no effect."""
    states = [group for each in [one["initial"], *one["steps"]] for group in each.get("groups", {}).values() if group]
    return any(key.endswith(f"-{member}") for member in states[-1]["members"]) or one["kind"] == "classic"


def _record(result: Any, rest: tuple[Any, ...]) -> dict[str, Any]:
    """The record in which a value stands."""
    for key in rest:
        if isinstance(result, dict) and "type" in result:
            return result
        result = result[key]
    return result if isinstance(result, dict) and "type" in result else {"type": ""}


_LEAVES = [
    (number, (at, result, *rest))
    for number, one in enumerate(CONVERSATIONS)
    for at, step in enumerate(one["steps"])
    if step["call"] not in ("set_state", "replay") and one["kind"] != "builder" and one["name"] not in SKIPPED
    for result in _RESULTS if result in step
    for rest in _leaves(step[result])
    if _is_compared(one, step, result, rest)
]  # fmt: skip


def _unnoticed(kinds: set[str], count: int) -> list[tuple[str, tuple[Any, ...]]]:
    leaves = [one for one in _LEAVES if CONVERSATIONS[one[0]]["kind"] in kinds]
    return [
        (CONVERSATIONS[number]["name"], path)
        for number, path in random.Random(16).sample(leaves, min(count, len(leaves)))
        if play(_with_change(CONVERSATIONS[number], path)).outcome == "pass"
    ]


def test_the_player_notices_every_change_of_what_kafka_says() -> None:
    """One value of one step is another: 600 of the 32,000 that there are in the classic protocol."""
    assert _unnoticed({"classic"}, 600) == []


def test_the_player_notices_every_change_of_what_kafka_says_in_the_consumer_protocol() -> None:
    """300 of the 11,600 of consumer and mixed groups."""
    assert _unnoticed({"consumer", "mixed"}, 300) == []


def test_the_player_notices_every_change_of_what_kafka_says_of_offsets() -> None:
    """300 of the 970 that there are."""
    assert _unnoticed({"offsets"}, 300) == []


def test_the_player_notices_every_change_of_a_builders_answer() -> None:
    for one in (each for each in CONVERSATIONS if each["kind"] == "builder"):
        for result in ("response", "records", "error"):
            for path in _leaves(one["steps"][0].get(result, {})):
                fields = ("epoch", "previous_epoch", "state", "assigned", "pending_revocation", "name")
                if path and (result == "records" or path[0] in fields):
                    assert play(_with_change(one, (0, result, *path))).outcome == "fail", (one["name"], path)


@pytest.mark.parametrize(
    "result", ["response", "completes", "records", "expired", "groups", "timers", "pending", "offsets"]
)
def test_the_player_notices_a_result_that_is_missing(result: str) -> None:
    """The machine does something of which the conversation says nothing."""
    places = [
        (number, at) for number, one in enumerate(CONVERSATIONS) for at, step in enumerate(one["steps"])
        if step.get(result) and step["call"] != "set_state" and one["name"] not in SKIPPED
        if result != "timers" or any(
            deadline is not None and _may_run(step, one, key) for key, deadline in step["timers"].items()
        )
        if result != "expired" or "completes" in step
        if not (result == "records" and step.get("applied") is False and "groups" not in step)
    ]  # fmt: skip
    for number, at in random.Random(16).sample(places, min(20, len(places))):
        other = copy.deepcopy(CONVERSATIONS[number])
        del other["steps"][at][result]
        assert play(other).outcome == "fail", (other["name"], at)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"kind": "share"}, "not modelled yet"),
        ({"needs": ["mock_group"]}, "mock_group: the group is a stub"),
        ({"config": {"group.max.size": 3, "log.dirs": "a"}}, "not modelled yet: setting log.dirs"),
        ({"steps": [{"at_ms": 1, "call": "ShareFetch"}]}, "not modelled yet: call ShareFetch"),
        ({"steps": [{"at_ms": 1, "call": "commit", "x": 1}]}, "not modelled yet: field x of commit"),
        (
            {"steps": [{"at_ms": 1000, "call": "Heartbeat", "request": {"memberId": "a", "x": 1}}]},
            "not modelled yet: field x of Heartbeat's request",
        ),
        (
            {"steps": [{"at_ms": 1000, "call": "advance", "ms": 1, "polled": True, "expired": [{"key": "a", "x": 1}]}]},
            "not modelled yet: field x of expired of advance",
        ),
        ({"x": 1}, "not modelled yet: field x of the conversation"),
        ({"initial": {"records": [], "committed": 0, "x": 1}}, "not modelled yet: field x of initial"),
        ({"needs": ["x"]}, "not modelled yet: need x"),
        ({"assignors": [{"name": "a", "kind": "x"}]}, "not modelled yet: assignors of kind x"),
        (
            {"initial": {"records": [], "committed": 0, "groups": {"g": {"type": "x"}}}},
            "not modelled yet: groups of type x",
        ),
        (
            {"initial": {"records": [{"type": "X", "key": {"group": "g"}, "value": None}], "committed": 0}},
            "not modelled yet: records of type X",
        ),
    ],
)
def test_what_is_not_modelled_is_skipped_by_name(change: dict[str, Any], why: str) -> None:
    verdict = play(CLASSIC[0] | change)
    assert (verdict.outcome, verdict.why) == ("skipped", why)


def test_conversations_that_4_4_would_answer_otherwise_are_held_to_4_3() -> None:
    """With 4.4's rules, a group that has lost its last member differs; other differences do not show in these."""
    marked = [one for one in CONVERSATIONS if one.get("v44")]
    by_4_4 = {one["name"]: play({**one, "v44": []}).outcome for one in marked}
    assert len(marked) == 16
    assert all(play(one).outcome == "pass" for one in marked)
    assert {name for name, one in zip(by_4_4, marked, strict=True) if by_4_4[name] == "fail"} == {
        one["name"] for one in marked if "empty_group" in one["v44"]
    }


def _write(folder: Path, *conversations: dict[str, Any]) -> None:
    with gzip.open(folder / "classic.jsonl.gz", "wt") as lines:
        lines.writelines(json.dumps(one) + "\n" for one in conversations)


def test_the_table_names_what_differs_and_the_exit_code_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = CLASSIC[0]
    step = next(at for at, one in enumerate(good["steps"]) if one.get("response"))
    wrong = _with_change(good, (step, "response", "errorCode")) | {"name": "Wrong.one"}
    _write(tmp_path, good, wrong, good | {"kind": "share"})
    assert main([str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert "classic        1     1        0\nshare          0     0        1\n" in printed
    assert f"  Wrong.one: step {step}, JoinGroup: response.errorCode: Kafka has " in printed
    _write(tmp_path, good)
    assert main([str(tmp_path)]) == 0


def test_a_wrong_folder_is_one_line_and_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "classic.jsonl.gz").write_bytes(b"no gzip")
    other = tmp_path / "other"
    other.mkdir()
    _write(other, {"name": "a"})
    for arguments in ([], ["a", "b"], [str(tmp_path / "none")], [str(tmp_path)], [str(broken)], [str(other)]):
        assert main(arguments) == 2
        printed = capsys.readouterr()
        assert (printed.out, printed.err.count("\n")) == ("", 1)
