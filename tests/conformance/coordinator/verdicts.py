"""What came of each conversation, and the table of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from tests.conformance.coordinator.fields import Difference, Unplayable, known
from tests.conformance.coordinator.player import Player

_PLAYED = ("builder", "classic", "consumer", "mixed", "offsets")
"""Kinds of which at least a part is modelled."""

_FIELDS = frozenset(
    ["name", "kind", "display", "needs", "v44", "start_ms", "config", "topics", "hashes", "generated", "assignors",
     "share_assignor", "initial", "steps"]
)  # fmt: skip
_NEEDS = frozenset(
    ["log_append", "append_failure", "set_state", "mock_assignor", "no_op_assignor", "server_assignor", "tasks",
     "rollback", "update_group_config", "internal_call", "mock_authorizer", "timer_tie", "java_hash_order"]
)  # fmt: skip

Outcome = Literal["pass", "fail", "skipped"]


class Verdict(NamedTuple):
    """What came of one conversation; ``why`` it fails or is skipped."""

    name: str
    kind: str
    outcome: Outcome
    why: str = ""


def play(conversation: dict[str, Any]) -> Verdict:
    """Play one, if it is about what is modelled."""
    name, kind = conversation["name"], conversation["kind"]
    if kind not in _PLAYED:
        return Verdict(name, kind, "skipped", "not modelled yet")
    if "mock_group" in conversation["needs"]:
        return Verdict(name, kind, "skipped", "mock_group: the group is a stub")
    if strange := {*conversation["needs"]} - _NEEDS:
        return Verdict(name, kind, "skipped", f"not modelled yet: need {min(strange)}")
    try:
        known("the conversation", conversation, _FIELDS)
        Player(conversation).play()
    except Unplayable as reason:
        return Verdict(name, kind, "skipped", f"not modelled yet: {reason}")
    except Difference as difference:
        return Verdict(name, kind, "fail", str(difference))
    except Exception as error:  # a machine that breaks down is as wrong as one that differs
        return Verdict(name, kind, "fail", f"{type(error).__name__}: {error}")
    return Verdict(name, kind, "pass")


def play_all(conversations: Sequence[dict[str, Any]]) -> list[Verdict]:
    """Play all of them."""
    return [play(one) for one in conversations]


def table(verdicts: Sequence[Verdict]) -> list[str]:
    """Lines: a row a kind, why some are skipped, and what differs."""
    lines = [f"{'kind':<10}{'pass':>6}{'fail':>6}{'skipped':>9}"]
    for kind in sorted({one.kind for one in verdicts}):
        count = Counter(one.outcome for one in verdicts if one.kind == kind)
        lines.append(f"{kind:<10}{count['pass']:>6}{count['fail']:>6}{count['skipped']:>9}")
    skipped = Counter((one.kind, one.why) for one in verdicts if one.outcome == "skipped")
    lines += ["", "Skipped:"] if skipped else []
    lines += [f"  {kind}, {number}: {why}" for (kind, why), number in sorted(skipped.items())]
    failed = [one for one in verdicts if one.outcome == "fail"]
    lines += ["", "Differ:"] if failed else []
    return lines + [f"  {one.name}: {one.why}" for one in failed]
