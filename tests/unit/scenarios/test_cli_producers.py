"""``groupsim run`` says in words what became of the records of ``producers``."""

from __future__ import annotations

from tests.support.command_line import CommandLine
from tests.support.given_runs import flat


def test_what_goes_with_a_leader_is_told_as_the_table_has_it(groupsim: CommandLine) -> None:
    told = groupsim("run", "leader-death", "--set", "horizon=35s")
    rows = groupsim("run", "leader-death", "--set", "horizon=35s", "--json").json["producers"]
    gone = sum(row["truncated_leader"] for row in rows)
    assert gone > 0
    assert f"producers shop: {sum(row['records'] for row in rows):,} records" in flat(told.out)
    assert f"; {gone} truncated with a leader, 0 by an unclean election, 0 lost unheard, 0 given up" in flat(told.out)
    assert "0 out of order." in flat(told.out)
    assert max(map(len, told.out.splitlines())) <= 80


def test_several_runs_are_told_by_their_means(groupsim: CommandLine) -> None:
    run = ("run", "leader-death", "--set", "horizon=15s", "--replications", "2")
    several = groupsim(*run, "--json").json["producers"]
    told = flat(groupsim(*run).out)
    assert f"{sum(row['records'] for row in several) / 2:,.0f} records" in told
    assert told.endswith("; means of all runs.")


def test_topics_that_fill_by_themselves_have_no_such_sentence(groupsim: CommandLine) -> None:
    assert "producers" not in groupsim("run", "kill-detection").out
