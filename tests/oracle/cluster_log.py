"""What brokers log of the cluster: who is the active controller, who is fenced, where coordinators are loaded.

Texts are those of ``QuorumController``, ``ReplicationControlManager``, ``BrokerHeartbeatManager`` (the active
controller's log), ``BrokerLifecycleManager`` and ``CoordinatorRuntime``, 4.4.0.
"""

from __future__ import annotations

import re
from typing import Any, Final

from tests.oracle.broker_log import LogLine

_OF_BROKERS: Final = (
    ("leaving", re.compile(r"Unfenced broker (?P<node>\d+) has requested and been granted a controlled shutdown\.")),
    ("gone", re.compile(r"The request from broker (?P<node>\d+) to shut down has been granted since")),
    ("gone", re.compile(r"(?:Unfenced|Fenced) broker (?P<node>\d+) has requested and been granted an immediate")),
    ("fenced", re.compile(r"Fencing broker (?P<node>\d+) at epoch \d+ because its session has timed out\.")),
    ("unfenced", re.compile(r"The request from broker (?P<node>\d+) to unfence has been granted")),
)  # fmt: skip
_OF_COORDINATORS: Final = (
    ("loading", re.compile(r"Scheduling loading of metadata from __consumer_offsets-(?P<partition>\d+) with")),
    ("loaded", re.compile(r"Finished loading of metadata from __consumer_offsets-(?P<partition>\d+) with")),
    ("unloading", re.compile(r"Started unloading metadata for __consumer_offsets-(?P<partition>\d+) with")),
)
_ACTIVE: Final = re.compile(r"Becoming the active controller at epoch")
_BEAT: Final = re.compile(r"Sending broker heartbeat ")


class ClusterLog:
    """Follows the logs of all brokers of a cluster.

    Attributes
    ----------
    facts : list of dict
        So far, ``at_us`` in microseconds since 1970, ``node`` as the scenario calls it.
    """

    def __init__(self) -> None:
        self.facts: list[dict[str, Any]] = []

    def take(self, node: int, line: LogLine) -> bool:
        """Take in the next line of a broker's log; whether it was about the cluster."""
        for change, pattern in _OF_BROKERS:
            if found := pattern.search(line.text):
                self._add("broker", line.at_us, node=int(found["node"]), change=change)
                return True
        for change, pattern in _OF_COORDINATORS:
            if found := pattern.search(line.text):
                self._add("coordinator", line.at_us, node=node, change=change, partition=int(found["partition"]))
                return True
        if _ACTIVE.search(line.text):
            self._add("broker", line.at_us, node=node, change="active")
        elif _BEAT.search(line.text):
            self._add("broker", line.at_us, node=node, change="beat")
        else:
            return False
        return True

    def _add(self, what: str, at_us: int, **rest: Any) -> None:
        self.facts.append({"what": what, "at_us": at_us, **rest})
