"""What brokers were doing when, and how many partitions each led."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

UP, CLOSING, UNNOTICED, DOWN, STARTING, FENCED = "up", "closing", "unnoticed", "down", "starting", "fenced"
"""States of a broker; ``unnoticed``: dead, and the controller has not fenced it yet."""


class BrokerState(NamedTuple):
    """From when on a broker is in a state and leads so many data partitions, by what the controller has decided."""

    from_us: int
    state: str
    leaders: int


class BrokerBooks:
    """Of one cluster.

    Parameters
    ----------
    nodes : iterable of int
        Broker ids.

    Attributes
    ----------
    states : dict of int to list of BrokerState
        By broker, in order of time; neighbours differ.
    """

    def __init__(self, nodes: Iterable[int]) -> None:
        self.states: dict[int, list[BrokerState]] = {node: [] for node in nodes}

    def note(self, now: int, states: Mapping[int, str], leaders: Mapping[int, int]) -> None:
        """How brokers are from now on; who leads nothing may be absent from ``leaders``."""
        for node, state in states.items():
            entered, new = self.states[node], BrokerState(now, state, leaders.get(node, 0))
            if entered and entered[-1].from_us == now:
                entered.pop()
            if not entered or entered[-1][1:] != new[1:]:
                entered.append(new)
