"""Small files that stand for more than any memory or patience holds: refused in words, at once."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from groupsim.scenarios.build.loading import parse
from groupsim.scenarios.errors import Problem, ScenarioFileError, listed, nearest
from groupsim.scenarios.files.properties_text import parse_properties, read_properties
from groupsim.scenarios.files.text_files import read_bytes, read_csv
from tests.support.command_line import SCENARIO, CommandLine

BASE: dict[str, Any] = {
    "version": 1,
    "question": "What happens?",
    "horizon": "1h",
    "topics": {"orders": {"partitions": 4}},
    "groups": {"billing": {"topics": ["orders"], "members": {"count": 2}}},
}


def problems(**changes: Any) -> tuple[Problem, ...]:
    with pytest.raises(ScenarioFileError) as caught:
        parse({**BASE, **changes}, file="s.yaml", name="s")
    return caught.value.problems


def groups(number: int, **own: Any) -> dict[str, Any]:
    return {f"g{n}": {**BASE["groups"]["billing"], **own} for n in range(number)}


CHANGES: list[tuple[dict[str, Any], str, str]] = [
    ({"groups": groups(2, count=10_000)}, "groups", "must be at most 10000 groups in all, not 20000"),
    ({"groups": groups(3, members={"count": 500_000})}, "groups", "at most 1000000 members in all, not 1500000"),
    ({"topics": {f"t{n}": {"partitions": 1_000_000} for n in range(2)}}, "topics", "at most 1000000 partitions in all"),
    (
        {"timeline": [{"at": "1s", "create_topic": {"name": f"t{n}", "partitions": 600_000}} for n in range(2)]},
        "topics",
        "at most 1000000 partitions in all, not 1200004",
    ),
    (
        {"timeline": [{"at": "1s", "set_config": {"target": "billing", "static": True}}] * 1001},
        "timeline",
        "at most 1000 set_config entries in all, not 1001",
    ),
    (
        {
            "groups": groups(2, count=1000),
            "timeline": [{"at": "1s", "cut": {"between": ["g0", "g1"], "for": "1s"}}],
        },
        "timeline[cut-1]",
        "makes more than 100,000 entries of the timeline",
    ),
    (
        {
            "topics": {"orders": {"partitions": 900_000}},
            "timeline": [{"at": f"{n}s", "set_rate": {"topic": "orders", "rate": {"total": 1}}} for n in range(90)],
        },
        "timeline[set_rate-3].set_rate.rate",
        "makes more than 2,000,000 rates in all",
    ),
    (
        {"timeline": [{"at": "1s", "kill": {"target": f"billing/{n}-999999"}} for n in range(90)]},
        "timeline[kill-3].kill.target",
        "stand for more than 2,000,000 values in all",
    ),
    (
        {"groups": groups(1, topics={"assign": {"orders": ",".join(["0-999999"] * 500)}})},
        "groups.g0.topics.assign.orders",
        "must not name more than 1000000",
    ),
]


@pytest.mark.parametrize(("changes", "path", "says"), CHANGES)
def test_bounds_of_one_entry_are_bounds_of_all(changes: dict[str, Any], path: str, says: str) -> None:
    found = problems(**changes)
    assert found[0].path == path
    assert says in found[0].message


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"kill": {"target": "broker:" + "9" * 5000}}, "kill.target"),
        ({"kill": {"target": "billing/random:" + "9" * 5000}}, "kill.target"),
        ({"kill": {"target": "billing/" + "9" * 5000}}, "kill.target"),
        ({"slow": {"target": "billing", "for": "1s", "factor": 1e300}}, "slow.factor"),
        ({"rolling_restart": {"target": "billing", "batch": 10**30}}, "rolling_restart.batch"),
        ({"rolling_restart": {"target": "billing", "surge": 10**30}}, "rolling_restart.surge"),
        ({"kill": {"target": "billing", "down": "9" * 5000 + "s"}}, "kill.down"),
    ],
)
def test_numbers_that_nobody_means_are_told_where_they_are(change: dict[str, Any], path: str) -> None:
    (found,) = problems(timeline=[{"at": "1s", **change}])
    assert found.path == f"timeline[{path.partition('.')[0]}-1].{path}"
    assert len(str(found)) < 900  # the forms that a target can have take a third of it


@pytest.mark.parametrize(
    "changes",
    [
        {"event_budget": 10**30},
        {"goals": {"recovery_lag_records": 2**63}},
        {"goals": {"unavailable_gap_s_max": "< " + "9" * 400}},
        {"cluster": {"brokers": [{"id": 2**31}]}},
        {"cluster": {"config": {"log.cleaner.min.cleanable.ratio": "1e400"}}},
        {"cluster": {"config": {"log.cleaner.min.cleanable.ratio": 10**400}}},
        {"groups": groups(1, members={"count": 1, "per_process": 10**30})},
    ],
)
def test_numbers_beyond_what_a_machine_counts_are_refused(changes: dict[str, Any]) -> None:
    assert len(problems(**changes)) == 1


def test_names_are_told_shortly_however_long_and_strange_they_are() -> None:
    found = problems(**{"x" * 100_000: 1, "\x1b[31m\n": 2})
    text = str(ScenarioFileError("s.yaml\x1b", found))
    assert len(text) < 2_000
    assert "\x1b" not in text
    assert r"\x1b[31m\n" in text


def test_of_many_problems_the_first_are_told() -> None:
    text = str(ScenarioFileError("s.yaml", [Problem(f"a{n}", "is wrong") for n in range(5_000)]))
    assert text.endswith("and 4900 more")
    assert text.count("is wrong") == 100


def test_of_many_unknown_names_some_are_told() -> None:
    assert len(problems(**{f"k{n}": 1 for n in range(3_000)})) == 100
    config = {f"session.timeout.m{n}": 1 for n in range(3_000)}
    assert len(problems(groups=groups(1, config=config))) == 100
    topics = {"topics": {f"t{n}": {"partitions": 1} for n in range(3_000)}}
    found = problems(**topics, groups=groups(1, topics=[f"u{n}" for n in range(3_000)]))
    assert len(found) == 1_000
    assert found[0].message.endswith("t39 and 2960 more")


def test_a_name_longer_than_any_is_compared_with_none() -> None:
    assert nearest("x" * 250, ["x" * 249]) != ""
    assert nearest("x" * 251, ["x" * 250]) == ""
    assert nearest("abc", ["abd"] * 2_001) == ""
    assert listed("abc") == "a, b, c"


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_properties_file_of_one_endless_line_is_read_in_no_time(tmp_path: Path) -> None:
    assert parse_properties("a\\\n" * 300_000 + "=1") == {"a" * 300_000: "1"}
    (tmp_path / "long.properties").write_bytes(b"a" * (1 << 20) + b"=1")
    with pytest.raises(ValueError, match="is longer than 1 MiB"):
        read_properties(tmp_path / "long.properties")


def test_a_table_of_too_many_rows_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groupsim.scenarios.files.text_files.ROWS_MAX", 3)
    (tmp_path / "t.csv").write_text("a\n1\n2\n")
    assert read_csv(tmp_path / "t.csv") == [["a"], ["1"], ["2"]]
    (tmp_path / "t.csv").write_text("a\n1\n2\n3\n")
    with pytest.raises(ValueError, match="has more than 3 rows"):
        read_csv(tmp_path / "t.csv")


def test_rates_of_partitions_that_a_table_names_far_out_are_refused(tmp_path: Path) -> None:
    rows = "".join(f"{n},{1_000_000 - n},1\n" for n in range(10))
    (tmp_path / "r.csv").write_text("time_s,partition,rate\n" + rows)
    (found,) = problems(topics={"orders": {"partitions": 4, "rate": {"csv": str(tmp_path / "r.csv")}}})
    assert "10 instants of 1,000,001 partitions are more than 2,000,000 rates" in found.message


def test_a_pipe_into_which_nobody_writes_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="a pipe into which nobody writes"):
        read_bytes(tmp_path / "pipe")


def test_a_pipe_with_a_writer_is_read_to_its_end() -> None:
    reading, writing = os.pipe()
    gone = threading.Timer(0.2, lambda: (os.write(writing, b"x" * 40_000), os.close(writing)))
    gone.start()
    assert read_bytes(Path(f"/dev/fd/{reading}"), 50_000) == b"x" * 40_000
    gone.join()
    os.close(reading)


# --- the command line -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("small.yaml", "--set", "x" * 100_000 + "=1"),
        ("small.yaml", "--set", "horizon=" + "9" * 100_000),
        ("small.yaml", "--set", "horizon=" + "[" * 100_000),
        ("small.yaml", "--set", "\udcff\udcfe=1"),
        ("small.yaml", "--set", "horizon=\udcff"),
        ("small.yaml", "--set", "groups.billing.topics[" + "9" * 5_000 + "]=x"),
        ("small.yaml", "--set", "groups.billing.topics[\u00b2]=x"),
        ("\udcff.yaml",),
        ("x" * 5_000 + ".yaml",),
        ("a\0b.yaml",),
        ("small.yaml", "--seed", "9" * 5_000),
        ("small.yaml", "--out", "x" * 5_000),
        ("small.yaml", "--allow-code", "\udcff:x"),
        ("small.yaml", "--allow-code", "a" * 5_000 + ":x"),
    ],
)
def test_arguments_that_nobody_means_are_told_in_words(
    groupsim: CommandLine, arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "small.yaml").write_text(SCENARIO)
    monkeypatch.chdir(tmp_path)
    told = groupsim("run", *arguments)
    assert (told.code, told.out) == (2, "")
    assert "Traceback" not in told.err
    assert [path.name for path in tmp_path.iterdir()] == ["small.yaml"]


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_a_file_whose_name_no_manifest_could_hold_is_refused(
    groupsim: CommandLine, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "\udcff.yaml").write_text(SCENARIO)
    monkeypatch.chdir(tmp_path)
    told = groupsim(command, "\udcff.yaml", "--out", "out", *(["--inline"] if command == "sweep" else []))
    assert told.code == 2
    assert "has a name that is not UTF-8" in told.err
    assert len([*tmp_path.iterdir()]) == 1
