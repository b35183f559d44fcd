"""``groupsim run`` says in words what readers of a group's output get."""

from __future__ import annotations

import re
from typing import Any

from groupsim.analysis.text.output import blocked_lines, output_lines
from tests.support.command_line import CommandLine
from tests.support.given_runs import flat

SHORT = ("--set", "horizon=25s", "--set", "timeline[kill].every=8s")


def row(replication: int, **given: Any) -> dict[str, Any]:
    return {"group": "billing", "topic": "paid", "replication": replication, **given}


def test_each_isolation_level_is_told_with_means_over_runs() -> None:
    output = [row(0, blocked_us_max=1_000_000), row(0, blocked_us_max=3_000_000), row(1, blocked_us_max=5_000_000)]
    delivery = [
        row(0, kind="output duplicate", cause="read_uncommitted", records=30),
        row(1, kind="output duplicate", cause="read_uncommitted", records=50),
        row(1, kind="output loss", cause="read_committed", records=8),
        row(1, kind="duplicate", cause="kill", records=999),
        row(1, kind="output loss", cause="read_committed", records=999) | {"group": "other"},
    ]
    assert output_lines(output, delivery, 2) == [
        "output of billing (paid): readers of read_committed get 0 input records twice and 4 never, of "
        "read_uncommitted 40 input records twice and 0 never; a record waits for 4 s at most until the former can "
        "read it; means of all runs."
    ]


def test_what_new_leaders_lacked_is_told() -> None:
    delivery = [
        row(0, kind="output duplicate", cause="read_committed", records=3),
        row(0, kind="output duplicate (unclean)", cause="read_committed", records=2),
        row(0, kind="output loss", cause="read_committed", records=70),
        row(0, kind="output loss (unclean)", cause="read_committed", records=50),
        row(0, kind="output loss (truncated input)", cause="read_committed", records=20),
    ]
    (told,) = output_lines([row(0, blocked_us_max=0)], delivery, 1)
    assert "3 input records twice and 70 never (72 of these since a new leader lacked something), of" in told
    assert told.count("lacked") == 1


def test_what_is_aborted_is_told_as_the_tables_have_it(groupsim: CommandLine) -> None:
    told = flat(groupsim("run", "exactly-once", *SHORT).out)
    found = groupsim("run", "exactly-once", *SHORT, "--json").json
    twice = [one["records"] for one in found["delivery"] if one["kind"] == "output duplicate"]
    waits = max(one["blocked_us_max"] for one in found["output"])
    assert "output of billing (paid): readers of read_committed get 0 input records twice and 0 never" in told
    assert f"of read_uncommitted {sum(twice)} input records twice and 0 never" in told
    assert sum(twice) > 0
    (seconds,) = re.findall(r"a record waits for (\S+) s at most", told)
    assert abs(float(seconds) - waits / 1e6) < 0.01


def test_groups_that_produce_nothing_have_no_such_sentence(groupsim: CommandLine) -> None:
    assert "output of" not in groupsim("run", "kill-detection").out


def test_who_reads_what_is_committed_is_told_how_long_open_transactions_kept_it() -> None:
    waits = [(0, "paid", 3, 1), (0, "paid", 5, 10.5), (0, "other", 0, 60), (1, "paid", 2, 4.5)]
    output = [
        row(run, partition=number, blocked_us_max=int(seconds * 1_000_000)) | {"topic": topic}
        for run, topic, number, seconds in waits
    ]
    sentence = (
        "second reads paid up to the first open transaction of billing: a record waited behind one for {} at most ({}),"
    )
    (one,) = blocked_lines(output[:3], {"paid": ["second"], "other": []}, 1)
    assert one.startswith(sentence.format("10.5 s", "partition 5"))
    assert one.endswith("which is age of lag, and neither gap nor unread time")
    (mean,) = blocked_lines(output, {"paid": ["second"]}, 2)
    assert mean.startswith(sentence.format("7.50 s", "mean of all runs"))


def test_only_readers_of_committed_records_are_told_so(groupsim: CommandLine) -> None:
    told = flat(groupsim("run", "chained-groups", "--set", "horizon=20s").out)
    assert "shipping reads paid up to the first open transaction of billing: a record waited" in told
    assert "mailing reads shipped up to the first open transaction of shipping" in told
    assert "audit reads" not in told
