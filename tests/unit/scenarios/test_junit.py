"""JUnit XML: what a CI reads of it."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from groupsim.scenarios.gate.junit import Case, junit_text

CASES = [
    Case(suite="deploy", name="billing rebalances"),
    Case(suite="deploy", name="billing losses", outcome="failure", lines=("out of tolerance", "0 < 5", "replay: x")),
    Case(suite="kill", name="replication 1", outcome="error", lines=("SimError: no member & none left",)),
]


def test_suites_count_their_cases() -> None:
    root = ET.fromstring(junit_text("check s.yaml", CASES).encode())
    assert root.attrib == {"name": "check s.yaml", "tests": "3", "failures": "1", "errors": "1", "skipped": "0"}
    counts = [(one.get("name"), one.get("tests"), one.get("failures"), one.get("errors")) for one in root]
    assert counts == [("deploy", "2", "1", "0"), ("kill", "1", "0", "1")]


def test_a_failure_says_everything_as_message_and_as_text() -> None:
    root = ET.fromstring(junit_text("check", CASES).encode())
    failure = root.find(".//failure")
    assert failure is not None
    assert failure.get("message") == "out of tolerance; 0 < 5; replay: x"
    assert failure.text == "out of tolerance\n0 < 5\nreplay: x"
    error = root.find(".//error")
    assert error is not None
    assert error.text == "SimError: no member & none left"
    assert [len(one) for one in root.findall(".//testcase")] == [0, 1, 1]


@given(st.text(), st.text())
def test_whatever_an_error_says_it_stays_xml(name: str, line: str) -> None:
    text = junit_text(name, [Case(suite=name, name=line, outcome="error", lines=(line, line))])
    root = ET.fromstring(text.encode())
    assert len(root.findall(".//error")) == 1
