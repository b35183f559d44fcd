"""What crosses racks has a price: the short summary of ``groupsim run`` tells both where one is given."""

from __future__ import annotations

import pytest

from tests.support.command_line import CommandLine

SHORT = ("--set", "horizon=3min", "--set", "timeline=[]")
FREE = ("--set", "cluster.network.cross_rack_price_per_gb=null")


@pytest.mark.parametrize(("options", "is_told"), [((), True), (FREE, False)], ids=["with a price", "without"])
@pytest.mark.parametrize("several", [(), ("--set", "groups.billing.count=2")], ids=["one group", "two groups"])
def test_are_told_in_short(
    groupsim: CommandLine, options: tuple[str, ...], is_told: bool, several: tuple[str, ...]
) -> None:
    told = groupsim("run", "nearest-replica", *SHORT, *options, *several)
    assert told.code == 0
    assert max(map(len, told.out.splitlines())) <= 80
    lines = [line for line in told.out.splitlines() if line.startswith(("bytes across racks", "cost across racks"))]
    assert len(lines) == 2 * is_told * (2 if several else 1), "of two groups, over both and of each"
