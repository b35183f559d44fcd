"""``scenarios/README.md`` has every verb with all its keys, and every form of a rate and of a duration.

The scenarios that it and the README name exist.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from groupsim.scenarios import list_names, load_document, parse, set_path
from groupsim.scenarios.schema.verbs import VERBS

ROOT = Path(__file__).parents[3]
REFERENCE = (ROOT / "scenarios" / "README.md").read_text(encoding="utf-8")


def row(verb: str) -> str:
    """What the file has about a verb, as its model says it."""
    fields = VERBS[verb].model_fields.items()
    keys = [f"`{info.alias or name}`" + (" (required)" if info.is_required() else "") for name, info in fields]
    return f"| `{verb}` | {', '.join(keys)} |"


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_stands_there_with_its_keys(verb: str) -> None:
    assert row(verb) in REFERENCE


def test_no_other_verb_stands_there() -> None:
    table = REFERENCE[REFERENCE.index("| verb |") : REFERENCE.index("`rolling_restart` stops")]
    assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE) == list(VERBS)


def _examples(heading: str) -> list[Any]:
    """The first column of the table of that heading."""
    table = REFERENCE[REFERENCE.index(f"| {heading} | what it is |") :].partition("\n\n")[0]
    return [yaml.safe_load(text) for text in re.findall(r"^\| `(.+?)` \|", table, re.MULTILINE)]


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A folder with the files that the tables name."""
    (tmp_path / "rates.csv").write_text("time_s,rate\n0,5\n")
    (tmp_path / "pauses.csv").write_text("pause_ms\n7\n")
    return tmp_path


def test_each_form_of_a_rate_stands_there_and_can_be_read(recorded: Path) -> None:
    assert [next(iter(one)) for one in _examples("rate")] == [
        "per_partition", "total", "steps", "diurnal", "burst", "csv",
    ]  # fmt: skip
    for rate in _examples("rate"):
        parse(_with({"topics.orders.rate": rate}), file="s.yaml", name="s", folder=recorded)


def test_each_form_of_a_duration_stands_there_and_can_be_read(recorded: Path) -> None:
    _, *forms = _examples("duration")
    assert [next(iter(one)) for one in forms] == ["uniform", "exponential", "lognormal", "empirical", "csv"]
    for duration in _examples("duration"):
        given = _with({"groups.billing.processing.per_record": duration})
        parse(given, file="s.yaml", name="s", folder=recorded)


def _with(changes: Mapping[str, Any]) -> dict[str, Any]:
    document = load_document("kill-detection")
    for path, value in changes.items():
        set_path(document, path, value)
    return document


@pytest.mark.parametrize("file", ["README.md", "scenarios/README.md"])
def test_scenarios_that_are_named_exist(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    named = re.findall(r"groupsim\s+(?:run|scenarios\s+show)\s+([a-z]+(?:-[a-z]+)+)(?![\w./-])", text)
    tried = re.findall(r"\| `([a-z]+(?:-[a-z]+)+)` \|$", text, re.MULTILINE)
    assert named
    assert set(named) | set(tried) <= set(list_names())
