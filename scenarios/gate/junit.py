"""Verdicts as JUnit XML, in the form that CI systems read: a suite a scenario, a case a metric or goal.

Only what all readers share is written: tests, failures and errors of a suite; classname and name of a case. Some show
the ``message`` of a failure and some its text, so both say everything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal
from xml.sax.saxutils import escape, quoteattr

MARK: Final = '<?xml version="1.0" encoding="UTF-8"?>\n<!-- groupsim check -->'
"""How every such file begins."""
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One thing that was checked.

    Parameters
    ----------
    suite, name : str
    outcome : {"passed", "failure", "error"}
        failure: the check failed; error: it could not be made.
    lines : tuple of str
        What is wrong, the most important first; empty if nothing is.
    """

    suite: str
    name: str
    outcome: Literal["passed", "failure", "error"] = "passed"
    lines: tuple[str, ...] = ()


def junit_text(name: str, cases: Iterable[Case]) -> str:
    """The file; ``name`` is that of everything together."""
    suites: dict[str, list[Case]] = {}
    for case in cases:
        suites.setdefault(case.suite, []).append(case)
    everything = [case for some in suites.values() for case in some]
    lines = [MARK, f"<testsuites name={_quoted(name)} {_counts(everything)}>"]
    for suite, some in suites.items():
        lines += [f"  <testsuite name={_quoted(suite)} {_counts(some)}>", *map(_case, some), "  </testsuite>"]
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _counts(cases: list[Case]) -> str:
    failures, errors = (sum(case.outcome == one for case in cases) for one in ("failure", "error"))
    return f'tests="{len(cases)}" failures="{failures}" errors="{errors}" skipped="0"'


def _case(case: Case) -> str:
    begin = f"    <testcase classname={_quoted(case.suite)} name={_quoted(case.name)}"
    if case.outcome == "passed":
        return f"{begin}/>"
    text = escape(_legal("\n".join(case.lines)))
    told = f"<{case.outcome} message={_quoted('; '.join(case.lines[:3]))}>{text}</{case.outcome}>"
    return f"{begin}>\n      {told}\n    </testcase>"


def _quoted(text: str) -> str:
    return quoteattr(_legal(text))


def _legal(text: str) -> str:
    """The text without characters that XML 1.0 does not allow, which an error may quote."""
    return _NOT_XML.sub("\ufffd", text)
