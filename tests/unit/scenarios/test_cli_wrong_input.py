"""What a stranger may hand to the command line: told in words, exit code 2, never a traceback, no folder made."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_line import SCENARIO, CommandLine, Told

BOMB = b"a: &a0 [x, x]\n" + b"".join(b"b%d: &a%d [*a%d, *a%d]\n" % (n + 1, n + 1, n, n) for n in range(30))
FILES: dict[str, bytes] = {
    "small.yaml": SCENARIO.encode(),
    "empty.yaml": b"",
    "binary.yaml": bytes(range(255, 0, -1)),
    "null.yaml": b"\0\1abc",
    "list.yaml": b"- 1\n- 2\n",
    "two.yaml": b"version: 1\n---\nversion: 1\n",
    "code.yaml": b'x: !!python/object/apply:os.system ["echo hi"]\n',
    "deep.yaml": b"[ " * 5000 + b"]" * 5000,
    "endless.yaml": b"a: &a\n  b: *a\n",
    "bomb.yaml": BOMB,
    "sweep.yaml": b"scenario: small.yaml\n",
    "lost.yaml": b"scenario: below/rolling-depoy\n",
    "latin.csv": "time_s,rate\n0,1 \xfc\n".encode("latin-1"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder.yaml").mkdir()
    monkeypatch.chdir(tmp_path)


def refused(told: Told, says: str) -> None:
    assert (told.code, told.out) == (2, "")
    assert says in " ".join(told.err.split())
    assert "Traceback" not in told.err
    assert {path.name for path in Path().iterdir()} == {*FILES, "folder.yaml"}


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("empty.yaml", "is empty: a scenario is a mapping"),
        ("folder.yaml", "cannot be read: Is a directory"),
        ("binary.yaml", "is not UTF-8: byte 0xff at offset 0"),
        ("null.yaml", "is not YAML"),
        ("list.yaml", "holds [1, 2]"),
        ("two.yaml", "is not YAML"),
        ("code.yaml", "a tag (!!int, !name)"),
        ("deep.yaml", "is nested too deeply"),
        ("endless.yaml", "aliases unfold without end"),
        ("bomb.yaml", "holds more than 100,000 values, aliases unfolded"),
        ("absent.yaml", "cannot be read: No such file or directory"),
        ("/dev/zero", "is longer than 2 MiB"),
        ("kill-detektion", "did you mean 'kill-detection'?"),
        ("", "is empty: name a built-in scenario, or a file"),
        ("s" * 300, "is neither a file nor a built-in scenario"),
        ("sweep.yaml", "it is a sweep, for groupsim sweep"),
        ("detection-timeouts", "is a sweep and no scenario: groupsim sweep detection-timeouts --out DIR"),
    ],
)
def test_a_file_that_is_no_scenario_is_told(groupsim: CommandLine, file: str, says: str) -> None:
    refused(groupsim("run", file, "--out", "out"), says)


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("horizon=-5min", "must not be negative"),
        ("horizon=.nan", "must be a finite number"),
        ("horizon=99999999999999999999d", "at most 36500d"),
        ("sample_every=1us", "sample_every = '1us' must give at most 1000000 samples"),
        ("groups.billing.members.count=99999999999999999999999", "less than or equal to 1000000"),
        ("groups={}", "must have at least 1 item"),
        ("groups.billing.processing={poll_timeout: 0s}", "must be greater than 0"),
        ("topics.orders.rate={csv: latin.csv}", "latin.csv: is not UTF-8"),
        ("topics.orders.rate={csv: folder.yaml}", "folder.yaml: cannot be read: Is a directory"),
        ('topics.orders.rate={csv: "a\\0b"}', "cannot be read: embedded null byte"),
        ("groups.billing.config={file: latin.csv}", "latin.csv: is not UTF-8"),
        ("groups.billing.topics={pattern: '(o+'}", "is no pattern of java.util.regex: Unclosed group"),
    ],
)
def test_a_value_that_cannot_be_is_told(groupsim: CommandLine, setting: str, says: str) -> None:
    told = groupsim("run", "small.yaml", "--set", setting, "--out", "out")
    refused(told, says)
    assert "after validation" not in told.err


PATTERN = """
version: 1
question: What is read?
horizon: 1min
topics: {orders: {partitions: 1}}
groups:
  billing: {topics: {pattern: 'x*'}, members: {count: 1}}
timeline:
  - {at: 1s, create_topic: {name: AAAA, partitions: 1}}
  - at: 2s
    subscribe:
      target: billing
      topics: {pattern: 'BBBB'}
"""


@pytest.mark.parametrize(
    ("place", "line", "path"),
    [("x*", 7, "groups.billing.topics.pattern"), ("BBBB", 13, "timeline[subscribe-1].subscribe.topics.pattern")],
)
def test_a_pattern_that_takes_too_long_for_any_topic_is_told_with_its_line(
    groupsim: CommandLine, tmp_path: Path, place: str, line: int, path: str
) -> None:
    (tmp_path / "small.yaml").write_text(PATTERN.replace(place, r"(a|aa)+\1b").replace("AAAA", "a" * 40))
    refused(
        groupsim("run", "small.yaml"),
        rf"{path} (line {line}) = '(a|aa)+\\1b' takes more than 1,000,000 steps to be held against 'aaaa",
    )


@pytest.mark.parametrize("option", ["--seed", "--replication", "--replications"])
def test_numbers_of_runs_have_bounds(groupsim: CommandLine, option: str) -> None:
    refused(groupsim("run", "small.yaml", option, "9" * 26, "--out", "out"), option)


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("small.yaml", "it is a scenario, for groupsim run"),
        ("kill-detection", "is a scenario and no sweep: groupsim run kill-detection"),
        ("lost.yaml", "scenario (line 1) = 'below/rolling-depoy'"),
        ("lost.yaml", "did you mean 'rolling-deploy'?"),
        ("folder.yaml", "cannot be read: Is a directory"),
        ("empty.yaml", "must be a mapping that names a scenario"),
    ],
)
def test_a_file_that_is_no_sweep_is_told(groupsim: CommandLine, file: str, says: str) -> None:
    refused(groupsim("sweep", file, "--inline", "--out", "out"), says)


@pytest.mark.parametrize("name", ["no-such", "small.yaml", "binary.yaml", "below/absent"])
def test_only_what_is_built_in_is_shown(groupsim: CommandLine, name: str) -> None:
    refused(groupsim("scenarios", "show", name), "is not built in")


def test_what_is_built_in_can_be_validated_by_name(groupsim: CommandLine) -> None:
    told = groupsim("scenarios", "validate", "gc-storm", "small.yaml")
    assert told.code == 0
    assert told.out.splitlines() == ["gc-storm: valid", "small.yaml: valid"]


def test_a_name_that_no_file_can_have_is_not_there(groupsim: CommandLine) -> None:
    """Neither as a scenario of a sweep or suite, nor as a folder of results."""
    for name, text in (("sweep", "scenario: {}\n"), ("suite", "scenarios: {{a: {{scenario: {}, goals: {{}}}}}}\n")):
        Path(f"{name}.yaml").write_text(text.format("s" * 300))
        told = groupsim("scenarios", "validate", f"{name}.yaml")
        assert (told.code, "is neither" in told.said) == (2, True)
        Path(f"{name}.yaml").unlink()
    Path("sweep.yaml").write_bytes(FILES["sweep.yaml"])
    refused(groupsim("compare", "r" * 300), "does not exist")
