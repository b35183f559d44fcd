"""A rolling restart in real time, batch by batch; what `sim.timeline.rollout` does in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from groupsim.sim.model import RollingRestart
from groupsim.sim.timeline.rollout import PROBE_US
from tests.oracle.cast import Member
from tests.oracle.timetable import Firing

if TYPE_CHECKING:
    from tests.oracle.play import Play

StopAndStart = Callable[["Play", Firing, Member, int], Coroutine[Any, Any, None]]


async def roll(play: Play, firing: Firing, stop_and_start: StopAndStart) -> None:
    """Replace batch after batch of the members that are open."""
    verb = firing.entry.verb
    assert isinstance(verb, RollingRestart)
    members = [one for one in (play.cast.members[name] for name in firing.targets) if one.is_open]
    if verb.surge:
        await _with_surge(play, firing, verb, members)
        return
    for first in range(0, len(members), verb.batch):
        batch = members[first : first + verb.batch]
        before = {one.name: one.incarnation for one in batch}
        for member in batch:
            down_us = play.streams.draw(verb.down, "down", firing.entry.id, "", member.name)(0)
            play.spawn(stop_and_start(play, firing, member, down_us))
        await _ready(play, verb, batch, before)


async def _with_surge(play: Play, firing: Firing, verb: RollingRestart, members: Sequence[Member]) -> None:
    """New before old: spare names start, and each name that has stopped is the next spare."""
    spare = [one for one in play.cast.of_group(verb.target.name) if not one.is_running][: verb.surge]
    for first in range(0, len(members), max(len(spare), 1)):
        old = members[first : first + len(spare)]
        new = spare[: len(old)]
        before = {one.name: one.incarnation for one in new}
        for member in new:
            play.spawn(play.start(member, firing))
        await _ready(play, verb, new, before)
        for member in old:
            play.note(firing, verb.stop, member.name)
            if verb.stop == "kill":
                play.kill(member)
            else:
                await play.close(member, verb.grace_us)
        spare = list(old)


async def _ready(play: Play, verb: RollingRestart, batch: Sequence[Member], before: dict[str, int]) -> None:
    """Wait until the next batch may begin."""
    if verb.next_ == "gap":
        await play.until(play.elapsed_us() + verb.gap_us)
        return
    while not all(_is_ready(play, verb, one, before[one.name]) for one in batch):
        await play.until(play.elapsed_us() + PROBE_US)


def _is_ready(play: Play, verb: RollingRestart, member: Member, old: int) -> bool:
    is_fresh = member.is_open and member.incarnation > old
    if not is_fresh or verb.next_ == "running":
        return is_fresh
    is_assigned = bool(member.reading.owned) and member.reading.is_fetching
    is_stable = play.broker.groups.state(play.group_id(member.plan.group)) == "Stable"
    return is_assigned and (verb.next_ == "assigned" or is_stable)
