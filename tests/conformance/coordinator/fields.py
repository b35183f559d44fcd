"""What of a conversation is not compared, and the names and numbers of Kafka's errors."""

from __future__ import annotations

from typing import Any

from groupsim.sim.protocol.messages import Error

IGNORED = {
    "throttleTimeMs": "quotas are not modelled",
    "clientHost": "hosts of clients decide nothing and are not modelled",
    "client_host": "the same",
    "errorMessage": "texts are not modelled; the code is compared",
    "authorizedOperations": "access control is not modelled",
    "leaderEpoch": "leader epochs are not modelled",
    "committedLeaderEpoch": "the same",
    "metadata": "of a committed offset: only its length decides anything",
    "topicId": "topics are known by name",
    "refresh_deadline_ms": "when metadata are looked at again shows in what the next heartbeat does",
    "refresh_epoch": "the same",
    "tasks": "what is running shows in `run_tasks`",
    "polled": "says whether timers have run, and decides what is played",
    "awaits_append of an emptied group's record": "Kafka only logs a warning if that append fails",
    "timers that cannot change anything": "of a group that is Dead or gone; a session of nobody's; join outside "
    "PreparingRebalance; sync when nobody is waited for. Kafka lets them run to no effect, here they do not exist",
}
"""Field, or what it is about -> why it is not compared. Every other field that a conversation has is."""

CODES = {
    -1: Error.UNKNOWN_SERVER_ERROR,
    0: Error.NONE,
    12: Error.OFFSET_METADATA_TOO_LARGE,
    15: Error.COORDINATOR_NOT_AVAILABLE,
    16: Error.NOT_COORDINATOR,
    22: Error.ILLEGAL_GENERATION,
    23: Error.INCONSISTENT_GROUP_PROTOCOL,
    25: Error.UNKNOWN_MEMBER_ID,
    26: Error.INVALID_SESSION_TIMEOUT,
    27: Error.REBALANCE_IN_PROGRESS,
    35: Error.UNSUPPORTED_VERSION,
    42: Error.INVALID_REQUEST,
    68: Error.NON_EMPTY_GROUP,
    69: Error.GROUP_ID_NOT_FOUND,
    79: Error.MEMBER_ID_REQUIRED,
    81: Error.GROUP_MAX_SIZE_REACHED,
    82: Error.FENCED_INSTANCE_ID,
    86: Error.GROUP_SUBSCRIBED_TO_TOPIC,
    88: Error.UNSTABLE_OFFSET_COMMIT,
    110: Error.FENCED_MEMBER_EPOCH,
    111: Error.UNRELEASED_INSTANCE_ID,
    112: Error.UNSUPPORTED_ASSIGNOR,
    113: Error.STALE_MEMBER_EPOCH,
    128: Error.INVALID_REGULAR_EXPRESSION,
}
"""``Errors`` of Kafka's wire; one that is missing here fails every comparison by its number."""


class Unplayable(Exception):
    """The conversation is about something that groupsim does not model."""


class Difference(Exception):
    """Kafka and the machine do not say the same."""


def code(number: int) -> str:
    """The name of an error by its number."""
    return CODES[number].value if number in CODES else f"error {number}"


def expect(what: str, expected: Any, found: Any) -> None:
    """Raise `Difference` unless both are equal; names the first place where they are not."""
    if isinstance(expected, dict) and isinstance(found, dict) and expected.keys() == found.keys():
        for key, value in expected.items():
            expect(f"{what}.{key}", value, found[key])
    elif expected != found or type(expected) is not type(found):
        raise Difference(f"{what}: Kafka has {expected!r}, the machine {found!r}")


def known(what: str, fields: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    """The fields that are compared.

    Raises
    ------
    Unplayable
        There is one of which nothing is known.
    """
    if strange := fields.keys() - names - IGNORED.keys():
        raise Unplayable(f"field {sorted(strange)[0]} of {what}")
    return {name: value for name, value in fields.items() if name not in IGNORED}
