"""What cannot begin aged is told in words, with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupsim.scenarios import ScenarioFileError, load
from tests.support.command_line import CommandLine

TEXT = """\
version: 1
question: What happens?
horizon: 10min
topics:
  orders: {partitions: 6}
  paid: {partitions: 6}
groups:
  billing:
    topics: [orders]
    members:
      count: 4
      start: {aged: 1d}
"""
ASSIGN = "topics: {assign: {orders: 0-5}}"


@pytest.mark.parametrize(
    ("there", "instead", "message"),
    [
        ("horizon: 10min", "horizon: 10min\ndata: exact", "does not go with data: exact"),
        (
            "horizon: 10min",
            "horizon: 10min\nproducers: {shop: {topics: [paid]}}",
            "with producers",
        ),
        ("topics: [orders]", "protocol: zookeeper\n    topics: [orders]", "is for groups at a coordinator"),
        ("topics: [orders]", ASSIGN, "is for members of a group: who takes partitions by hand"),
        (
            "topics: [orders]",
            "config: {enable.auto.commit: false}\n    produces: {to: paid}\n    topics: [orders]",
            "does not go with produces",
        ),
    ],
)
def test_what_depends_on_each_step_of_the_past_is_refused(
    tmp_path: Path, there: str, instead: str, message: str
) -> None:
    path = tmp_path / "mine.yaml"
    text = TEXT.replace(there, instead)
    path.write_text(text, encoding="utf-8")
    line = next(number for number, row in enumerate(text.splitlines(), start=1) if "aged" in row)
    with pytest.raises(ScenarioFileError) as caught:
        load(path)
    told = [one for one in caught.value.problems if message in one.message]
    assert [(one.path, one.line) for one in told] == [("groups.billing.members.start.aged", line)]


def test_a_group_of_either_protocol_may_begin_aged(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    for text in (TEXT, TEXT.replace("topics: [orders]", "protocol: consumer\n    topics: [orders]")):
        path.write_text(text, encoding="utf-8")
        assert load(path).groups[0].is_aged


# --- who cannot keep up -----------------------------------------------------------------------------------------------

SLOW = TEXT.replace("orders: {partitions: 6}", "orders: {partitions: 6, rate: {per_partition: 100}}").replace(
    "topics: [orders]", "topics: [orders]\n    processing: {per_record: 4ms}"
)


@pytest.mark.parametrize(
    ("there", "instead", "message"),
    [
        ("4ms", "8ms", "600 records/s are produced for it, and its members process at most 500 together"),
        ("4ms", "6ms", "one of its members has to process at least 200 records/s, and none processes more than 167"),
        (
            "{per_partition: 100}", "{total: 300, zipf: 10}",
            "one of its members has to process at least 300 records/s, and none processes more than 250",
        ),
        (
            "aged: 1d}", "aged: 1d}\n    overrides: [{members: 1-3, processing: {per_record: 20ms}}]",
            "600 records/s are produced for it, and its members process at most 400 together",
        ),
        (  # The fifth member is none of those at the start.
            "groups:\n  billing:\n",
            "timeline: [{at: 10s, scale: {target: billing, to: 5}}]\ngroups:\n  billing:\n"
            "    overrides: [{members: 2-4, processing: {per_record: 20ms}}]\n",
            "600 records/s are produced for it, and its members process at most 600 together",
        ),
        ("4ms", "1ms, per_poll: 5s", "and its members process at most 364 together"),
    ],
)  # fmt: skip
def test_a_group_that_cannot_keep_up_whoever_gets_what_is_refused_with_all_else(
    tmp_path: Path, there: str, instead: str, message: str
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(SLOW.replace(there, instead) + "    client_family: jave\n", encoding="utf-8")
    with pytest.raises(ScenarioFileError) as caught:
        load(path)
    assert [one.path for one in caught.value.problems] == [
        "groups.billing.client_family", "groups.billing.members.start.aged"
    ]  # fmt: skip
    (told,) = (one for one in caught.value.problems if "begin with lag" in one.message)
    assert message in told.message
    assert "aged" in path.read_text(encoding="utf-8").splitlines()[told.line - 1]


@pytest.mark.parametrize(
    ("there", "instead"),
    [("4ms", "4ms"), ("rate: {per_partition: 100}", "rate: {total: 0}"), ("count: 4", "count: 0")],
)
def test_who_keeps_up_may_begin_aged(tmp_path: Path, there: str, instead: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(SLOW.replace(there, instead), encoding="utf-8")
    assert load(path).groups[0].is_aged


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            SLOW.replace("topics: [orders]", "topics: {pattern: orders}").replace("4ms", "9ms"),
            "200 records/s are produced for it, and it processes 111",
        ),
        (
            SLOW.replace("{partitions: 6, rate: {per_partition: 100}}", "{partitions: 1, rate: {total: 150}}")
            .replace("paid: {partitions: 6}", "paid: {partitions: 1, rate: {total: 150}}")
            .replace("topics: [orders]", "topics: [orders, paid]"),
            "300 records/s are produced for it, and it processes 250",
        ),
    ],
    ids=["pattern", "range"],
)
def test_what_only_a_run_shows_is_told_with_its_line_and_nothing_is_written(
    groupsim: CommandLine, tmp_path: Path, text: str, message: str
) -> None:
    """Of patterns, and of who gets which partitions: range gives one member the first of both topics."""
    path, out = tmp_path / "mine.yaml", tmp_path / "out"
    path.write_text(text.replace("billing:", "billing:\n    count: 2"), encoding="utf-8")
    told = groupsim("run", path, "--out", out)
    line = next(number for number, row in enumerate(path.read_text().splitlines(), start=1) if "aged" in row)
    words = " ".join(told.err.split())
    assert (told.code, told.out, out.exists()) == (2, "", False)
    assert f"mine.yaml: 1 problem groups.billing.members.start.aged (line {line}) cannot be: it would begin" in words
    assert message in words
    assert "Traceback" not in told.err
