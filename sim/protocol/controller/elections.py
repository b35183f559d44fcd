"""How long controllers are without an active one of whose end nobody has told them.

They fetch from it: an answer comes every 500 ms at the latest (``KafkaRaftClient.MAX_FETCH_WAIT_MS``), and
``controller.quorum.fetch.timeout.ms`` after the last one a controller asks the others whether they would vote for it.
Those who have fetched from the old one, and still wait for it, would not (``FollowerState.canGrantVote``); as all have
had their last answer at about the same time, that is soon over. If two become candidates at once each votes for itself,
and both wait for the election timeout of one of them, which is ``controller.quorum.election.timeout.ms`` to twice that
(``QuorumState.randomElectionTimeoutMs``, ``KafkaRaftClient.maybeHandleElectionLoss``); it asks anew, and wins.

Source: KIP-996; classes of ``kafka-raft`` 4.4.0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from groupsim.sim.config import BrokerConfig
from groupsim.sim.units import MS

_FETCH_WAIT_US: Final = 500 * MS
_LOST_VOTES: Final = (2, 9)
"""Of so many elections nobody won the first vote in so many: recorded on three controllers (`tests/oracle/OUTAGES.md`).
What decides is which of two timers, milliseconds apart, the other one's question overtakes."""


def leaderless_us(config: BrokerConfig, drawn: Callable[[int], int]) -> int:
    """From the end of the active controller until another one has a majority but for the way of its questions.

    Parameters
    ----------
    config : BrokerConfig
    drawn : callable
        Number -> 64 random bits.

    Returns
    -------
    int, microseconds
    """
    asked_us = max(config.quorum_fetch_timeout_us - drawn(0) % _FETCH_WAIT_US, 0)
    lost, elections = _LOST_VOTES
    if drawn(1) % elections >= lost:
        return asked_us
    timeout_us = config.quorum_election_timeout_us
    return asked_us + timeout_us + min(drawn(number) % max(timeout_us, 1) for number in (2, 3))
