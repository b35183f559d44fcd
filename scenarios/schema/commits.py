"""``processing.commit`` of a scenario file: when an application commits, and whether it waits for the answer."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, TypeAlias

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from groupsim.scenarios.files.base_model import refusal
from groupsim.scenarios.schema.distributions import DURATION_SCHEMA
from groupsim.scenarios.schema.durations import format_duration, parse_duration

_PLAIN = ("auto", "after_batch", "before_processing", "none", "outside")
_TOLD = (
    "auto, none, after_batch, before_processing, outside, {async: batch}, {async: record}, {async: 5s},"
    " {sync: batch}, {sync: record}, {sync: 5s} or {sync: on_revoke}; an async one can have retry: true"
)


class Commit(NamedTuple):
    """How an application commits.

    Parameters
    ----------
    how : str
        A plain name, or ``sync`` or ``async``.
    when : str
        Of those two: batch, record, on_revoke or every.
    every_us : int, microseconds
        With every.
    again : bool
        A callback commits again what has failed for now; async only.
    """

    how: str
    when: str = ""
    every_us: int = 0
    again: bool = False

    def fields(self) -> dict[str, Any]:
        """Of `sim.model.Processing`."""
        if not self.when:
            return {"commit": self.how}
        if self.when == "on_revoke":
            return {"commit": "none", "commit_on_revoked": True}
        return {
            "commit": "after_batch", "commit_every_us": self.every_us, "commit_waits": self.how == "sync",
            "commit_each_record": self.when == "record", "commit_again": self.again,
        }  # fmt: skip


AUTO = Commit("auto")


def _commit(value: Any) -> Commit:
    if isinstance(value, Commit):
        return value
    if value in _PLAIN:
        return Commit(str(value))
    if isinstance(value, dict) and value.get("retry") is True and "async" in value:
        plain = _commit({how: when for how, when in value.items() if how != "retry"})
        return Commit("async", plain.when or "batch", plain.every_us, again=True)
    if isinstance(value, dict) and len(value) == 1:
        ((how, when),) = value.items()
        if (how, when) == ("async", "batch"):
            return Commit("after_batch")
        if (how, when) in (("sync", "batch"), ("sync", "record"), ("async", "record"), ("sync", "on_revoke")):
            return Commit(how, when)
        if how in ("sync", "async") and not str(when)[:1].isalpha():
            return Commit(how, "every", _interval_us(how, when))
    raise refusal(f"must be {_TOLD}")


def _interval_us(how: str, when: Any) -> int:
    try:
        every_us = parse_duration(when)
    except ValueError as reason:
        raise refusal(f"{{{how}: {when}}}: {reason}; or must be {_TOLD}") from None
    if not every_us:
        raise refusal(f"{{{how}: {when}}}: must be more than nothing; {{{how}: batch}} is after each")
    return every_us


def _written(value: Commit) -> Any:
    if not value.when:
        return value.how
    when = format_duration(value.every_us) if value.when == "every" else value.when
    return {value.how: when} | ({"retry": True} if value.again else {})


CommitField: TypeAlias = Annotated[
    Commit,
    BeforeValidator(_commit),
    PlainSerializer(_written),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": list(_PLAIN)},
                {
                    "type": "object",
                    "properties": {
                        "sync": {"anyOf": [{"enum": ["batch", "record", "on_revoke"]}, DURATION_SCHEMA]},
                        "async": {"anyOf": [{"enum": ["batch", "record"]}, DURATION_SCHEMA]},
                    },
                    "minProperties": 1,
                    "maxProperties": 1,
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {
                        "async": {"anyOf": [{"enum": ["batch", "record"]}, DURATION_SCHEMA]},
                        "retry": {"const": True},
                    },
                    "required": ["async", "retry"],
                    "additionalProperties": False,
                },
            ]
        }
    ),
]
