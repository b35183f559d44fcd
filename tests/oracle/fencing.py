"""When a killed broker was fenced in a recording, against what Kafka's sessions allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from groupsim.sim.model import Scenario
from tests.oracle.broker_instants import node_of
from tests.oracle.outage_measures import outages
from tests.oracle.trace import Fact

CHECKS_PER_SESSION = 8
LATE_S = 0.05
"""By so much a log line may be later than what it tells of."""
VOTE_S = 0.25
"""So long a vote may take on the recording machine, and the elected one to become active."""


@dataclass(frozen=True)
class Fencing:
    """Of one broker that was killed, seconds.

    Parameters
    ----------
    was_controller : bool
    elected : float or None
        From the kill until another controller was active, if that had to be.
    session : float
        From the last heartbeat, or from the new controller's election, until the broker was fenced.
    """

    was_controller: bool
    elected: float | None
    session: float


def fencings(facts: Sequence[Fact]) -> list[Fencing]:
    """Of all brokers that were killed and fenced."""
    changes = [fact for fact in facts if fact["what"] == "broker"]
    found = []
    for kill in (one for one in outages(facts) if one["verb"] == "kill"):
        node, at_us = node_of(kill["target"]), kill["at_us"]
        after = [one for one in changes if one["at_us"] > at_us]
        fenced = next((one["at_us"] for one in after if (one["node"], one["change"]) == (node, "fenced")), None)
        active = next((one["at_us"] for one in after if one["change"] == "active"), None)
        beats = [one["at_us"] for one in changes if (one["node"], one["change"]) == (node, "beat")]
        if fenced is not None:
            since = active or max(one for one in beats if one <= at_us)
            elected = None if active is None else (active - at_us) / 1e6
            found.append(Fencing(active is not None, elected, (fenced - since) / 1e6))
    return found


def allowed(scenario: Scenario) -> tuple[float, float]:
    """The shortest and the longest session: a controller looks for those that are over eight times in one."""
    session_s = scenario.cluster.broker_config.session_timeout_us / 1e6
    return session_s, session_s * (1 + 1 / CHECKS_PER_SESSION) + LATE_S


def votes(scenario: Scenario) -> tuple[tuple[float, float], tuple[float, float]]:
    """The shortest and the longest election: if the first vote is won, and if nobody wins that.

    By `groupsim.sim.protocol.controller.elections`: what was fetched last is up to 0.5 s old when a controller dies.
    """
    config = scenario.cluster.broker_config
    silent_s, timeout_s = config.quorum_fetch_timeout_us / 1e6, config.quorum_election_timeout_us / 1e6
    first = (silent_s - 0.5, silent_s + VOTE_S)
    return first, (first[0] + timeout_s, first[1] + 2 * timeout_s)
