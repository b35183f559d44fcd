"""What a group's machine has decided, as its host carries it out."""

from __future__ import annotations

from groupsim.sim.kernel.network import Exchange
from groupsim.sim.protocol.interface import Outcome, Reply


def exchange_of(reply: Reply) -> Exchange:
    """The request that is answered."""
    assert isinstance(reply.waiter, Exchange)
    return reply.waiter


def extend(outcome: Outcome, more: Outcome) -> None:
    """Add what follows; what was handed out before is in the log."""
    outcome.replies += more.replies
    outcome.facts += more.facts
    outcome.charged_us += more.charged_us
    outcome.tasks += more.tasks
    outcome.batch = more.batch
