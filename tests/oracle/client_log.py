"""What a consumer's own log says of its requests, generations and commits, as facts.

Texts are those of ``AbstractCoordinator`` and ``ConsumerCoordinator``, 4.4.0, at DEBUG (OffsetCommit: TRACE). A request
becomes a fact when it is handed to the network; an answer that refuses it becomes another one, with the error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_SENT = (
    ("Sending FindCoordinator", "FindCoordinator"),
    ("Sending JoinGroup", "JoinGroup"),
    ("Sending leader SyncGroup", "SyncGroup"),
    ("Sending follower SyncGroup", "SyncGroup"),
    ("Sending Heartbeat", "Heartbeat"),
    ("Sending OffsetCommit", "OffsetCommit"),
)
_REFUSED = (
    ("Group coordinator lookup failed", "FindCoordinator"),
    ("FindCoordinator request failed", "FindCoordinator"),
    ("JoinGroup failed", "JoinGroup"),
    ("SyncGroup failed", "SyncGroup"),
    ("Attempt to heartbeat", "Heartbeat"),
    ("Ignoring heartbeat response", "Heartbeat"),
    ("LeaveGroup request with", "LeaveGroup"),
    ("OffsetCommit failed", "OffsetCommit"),
)
_JOINED = re.compile(
    r"Received successful JoinGroup response: .*?generationId=(\d+).*?leader='([^']*)'.*?memberId='([^']*)'"
)
_LEAVING = re.compile(r"Member \S* ?sending LeaveGroup request")
_STATE = re.compile(r"Member (\S+) with epoch (\S+) transitioned from \w+ to (\w+)\.")

_ERRORS = (
    ("MEMBER_ID_REQUIRED", ("MEMBER_ID_REQUIRED", "MemberIdRequired", "needs to have a valid member id")),
    ("REBALANCE_IN_PROGRESS", ("REBALANCE_IN_PROGRESS", "began another rebalance", "group is rebalancing",
                               "is already rebalancing")),
    ("FENCED_INSTANCE_ID", ("FENCED_INSTANCE_ID", "fenced", "same group.instance.id")),
    ("UNKNOWN_MEMBER_ID", ("UNKNOWN_MEMBER_ID", "not aware of this member")),
    ("ILLEGAL_GENERATION", ("ILLEGAL_GENERATION", "generation id is not valid")),
    ("INCONSISTENT_GROUP_PROTOCOL", ("INCONSISTENT_GROUP_PROTOCOL", "incompatible with those of existing members",
                                     "Inconsistent Protocol")),
    ("GROUP_MAX_SIZE_REACHED", ("GROUP_MAX_SIZE_REACHED", "reached its maximum", "maximum number of members",
                                "maximum size")),
    ("COORDINATOR_NOT_AVAILABLE", ("COORDINATOR_NOT_AVAILABLE", "coordinator is not available")),
    ("COORDINATOR_LOAD_IN_PROGRESS", ("COORDINATOR_LOAD_IN_PROGRESS", "is loading")),
    ("NOT_COORDINATOR", ("NOT_COORDINATOR", "not the correct coordinator", "not started or not valid")),
)  # fmt: skip
"""Error codes, and what the client writes of them: their names, or their messages (``Errors``)."""

_COMMIT_ERRORS = (
    ("RetriableCommitFailedException", ("retriable",)),
    ("RebalanceInProgressException", ("undergoing a rebalance", "executing a rebalance", "generation is already stale",
                                      "old generation is fenced")),
    ("FencedInstanceIdException", ("same group.instance.id", "Get fenced exception")),
    ("CommitFailedException", ("not part of an active group", "already rebalanced", "Commit cannot be completed",
                               "commit cannot be completed", "returned in poll() with max.poll.records")),
)  # fmt: skip
"""Exceptions of commits, and what of their messages tells them apart."""

_TELLING = 200
"""Characters of a map of offsets that tell one commit from another; long ones are cut in the middle."""


class ClientLog:
    """Follows the log of one incarnation of a member; times pass through as they are.

    Attributes
    ----------
    facts : list of dict
        So far, without the member's name. An answer can still put an error into a commit.
    """

    def __init__(self) -> None:
        self.facts: list[dict[str, Any]] = []
        self._epoch = 0
        self._is_preparing = False
        self._pending: list[tuple[str, dict[str, Any]]] = []

    def take(self, at_us: int, text: str) -> None:
        """Take in the next message."""
        if text.startswith("Executing onJoinPrepare"):
            self._is_preparing = True
        elif found := _JOINED.match(text):
            leads = found[2] == found[3]
            self._add("joined", at_us, generation=int(found[1]), member_id=found[3], leader=leads)
        elif "auto-commit" in text:
            self._auto_commit(at_us, text)
        elif found := _STATE.match(text):
            self._add("state", at_us, epoch=int(found[2]), state=found[3])
        elif _LEAVING.match(text):
            self._add("request", at_us, api="LeaveGroup", error=None)
        elif text.startswith("Request joining group due to: group is already rebalancing"):
            self._add("request", at_us, api="Heartbeat", error="REBALANCE_IN_PROGRESS")
        else:
            self._request(at_us, text)

    def hear(self, at_us: int, line: Mapping[str, Any]) -> None:
        """Take in the next line: a message of the log, or a request or an answer that the network tells."""
        match line["what"]:
            case "logged":
                self.take(at_us, line["text"])
            case "sent":
                self._sent(at_us, line)
            case "answered":
                self._answered(at_us, line)

    def _sent(self, at_us: int, line: Mapping[str, Any]) -> None:
        """A request of a member of the consumer protocol; a heartbeat says its epoch, and what it owns when it must."""
        told = {key: line[key] for key in ("epoch", "owned") if key in line}
        joins = {"member_id": line["member_id"]} if line.get("epoch") == 0 else {}
        self._add("request", at_us, api=line["api"], error=None, **told, **joins)

    def _answered(self, at_us: int, line: Mapping[str, Any]) -> None:
        """The answer to it: a refusal, an epoch that is new to the member, or a target."""
        if line["error"] is not None:
            self._add("request", at_us, api=line["api"], error=line["error"])
        elif line["api"] == "OffsetCommit":
            self._add("committed", at_us)
        elif "epoch" in line:
            is_new, self._epoch = line["epoch"] != self._epoch, line["epoch"]
            if is_new or "promised" in line:
                self._add("answer", at_us, epoch=line["epoch"], promised=line.get("promised"))

    def _request(self, at_us: int, text: str) -> None:
        for beginning, api in _SENT:
            if text.startswith(beginning):
                self._is_preparing = self._is_preparing and api != "JoinGroup"
                self._add("request", at_us, api=api, error=None)
        for beginning, api in _REFUSED:
            if text.startswith(beginning):
                self._add("request", at_us, api=api, error=named(text, _ERRORS))

    def _auto_commit(self, at_us: int, text: str) -> None:
        beginning, _, offsets = text.partition("auto-commit of offsets ")
        if offsets == "{}":
            return  # a member without partitions: nothing is sent
        if beginning.startswith("Sending"):
            kind = "close" if "synchronous" in beginning.split() else "revoke" if self._is_preparing else "auto"
            commit = self._add("commit", at_us, kind=kind, error=None)
            self._pending.append((offsets[:_TELLING], commit))
            return
        answered = [one for one in self._pending if one[0].startswith(offsets[: len(one[0])])]
        if answered:
            self._pending.remove(answered[0])
            if "failed" in offsets:
                answered[0][1]["error"] = named(offsets, _COMMIT_ERRORS)
            else:
                self._add("committed", at_us)

    def _add(self, what: str, at_us: int, **rest: Any) -> dict[str, Any]:
        self.facts.append({"what": what, "at_us": at_us, **rest})
        return self.facts[-1]


def named(text: str, names: tuple[tuple[str, tuple[str, ...]], ...]) -> str:
    """The name of an error that a message speaks of; the message itself where nobody has named it."""
    return next((name for name, signs in names if any(sign in text for sign in signs)), text[:120])
