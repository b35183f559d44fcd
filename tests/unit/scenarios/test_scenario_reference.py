"""``scenarios/README.md`` has every verb with all its keys, and the scenarios that it and the README name exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from groupsim.scenarios import list_names
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


@pytest.mark.parametrize("file", ["README.md", "scenarios/README.md"])
def test_scenarios_that_are_named_exist(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    named = re.findall(r"groupsim\s+(?:run|scenarios\s+show)\s+([a-z]+(?:-[a-z]+)+)(?![\w./-])", text)
    tried = re.findall(r"\| `([a-z]+(?:-[a-z]+)+)` \|$", text, re.MULTILINE)
    assert named
    assert set(named) | set(tried) <= set(list_names())
