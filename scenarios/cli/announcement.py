"""What runs of groups that produce take, told before they begin.

Where each of their transactions is carried out a run goes on at the pace of its beginning, which is measured. All else
costs next to nothing while nothing happens, transactions that are worked out ahead too: its beginning says nothing of
the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupsim.scenarios.cli.output import counted, say_wrapped
from groupsim.scenarios.cli.watch import LONG_S

if TYPE_CHECKING:
    from groupsim.scenarios.sweep.pilot import Cost
    from groupsim.sim.model import Group, Scenario, Verb

_PILOT_LIMIT_S: Final = 0.5


def announce(scenario: Scenario, seed: int, runs: int) -> None:
    """Say how long so many runs take, where that is long and the beginning of one tells."""
    if not any(_is_carried_out(scenario, group) for group in scenario.groups):
        return
    from groupsim.analysis.data.metrics import duration
    from groupsim.scenarios.sweep.pilot import Slowness  # loads pyarrow

    slowness = Slowness()
    cost = expected(scenario, seed).times(runs)
    if (seconds := cost.seconds * slowness()) >= LONG_S:
        events = counted(int(float(f"{cost.events:.2g}")), "event")
        what = "a long run" if runs == 1 else f"{runs:,} runs, long together"
        say_wrapped(f"{what}: about {events} and {duration(seconds)}, at the pace that this machine has now")


def _is_carried_out(scenario: Scenario, group: Group) -> bool:
    """Whether each transaction of a group is, as `sim.fastpath.transactions` has it."""
    from groupsim.sim.config import TransactionConfig
    from groupsim.sim.model import topics_read

    if group.produces is None:
        return False
    is_read = any(topics_read(scenario, one, (group.produces.to,)) for one in scenario.groups)
    is_old = scenario.cluster.transactions.version < TransactionConfig().version
    return is_read or is_old or scenario.data == "exact" or any(_is_of_brokers(one.verb) for one in scenario.timeline)


def _is_of_brokers(verb: Verb) -> bool:
    from groupsim.sim.model import Cut, ElectLeaders, Reassign

    targets = verb.between if isinstance(verb, Cut) else (getattr(verb, "target", None),)
    return isinstance(verb, (ElectLeaders, Reassign)) or any(one and one.kind in ("broker", "rack") for one in targets)


def expected(scenario: Scenario, seed: int) -> Cost:
    """What a run costs, from its beginning; of one that fails there, what it has cost until then."""
    from groupsim.scenarios.sweep.loading import Variant
    from groupsim.scenarios.sweep.pilot import run_once
    from groupsim.sim import simulate

    variant = Variant(name=scenario.name, changes={}, scenario=scenario, seed=seed)
    return run_once(variant, simulate, _PILOT_LIMIT_S).cost
