"""What a sweep would run, told before anything is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenarios.cli.output import counted, print_json, say

if TYPE_CHECKING:
    from scenarios.sweep import Sweep


def tell_plan(sweep: Sweep, *, as_json: bool) -> None:
    runs = sweep.replications.at_least * len(sweep.variants)
    if as_json:
        variants = [{"variant": one.name, "seed": one.seed, "set": one.changes} for one in sweep.variants]
        print_json({"sweep": sweep.name, "scenario": sweep.source, "runs": runs, "variants": variants})
        return
    for one in sweep.variants:
        print(one.name)
    say(
        f"{counted(runs, 'run')}: {counted(len(sweep.variants), 'variant')}, {counted(sweep.replications.at_least, 'replication')} each; all valid"
    )
