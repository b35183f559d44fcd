"""What cannot begin aged is told in words, with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupsim.scenarios import ScenarioFileError, load

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
