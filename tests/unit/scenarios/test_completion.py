"""A refused value hides nothing else that is wrong with a file, and nothing is told that only follows from it."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from groupsim.scenarios.build import completion
from groupsim.scenarios.build.loading import LIBRARY, list_names, load, load_document, parse
from groupsim.scenarios.errors import Problem, ScenarioFileError
from groupsim.scenarios.sweep.checks import VariantCheck

TEXT = """\
version: 1
question: What happens?
horizon: 10min
topics:
  orders: {partitions: 6}
  bills: {partitions: 2}
groups:
  billing:
    topics: [orders]
    members: {count: 4}
  other:
    topics: [bills]
    members: {count: 2, static: true}
timeline:
  - id: first
    at: 1min
    kill: {target: billing/0}
  - at: 2min
    restart: {target: other}
  - at: 3min
    add_partitions: {topic: bills, to: 9}
"""
LATER = {
    "members: {count: 2, static: true}": (
        "members: {count: 2}\n    config: {session.timeout.ms: 1000}", "groups.other.config",
    ),
    "target: other": ("target: othr", "timeline[restart-1].restart.target"),
    "topics: [bills]": ("topics: [bilz]", "groups.other.topics[0]"),
    "to: 9": ("to: 1", "timeline[add_partitions-1].add_partitions.to"),
    "bills: {partitions: 2}": ("bills: {partitions: 2, replication_factor: 9}", "topics.bills.replication_factor"),
    "horizon: 10min": ("horizon: 10min\nmeasure: {from: 1h}", "measure"),
}  # fmt: skip
"""What only a check of the whole file finds: text, what stands there instead, and where it is told."""
REFUSED = {
    "version: 1": ("version: 2", "version"),
    "question: What happens?": ("question: 5", "question"),
    "orders: {partitions: 6}": ("orders: {partitions: six}", "topics.orders.partitions"),
    "topics: [orders]": ("topics: {pattern: '('}", "groups.billing.topics.pattern"),
    "members: {count: 4}": ("members: {cuont: 4}", "groups.billing.members.cuont"),
    "target: billing/0": ("target: billing/3-1", "timeline[first].kill.target"),
    "    kill:": ("    kil:", "timeline[first]"),
    "id: first": ("id: [1]", "timeline[kill-1].id"),
}
"""What pydantic refuses, told alone before."""
BAD: tuple[object, ...] = (["no", "such"], -7, {"nonsense": 1}, "??", None)


def _told(document: Any, *, looks_on: bool = True) -> list[Problem]:
    try:
        parse(document, file="s.yaml", name="s", folder=LIBRARY, looks_on=looks_on)
    except ScenarioFileError as refused:
        return list(refused.problems)
    return []


@pytest.mark.parametrize("later", LATER)
@pytest.mark.parametrize("refused", REFUSED)
def test_what_only_the_whole_file_shows_is_told_with_a_refused_value(tmp_path: Path, refused: str, later: str) -> None:
    (wrong, first), (missed, second) = REFUSED[refused], LATER[later]
    file = tmp_path / "s.yaml"
    file.write_text(TEXT.replace(refused, wrong).replace(later, missed))
    with pytest.raises(ScenarioFileError) as caught:
        load(file)
    assert list(dict.fromkeys(one.path for one in caught.value.problems)) == [first, second]
    assert all(one.line for one in caught.value.problems if one.path != "measure")


def test_lines_and_places_are_those_of_the_file_when_an_entry_before_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(TEXT.replace("    at: 1min\n", "").replace("target: other", "target: othr"))
    with pytest.raises(ScenarioFileError) as caught:
        load(file)
    assert [(one.path, one.line) for one in caught.value.problems] == [
        ("timeline[first]", 15), ("timeline[restart-1].restart.target", 18),
    ]  # fmt: skip


def test_what_set_refuses_hides_nothing_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(TEXT.replace("target: other", "target: othr"))
    with pytest.raises(ScenarioFileError) as caught:
        load(file, set_={"groups.nobody.count": 1, "horizon": "x"})
    paths = [one.path for one in caught.value.problems]
    assert paths == ["groups.nobody.count", "horizon", "timeline[restart-1].restart.target"]


def test_names_that_a_refused_entry_may_have_given_are_not_missed() -> None:
    created = {"at": "1s", "create_topic": {"name": "new", "partitions": "?"}}
    reads = {"topics": ["new"], "members": {"count": 1}}
    document = {**yaml.safe_load(TEXT), "timeline": [created]}
    document["groups"]["third"] = reads
    assert [one.path for one in _told(document)] == ["timeline[create_topic-1].create_topic.partitions"]
    created["create_topic"] = {"name": ["new"], "partitions": 1}
    assert [one.path for one in _told(document)] == ["timeline[create_topic-1].create_topic.name"]


def _places(tree: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    steps = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for step, below in steps:
        yield (*above, step)
        yield from _places(below, (*above, step))


def _broken() -> Iterator[tuple[str, dict[str, Any]]]:
    """Files of the library, each with one value refused somewhere."""
    chance = random.Random("completion")
    everywhere = [(name, place) for name in list_names() for place in _places(load_document(name))]
    for name, place in chance.sample(everywhere, 120):
        document = load_document(name)
        holder: Any = document
        for step in place[:-1]:
            holder = holder[step]
        holder[place[-1]] = chance.choice(BAD)
        yield f"{name} {place} {holder[place[-1]]}", document


def test_nothing_follows_from_a_refused_value_and_what_is_wrong_elsewhere_is_told() -> None:
    told = 0
    for name, document in _broken():
        alone = _told(copy.deepcopy(document), looks_on=False)
        assert _told(copy.deepcopy(document)) == alone, name
        if alone and isinstance(document.get("groups"), dict) and len(document["groups"]) > 1:
            group = {"topics": {"pattern": ".*"}, "members": {"count": 1}, "config": {"session.timeout.ms": 1}}
            document["groups"]["also"] = group
            together = {one.path for one in _told(document)}
            assert together == {"groups.also.config", *(one.path for one in alone)}, name
            told += 1
    assert told > 10


def test_a_file_that_would_take_seconds_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    document = yaml.safe_load(TEXT.replace("target: other", "target: othr").replace("horizon: 10min", "horizon: x"))
    assert len(_told(document)) == 2
    assert len(_told({**document, **{f"k{number}": 1 for number in range(60)}})) == 61
    monkeypatch.setattr(completion, "_VALUES_MAX", 10)
    assert len(_told(document)) == 1


def test_of_many_variants_that_are_alike_wrong_some_are_told_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    monkeypatch.setattr(
        "groupsim.scenarios.build.loading.found_beside", lambda refused, *_: looked.append(len(refused)) or []
    )
    check = VariantCheck("rolling-deploy", Path(), (), {})
    for number in range(30):
        assert not list(check.check(str(number), {"horizon": -1 - number}))
    assert len(looked) == 20
    assert len(check.problems()) == 1


@pytest.mark.parametrize("value", [["4.4"], {"java": 4}])
def test_a_client_of_no_version_at_all_is_refused(value: object) -> None:
    document = yaml.safe_load(TEXT)
    document["groups"]["billing"]["client"] = value
    assert [one.path for one in _told(document)] == ["groups.billing.client"]
