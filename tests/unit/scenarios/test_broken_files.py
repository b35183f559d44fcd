"""Files of the library broken by chance: valid all the same, or told in words, with a bound on time and memory."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from groupsim.scenarios.build.loading import parse
from groupsim.scenarios.errors import Problem, ScenarioFileError
from groupsim.scenarios.files import base_model
from tests.support.broken_files import BESIDE, broken_file
from tests.support.command_line import CommandLine

SECONDS = 20.0
"""Of processor time; the longest takes 3 on a machine that does nothing else."""
MEMORY = 1 << 30
"""Bytes beyond what the process has already."""


@contextmanager
def _bounded() -> Iterator[None]:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, before[1]))
    handler = signal.signal(signal.SIGVTALRM, _too_late)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)


def _too_late(*_: object) -> None:
    raise TimeoutError


def _is_told(groupsim: CommandLine, seed: int) -> bool:
    """Whether a file is valid, or is refused as it should be."""
    Path("broken.yaml").write_bytes(broken_file(seed)[0])
    with _bounded():
        told = groupsim("scenarios", "validate", "broken.yaml")
    printed = told.out + told.err
    said = told.code == 0 or (told.code == 2 and told.err.startswith("broken.yaml: ") and "\n    " in told.err)
    return said and "Traceback" not in printed and all(one.isprintable() or one == "\n" for one in printed)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in BESIDE.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("block", range(4))
def test_a_broken_file_is_told_in_words(groupsim: CommandLine, block: int) -> None:
    assert [seed for seed in range(200 + block * 15, 215 + block * 15) if not _is_told(groupsim, seed)] == []


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_a_broken_file_is_told_in_words_at_length(groupsim: CommandLine, block: int) -> None:
    assert [seed for seed in range(1000 + block * 100, 1100 + block * 100) if not _is_told(groupsim, seed)] == []


BASE: dict[str, Any] = {
    "version": 1,
    "question": "What happens?",
    "horizon": "1h",
    "topics": {"orders": {"partitions": 4}},
    "groups": {"billing": {"topics": {"re2": "("}, "members": {"count": 2}}},
}


def _problems(document: dict[str, Any]) -> list[Problem]:
    with pytest.raises(ScenarioFileError) as caught:
        parse(document, file="s.yaml", name="s")
    return list(caught.value.problems)


def test_a_refused_pattern_is_told_with_everything_else() -> None:
    lost = {"topics": ["nobody"], "members": {"count": 1}, "config": {"session.timeout.ms": 1}}
    found = _problems({
        **BASE, "groups": {**BASE["groups"], "other": lost},
        "timeline": [{"at": "1s", "subscribe": {"target": "biling", "topics": {"pattern": "(o+"}}}],
    })  # fmt: skip
    assert [(one.path, one.value) for one in found] == [
        ("groups.billing.topics.re2", "'('"),
        ("timeline[subscribe-1].subscribe.topics.pattern", "'(o+'"),
        ("groups.other.topics[0]", "'nobody'"),
        ("timeline[subscribe-1].subscribe.target", "'biling'"),
        ("groups.other.config", ""),
        ("groups.other.config", ""),
    ]


def test_what_the_file_as_a_whole_lacks_is_told_with_a_refused_pattern() -> None:
    found = _problems({**BASE, "measure": {"from": "2h"}})
    assert [one.path for one in found] == ["groups.billing.topics.re2", "measure"]


def test_names_that_lead_nowhere_and_what_kafka_refuses_are_told_together() -> None:
    wrong = {"topics": ["nobody"], "members": {"count": 1}, "config": {"session.timeout.ms": 1}}
    found = _problems({**BASE, "groups": {"billing": wrong}})
    assert {one.path for one in found} == {"groups.billing.topics[0]", "groups.billing.config"}


def test_no_more_than_some_of_very_many_unknown_keys_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[object] = []
    monkeypatch.setattr(base_model, "nearest_name", lambda key, known: str(compared.append(key) or ""))
    _problems({**BASE, **{f"k{number}": 1 for number in range(5_000)}})
    assert len(compared) == 100


def test_what_a_terminal_obeys_is_shown_as_it_is_written() -> None:
    text = str(Problem("a\x1b[0m", "allowed: b\x9bc\x07 [variant d\u202ee]", "\x1b[31m"))
    assert text.split() == ["a\\x1b[0m", "=", "\\x1b[31m", "allowed:", "b\\x9bc\\x07", "[variant", "d\\u202ee]"]
