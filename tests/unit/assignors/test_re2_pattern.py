"""Patterns that brokers hold against names of topics: RE2/J's syntax, whole names, its reasons."""

from __future__ import annotations

import subprocess
import sys

import pytest

from groupsim.assignors.java.re2_pattern import Re2Error, check_pattern, matching

TOPICS = ("orders", "ord", "my-orders", "Orders", "orders.eu", "x1")


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("ord", ("ord",)),
        ("ord.*", ("orders", "ord", "orders.eu")),
        ("orders|x1", ("orders", "x1")),
        ("(?i)orders", ("orders", "Orders")),
        (r"orders\.\pL+", ("orders.eu",)),
        (r"\Qorders.eu\E", ("orders.eu",)),
        ("[^o].*", ("my-orders", "Orders", "x1")),
        ("nothing", ()),
    ],
)
def test_a_whole_name_is_matched_in_the_order_given(pattern: str, found: tuple[str, ...]) -> None:
    assert matching(pattern, TOPICS) == found


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("[", "missing closing ]"),
        ("(a", "missing closing )"),
        ("(?=a)", "invalid or unsupported Perl syntax"),
        ("(?<!a)b", "invalid or unsupported Perl syntax"),
        ("a*+", "invalid nested repetition operator"),
        ("*a", "missing argument to repetition operator"),
        ("a{1001}", "invalid repeat count"),
        ("a\\", "trailing backslash at end of expression"),
        (r"(a)\1", "invalid escape sequence"),
        ("[b-a]", "invalid character class range"),
        ("\ud800", "invalid UTF-8"),
    ],
)
def test_what_re2j_refuses_is_refused_in_its_words(pattern: str, reason: str) -> None:
    with pytest.raises(Re2Error) as caught:
        check_pattern(pattern)
    assert str(caught.value) == f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: {reason}."
    with pytest.raises(Re2Error):
        matching(pattern, TOPICS)


def test_a_pattern_that_keeps_others_for_ever_takes_no_time() -> None:
    assert matching("(a+)+", ("a" * 200, "a" * 200 + "b")) == ("a" * 200,)


def test_a_refused_pattern_writes_nothing_of_its_own() -> None:
    program = (
        "from groupsim.assignors.java.re2_pattern import Re2Error, check_pattern\n"
        "try: check_pattern('[')\nexcept Re2Error: pass"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (told.stdout, told.stderr) == ("", "")
