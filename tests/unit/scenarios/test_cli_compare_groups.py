"""``groupsim compare`` of many groups: those that differ most, a bounded number, or those that are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_line import SCENARIO, CommandLine
from tests.support.given_runs import flat


@pytest.fixture
def folder(tmp_path: Path, groupsim: CommandLine) -> Path:
    """Eight groups, of which another one hangs in each run."""
    made = tmp_path
    (made / "small.yaml").write_text(SCENARIO.replace("5min", "1min"))
    many = ("--set", "groups.billing.count=8")
    for name, target in (("calm", "billing-0"), ("hit", "billing-5")):
        hang = f"timeline=[{{at: 30s, stuck: {{target: {target}, for: 20s}}}}]"
        assert groupsim("run", made / "small.yaml", *many, "--set", hang, "--out", made / name).code == 0
    return made


def _groups(text: str) -> list[str]:
    return [line.rpartition(" ")[2].rstrip(":") for line in text.splitlines() if "(B), group " in line]


def test_of_many_groups_those_are_told_that_differ_most(groupsim: CommandLine, folder: Path) -> None:
    told = groupsim("compare", folder / "calm", folder / "hit")
    assert len(_groups(told.out)) == 6
    assert set(_groups(told.out)[:2]) == {"billing-0", "billing-5"}
    assert "the 6 of 8 groups that differ most, 2 groups are left out" in flat(told.err)
    assert "one pair allows no verdict" in flat(told.out)
    assert flat(told.out).count("cannot tell") == 1
    assert len(groupsim("compare", folder / "calm", folder / "hit", "--csv").out.splitlines()) == 1 + 8 * 8


def test_groups_can_be_named(groupsim: CommandLine, folder: Path) -> None:
    named = groupsim("compare", folder / "calm", folder / "hit", "--group", "billing-1,billing-5")
    assert sorted(_groups(named.out)) == ["billing-1", "billing-5"]
    wrong = groupsim("compare", folder / "calm", folder / "hit", "--group", "biling-1")
    assert wrong.code == 2
    assert "there is no group 'biling-1'; did you mean 'billing-1'?" in flat(wrong.err)
