"""What scenario files say of the consumer protocol (KIP-848), for as long as the schema of scenarios does not know it.

``protocol: consumer``, ``group_config``, ``topics: {re2: ...}`` and ``group.protocol`` in a configuration are taken out
of a document before it is checked; what is left is a scenario of the classic protocol with the same topics, members and
timeline, whose draws are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final

CONSUMER: Final = "consumer"
CLASSIC: Final = "classic"
_PROTOCOL: Final = "group.protocol"
FORBIDDEN: Final = ("session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy")
"""Keys that a client of the consumer protocol refuses (``ConsumerConfig``, 4.4.0)."""


@dataclass(frozen=True)
class Asides:
    """What was taken out.

    Parameters
    ----------
    protocols : dict of str to str
        Of groups, at their members' first start.
    patterns : dict of str to str
        Of groups that the broker matches (``SubscriptionPattern``).
    group_config : dict of str to dict
        Of groups, as text: the broker's configuration of them.
    changes : dict of int to str
        Positions of ``set_config`` in the timeline -> the protocol from the next start on.
    """

    protocols: dict[str, str] = field(default_factory=dict)
    patterns: dict[str, str] = field(default_factory=dict)
    group_config: dict[str, dict[str, str]] = field(default_factory=dict)
    changes: dict[int, str] = field(default_factory=dict)

    def is_consumer(self) -> bool:
        """Whether a member of any group ever uses the consumer protocol."""
        return CONSUMER in {*self.protocols.values(), *self.changes.values()}


def taken_out(document: Mapping[str, Any]) -> tuple[dict[str, Any], Asides]:
    """The document without it, and what was in it; anything else that is wrong with the document stays there."""
    rest, asides = deepcopy(dict(document)), Asides()
    for name, group in (rest.get("groups") or {}).items():
        asides.protocols[name] = group.pop("protocol", CLASSIC)
        given = group.pop("group_config", {})
        asides.group_config[name] = {key: str(value) for key, value in given.items()}
        topics = group.get("topics")
        if isinstance(topics, dict) and "re2" in topics:
            asides.patterns[name] = topics["re2"]
            group["topics"] = {"pattern": topics["re2"]}
    for position, entry in enumerate(rest.get("timeline") or []):
        config = (entry.get("set_config") or {}).get("config") or {}
        if _PROTOCOL in config:
            asides.changes[position] = config.pop(_PROTOCOL)
    return rest, asides
