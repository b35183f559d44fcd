"""Patterns of ``java.util.regex``, held against what OpenJDK answered, and never for longer than their budget."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groupsim.assignors.java.regex import JavaPattern, PatternError, TooManySteps, java_pattern

RECORDED = json.loads((Path(__file__).parents[2] / "golden/java/patterns.json").read_text())
LONG = "a" * 248


def test_match_the_names_that_java_matches() -> None:
    found = {
        text: [name for name in RECORDED["names"] if java_pattern(text).matches(name)] for text in RECORDED["matches"]
    }
    assert len(found) > 400
    assert {text for text, names in found.items() if names != RECORDED["matches"][text]} == set()


@pytest.mark.parametrize("text", RECORDED["refused"])
def test_are_refused_where_java_refuses_them(text: str) -> None:
    with pytest.raises(PatternError, match=r"near index|character property"):
        JavaPattern(text)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("(a+)+$", True),
        ("(a+)+b", False),
        ("(a|aa)+b", False),
        ("(a*)*b", False),
        ("(?:a*a*)*b", False),
        ("(a?){248}a{248}", True),
        ("((a{1,5}){1,5}){1,20}b", False),
        ("(?=(a+)+b).*", False),
        ("((?=(a+)+b).)*a", False),
        ("(?>(a+)+)b", False),
        ("(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)b", False),
        ("(?i)(A|a)*b", False),
    ],
)
def test_that_would_keep_python_for_ever_take_few_steps(
    text: str, answer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groupsim.assignors.java.regex.matcher.STEPS_MAX", 700_000)
    assert JavaPattern(text).matches(LONG) is answer


def test_possessive_repetitions_settle_each_turn_for_itself() -> None:
    """OpenJDK 17 says so: it does not come back to the first turn when the second fails."""
    assert not JavaPattern("(?:a|ab){2}+c").matches("abac")
    assert JavaPattern("(?:a|ab){2}c").matches("abac")


@pytest.mark.parametrize("text", [r"(a|aa)+\1b", r"(a*)*\1b", r"(a+)+(?=\1b)"])
def test_that_refer_to_groups_end_with_their_budget(text: str) -> None:
    with pytest.raises(TooManySteps, match="more than 1,000,000 steps to be held against 'aaaa"):
        JavaPattern(text).matches(LONG)


def test_end_after_as_many_steps_everywhere() -> None:
    pattern = JavaPattern(r"(a|aa)+\1b")
    assert not pattern.matches("a" * 20)
    with pytest.raises(TooManySteps):
        pattern.matches("a" * 40)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("((a{1,200}){1,200}){1,200}", "more than 20,000 steps when its repetitions are written out"),
        ("(" * 60 + ")" * 60, "Groups are nested too deeply"),
        ("[" * 60 + "a" + "]" * 60, "Classes are nested too deeply"),
        ("a" * 4001, "is longer than 4,000 characters"),
        ("a{99999999999999999999}", "Illegal repetition range"),
    ],
)
def test_too_large_to_follow_are_refused(text: str, says: str) -> None:
    with pytest.raises(PatternError, match=says):
        JavaPattern(text)


def test_repeated_more_often_than_a_name_is_long_need_no_more_steps() -> None:
    assert JavaPattern("a{1,2147483647}").matches(LONG)
    assert not JavaPattern("a{2147483647}").matches(LONG)
    assert JavaPattern("(a?){2147483647}").matches(LONG)


def test_of_all_members_are_one() -> None:
    assert java_pattern("orders.*") is java_pattern("orders.*")
