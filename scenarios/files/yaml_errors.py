"""What YAML's parser says of a text that is no YAML, in the words of somebody who writes such files."""

from __future__ import annotations

from typing import Final

import yaml

_IN_WORDS: Final[tuple[tuple[str, str], ...]] = (
    ("mapping values are not allowed", "a colon makes no sense here: look at the indentation of this line, and of the"
     " one before; put text that holds ': ' in quotes"),
    ("found '<block mapping start>'", "this line is indented less than those it belongs to, or more than it may be"),
    ("found '<block sequence start>'", "this list is indented less than what it belongs to"),
    ("found '<scalar>'", "this follows what has ended already: is a comma, a colon or indentation missing?"),
    ("found '-'", "an entry of a list stands where a key is expected: look at the indentation"),
    ("found '<stream end>'", "the text ends before what is open is closed"),
    ("could not find expected ':'", "a key without a colon: write key: value"),
    ("expected ',' or '}'", "a { is not closed, or a comma is missing"),
    ("expected ',' or ']'", "a [ is not closed, or a comma is missing"),
    ("\\t", "indent with spaces, never with tabs"),
)  # fmt: skip
"""What the parser says, and what usually causes it."""


def in_words(error: yaml.MarkedYAMLError) -> str:
    """What usually causes this error of the parser, with the line where the enclosing value begins."""
    said = str(error.problem or error.context)
    meant = next((words for pattern, words in _IN_WORDS if pattern in said), "")
    begun, found = error.context_mark, error.problem_mark
    since = (
        f"; it belongs to what begins in line {begun.line + 1}" if begun and found and begun.line < found.line else ""
    )
    return f"is not YAML: {meant}{since} ({said})" if meant else f"is not YAML: {said}"
