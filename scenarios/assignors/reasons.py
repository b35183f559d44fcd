"""Why a partition moved or stayed when something happened to a group, for those who name all three."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from groupsim.assignors import Assignor, GroupSnapshot, InvalidSnapshot
from groupsim.assignors.evaluation.change import Change
from groupsim.assignors.evaluation.events import Event, usual_events
from groupsim.assignors.evaluation.explain import EXPLAINED, decided_by_racks
from groupsim.assignors.evaluation.own_reasons import EVERYBODY
from groupsim.assignors.evaluation.trials import FULL, carry_out, settle
from groupsim.scenarios.assignors.trials import contenders
from groupsim.scenarios.errors import nearest
from groupsim.sim.errors import ConfigError


def explained(label: str, group: GroupSnapshot, many: int, event: str, partition: str) -> dict[str, Any]:
    """Who had a partition, who has it after an event, and the rules that made it so, as plain data.

    Parameters
    ----------
    label : str
        Of the assignor, such as ``sticky`` or ``server:uniform``.
    group : GroupSnapshot
        Nobody owns anything.
    many : int
        How many join or leave where many do.
    event : str
        ``full`` for the first assignment, or such as ``join-one``, ``leave-one-first``.
    partition : str
        Such as ``orders-7``.

    Raises
    ------
    ConfigError
        The assignor, event or partition is unknown, or the group is one whose rules are not told.
    """
    reason = EXPLAINED[_chosen(label, EXPLAINED, "assignor that is explained (the rules of your own are in its code)")]
    events = {_slug(one.name): one for one in [Event(FULL), *usual_events(group, many)]}
    happening = events[_chosen(event, events, "event of this group")]
    if not group.subscriptions.equal:
        raise ConfigError("explained are groups whose members all read the same topics")
    if decided_by_racks(label, group):
        raise ConfigError(f"explained is what {label} does where racks decide nothing: leave out rack or replicas")
    make = next(one.make for one in contenders() if one.label == label)
    change = _change(make, group, happening)
    position = _position(change.after, partition)
    before, (after, rules) = change.owner_before(position), reason(change, position)
    if after == EVERYBODY and before is not None:
        before = EVERYBODY
    told = {"assignor": label, "event": event, "partition": partition, "before": before, "after": after}
    return {**told, "moved": before not in (None, after), "rules": rules}


def _slug(event: str) -> str:
    return event.replace(", ", "-").replace(" ", "-")


def _chosen(name: str, known: Iterable[str], noun: str) -> str:
    if name in known:
        return name
    raise ConfigError(f"{name!r} is no {noun}; {nearest(name, known)}known: {', '.join(known)}")


def _change(make: Callable[[], Assignor], group: GroupSnapshot, event: Event) -> Change:
    settled = settle(make, group)
    if event.name == FULL:
        return Change(None, None, group, settled.assignment)
    outcome, _, assignment = carry_out(settled, event)
    assert outcome.asked is not None, "one event, no mean"
    return Change(settled.group, settled.assignment, outcome.asked, assignment)


def _position(group: GroupSnapshot, partition: str) -> int:
    topics = group.topics
    name, _, number = partition.rpartition("-")
    try:
        return topics.position(name, int(number))
    except (InvalidSnapshot, ValueError):
        spans = [f"{one}-0 to {one}-{count - 1}" for one, count in zip(topics.names, topics.counts, strict=True)]
        more = f" and {len(spans) - 3} more topics" if len(spans) > 3 else ""
        raise ConfigError(f"there is no partition {partition!r}; there are {', '.join(spans[:3])}{more}") from None
