"""Why a partition is where it is by groupsim's own assignors, where all members read the same topics."""

from __future__ import annotations

from typing import Final

import numpy as np

from groupsim.assignors.core.racks import rack_numbers
from groupsim.assignors.evaluation.change import NO_OWNER, Change
from groupsim.assignors.own.random_assignor import generation_of, lots, lots_order

EVERYBODY: Final = "every member"
_SEED: Final = 0
"""What assignors draw from if nobody says otherwise."""


def drawn(change: Change, position: int) -> tuple[str, list[str]]:
    """The lot of a partition under `random`; who gets it, and why."""
    group, topics = change.after, change.after.topics
    generation = generation_of(group)
    lot = lots(topics, int(topics.topic_of[position]), _SEED, generation)[topics.number_of[position]]
    place = int(lot % np.uint64(group.n_members))
    taker = group.member_ids[lots_order(group)[place]]
    made_of = f"(a hash of topic, number, seed {_SEED} and generation {generation})"
    told = [
        "Every generation draws lots for every partition anew: who had it does not matter.",
        f"The lot of {topics.label(position)} {made_of} fell on number {place + 1} of {group.n_members} members in the"
        f" order of their ids: {taker}.",
    ]
    had = change.owner_before(position)
    return taker, [*told, NO_OWNER if had is None else f"Before, another generation's lot fell on {had}."]


def shared(change: Change, position: int) -> tuple[str, list[str]]:
    """Everybody has it under `broadcast`."""
    had, have = change.owners_before(position), change.after.member_ids
    count = "the only member reads" if len(have) == 1 else f"all {len(have)} members read"
    told = [f"Every member gets all partitions of its topics: {count} {change.after.topics.label(position)}."]
    if not had:
        return EVERYBODY, [*told, NO_OWNER]
    told += [f"{name} has left: nobody takes its place." for name in had if name not in have]
    told += [f"{name} has joined and reads it too: nobody loses it." for name in have if name not in had]
    return EVERYBODY, told


def nearby(change: Change, position: int) -> tuple[str, list[str]]:
    """How `leader-rack` decides: counts, then racks, then what can stay; each as good as can be."""
    group, owner, held = change.after, change.settled.owner, change.held()
    assert owner is not None, "partitions have one owner each"
    quota, extra = divmod(group.topics.n_partitions, group.n_members)
    one_more = f", {extra} of them one more" if extra else ""
    shares = f"{group.topics.n_partitions} partitions over {group.n_members} members are {quota} each{one_more}"
    told = [f"First counts: {shares}."]
    told += _racks(change, position)
    had, owned, stay = int(held[position]), int((held >= 0).sum()), int(((held >= 0) & (held == owner)).sum())
    if had < 0:
        told.append(change.missing(position))
    if owned:
        told.append(
            f"Last the past: {'all' if stay == owned else f'{stay} of'} {owned} partitions that members had stay."
        )
    if stay < owned:
        told[-1] += " More cannot."
    if had >= 0:
        told.append(f"{group.member_ids[had]} had {_kept(change, position)}")
    told.append("What is left open goes by name: members by id, partitions by topic and number.")
    return group.member_ids[owner[position]], told


def _racks(change: Change, position: int) -> list[str]:
    """What the racks of leaders and members have to say."""
    group, owner = change.after, change.settled.owner
    assert owner is not None, "partitions have one owner each"
    of_member, of_leader = rack_numbers(group)
    near = (of_leader >= 0) & (of_leader == of_member[owner])
    if not np.isin(of_leader[of_leader >= 0], of_member).any():
        return ["Then racks: no member is known to be in the rack of a leader, so they decide nothing."]
    told = f"Then racks: {int(near.sum())} of {len(near)} partitions are read from a leader nearby; more cannot be."
    if of_leader[position] < 0:
        return [told, f"The rack of the leader of {group.topics.label(position)} is not known."]
    neighbours = int((of_member == of_leader[position]).sum())
    assert group.topics.racks is not None, "the leader's rack is known"
    where = f"The leader of {group.topics.label(position)} is in rack {group.topics.racks[position][0]}"
    name = group.member_ids[owner[position]]
    if near[position]:
        return [told, f"{where}, and so is {name}."]
    if not neighbours:
        return [told, f"{where}, where no member is."]
    return [told, f"{where}; those {neighbours} there have their shares without it, so {name} reads it from afar."]


def _kept(change: Change, position: int) -> str:
    """Whether a member keeps a partition, and what it had and has."""
    owner, held = change.settled.owner, change.held()
    assert owner is not None, "partitions have one owner each"
    had = int(held[position])
    size, share, kept = int((held == had).sum()), int((owner == had).sum()), int(((owner == had) & (held == had)).sum())
    verdict = "is among them" if owner[position] == had else "is not among them"
    return f"{size} and has {share} now, {kept} of what it had: {change.after.topics.label(position)} {verdict}."
