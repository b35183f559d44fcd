"""Patterns of RE2/J, which brokers hold against names of topics for groups of the consumer protocol.

``com.google.re2j`` is the Java port of RE2, so RE2 itself does the matching: the same syntax, and linear time whatever
the pattern is. Its reasons are told in RE2/J's words. RE2 compiles at most 8 MiB, RE2/J knows no such bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final

_IN_RE2J: Final[Mapping[str, str]] = MappingProxyType(
    {
        "missing ]": "missing closing ]",
        "missing )": "missing closing )",
        "invalid perl operator": "invalid or unsupported Perl syntax",
        "bad repetition operator": "invalid nested repetition operator",
        "invalid repetition size": "invalid repeat count",
        "no argument for repetition operator": "missing argument to repetition operator",
        "trailing \\": "trailing backslash at end of expression",
        "invalid named capture group": "invalid named capture",
    }
)
"""RE2's reason -> RE2/J's (``com.google.re2j.Parser``)."""


class Re2Error(ValueError):
    """A pattern that RE2/J refuses; the message is the error message of the broker."""


def check_pattern(pattern: str) -> None:
    """See that a pattern is one of RE2/J.

    Raises
    ------
    Re2Error
        With the message of INVALID_REGULAR_EXPRESSION.

    Source
    ------
    ``Utils.throwIfRegularExpressionIsInvalid``, Kafka 4.4.
    """
    _compiled(pattern)


def matching(pattern: str, topics: Iterable[str]) -> tuple[str, ...]:
    """The topics whose whole name the pattern matches, in the order given.

    Raises
    ------
    Re2Error
        RE2/J refuses the pattern.

    Source
    ------
    ``GroupMetadataManager.resolveRegularExpressions`` (``Matcher.matches``), Kafka 4.4.
    """
    compiled = _compiled(pattern)
    return tuple(topic for topic in topics if compiled.fullmatch(topic))


@cache
def _compiled(pattern: str) -> Any:
    import re2  # only those who use such patterns load it

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeError) as error:
        reason = _told(error)
    raise Re2Error(f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: {reason}.")


def _told(error: Exception) -> str:
    if isinstance(error, UnicodeError):
        return "invalid UTF-8"
    said = error.args[0]
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    reason = text.partition(": ")[0]
    return _IN_RE2J.get(reason, reason)
