"""Random groups that change: members come, go, restart and subscribe anew; topics are made, grow and are deleted.

What members own is the business of `classic_chain` and `target_chain`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from groupsim.assignors.java.ordering import java_sorted
from tests.oracle.crowded_names import CrowdedNames
from tests.oracle.drawn_names import DrawnNames

Runs = list[list[Any]]
RACKS = ("rack-a", "rack-b", "rack-c", "rack-d")
_SIZES = {"tiny": (3, 6, 4), "small": (5, 9, 8), "medium": (18, 24, 24), "large": (25, 40, 50), "wide": (2, 1500, 12)}
"""At most so many topics, partitions each, members."""
_HOW_OFTEN = (40, 38, 18, 2)
_WIDE = 3
"""How often in a hundred; not where a leader assigns, whose sticky assignors can take minutes for so many."""
_CROWDS = ((3, 12, 16), (12, 3, 16), (24, 4, 40), (3, 40, 200), (200, 2, 24))
"""The same where names share buckets."""


@dataclass
class Topic:
    """A topic, or one that is no more but is still owned.

    Parameters
    ----------
    partitions : int
    id : str
        As `Uuid.toString()` prints it.
    racks : list of list of (str or None), optional
        Of each partition's replicas.
    """

    partitions: int
    id: str
    racks: list[list[str | None]] | None


@dataclass
class Member:
    """A member as the group sees it.

    Parameters
    ----------
    id : str
    instance, rack : str, optional
    topics : list of str
        Its subscription.
    runs : list
        What it was assigned last, in that order.
    generation : int, optional
        When, as it says when it joins; None once it was told that it is no member.
    remembers : int, optional
        When, as its assignor remembers.
    habit : str
        How its client departs from today's: see `classic_chain`.
    """

    id: str
    instance: str | None
    rack: str | None
    topics: list[str]
    runs: Runs = field(default_factory=list)
    generation: int | None = None
    remembers: int | None = None
    habit: str = ""


class ChangingGroup:
    """A group in which one thing after another happens by lot.

    Parameters
    ----------
    lot : random.Random
    racks : bool
        Whether there may be racks.
    led : bool
        Whether it takes a member to lead an assignment; otherwise all may leave.
    crowded : bool
        Whether many names share buckets of Java's hash tables.

    Attributes
    ----------
    topics : dict of str to Topic
    members : list of Member
    on_restart : callable
        What a member that is back under a new id has of the one before; by default nothing.
    on_deletion : callable
        Called with the name of a topic before it is deleted.
    """

    def __init__(self, lot: random.Random, *, racks: bool, led: bool, crowded: bool) -> None:
        self.lot, self.led = lot, led
        most = _SIZES[lot.choices(list(_SIZES), [*_HOW_OFTEN, 0 if led else _WIDE])[0]]
        if crowded:
            most = lot.choice(_CROWDS if led else (*_CROWDS, _SIZES["wide"]))
        self.most_topics, self.most_partitions, self.most_members = most
        self.racks = list(RACKS[: lot.randint(1, 4)]) if racks and lot.random() < 0.6 else []
        self.replicas = lot.choice([1, 1, 2, 3])
        self.static = lot.choice([0.0, 0.0, 0.5, 1.0])
        self.instances = lot.choice([3, 1000]) if crowded else 1000
        self.shape = lot.choice(["equal", "equal", "equal", "random", "nested", "disjoint", "one-odd", "some-empty"])
        self.usual_count = lot.randint(1, self.most_partitions) if lot.random() < 0.3 else None
        self.names = (CrowdedNames if crowded else DrawnNames)(lot, self.most_topics)
        self.topics: dict[str, Topic] = {}
        self.members: list[Member] = []
        self.on_restart: Callable[[Member, Member], None] = lambda old, new: None
        self.on_deletion: Callable[[str], None] = lambda name: None
        for _ in range(lot.randint(1, self.most_topics)):
            self.create_topic()
        for _ in range(lot.randint(1, self.most_members)):
            self.join()

    # --- topics -------------------------------------------------------------------------------------------------------

    def partition_racks(self) -> list[str | None]:
        lot = self.lot
        if lot.random() < 0.05:
            return []
        chosen: list[str | None] = list(lot.sample(self.racks, min(self.replicas, len(self.racks))))
        if lot.random() < 0.05:
            chosen.append(None)
        return chosen

    def create_topic(self) -> None:
        """A topic, often one that some subscribe to already; now and then deleted and made anew at once."""
        name, lot = self.names.topic_name(), self.lot
        if name in self.topics:
            self.on_deletion(name)
        partitions = self.usual_count or lot.randint(1, self.most_partitions)
        racks = [self.partition_racks() for _ in range(partitions)] if self.racks and lot.random() < 0.9 else None
        self.topics[name] = Topic(partitions, self.names.uuid(), racks)

    def delete_topic(self) -> None:
        if self.topics:
            name = self.lot.choice(sorted(self.topics))
            self.on_deletion(name)
            del self.topics[name]

    def add_partitions(self) -> None:
        if self.topics:
            topic = self.topics[self.lot.choice(sorted(self.topics))]
            more = self.lot.randint(1, self.most_partitions)
            topic.partitions += more
            if topic.racks is not None:
                topic.racks += [self.partition_racks() for _ in range(more)]

    def move_replicas(self) -> None:
        for topic in self.topics.values():
            if topic.racks is not None and self.lot.random() < 0.5:
                topic.racks = [self.partition_racks() for _ in topic.racks]

    # --- members ------------------------------------------------------------------------------------------------------

    def subscription(self, number: int) -> list[str]:
        """Names for the member of this number, in no order; some are unknown."""
        lot = self.lot
        names = java_sorted({*self.topics, *self.names.unknown})
        match self.shape:
            case "random":
                names = lot.sample(names, lot.randint(min(1, len(names)), len(names)))
            case "nested":
                names = names[: number % (len(names) + 1) + 1]
            case "disjoint":
                names = names[number % 3 :: 3]
            case "one-odd" if not number % 7:
                names = lot.sample(names, lot.randint(0, len(names)))
            case "some-empty" if lot.random() < 0.3:
                names = []
        return lot.sample(names, len(names))

    def join(self) -> None:
        lot = self.lot
        fresh = self.names.member_id()
        instance = f"{lot.choice('ab')}-{self.names.numbers % self.instances}" if lot.random() < self.static else None
        rack = lot.choice([None, "", "rack-x", *self.racks * 5]) if self.racks else None
        self.members.append(Member(fresh, instance, rack, self.subscription(len(self.members))))

    def join_many(self) -> None:
        for _ in range(self.lot.randint(1, max(1, self.most_members // 2))):
            self.join()

    def leave(self) -> None:
        if len(self.members) > self.led:
            self.members.remove(self.lot.choice(self.members))

    def leave_many(self) -> None:
        for _ in range(self.lot.randint(1, max(1, len(self.members) - 1))):
            self.leave()

    def restart(self, member: Member | None = None) -> None:
        """A member is back under a new id, at the end; a static one has its instance id still."""
        if not self.members:
            return
        old = member or self.lot.choice(self.members)
        new = Member(self.names.member_id(), old.instance, old.rack, old.topics)
        if self.racks and self.lot.random() < 0.3:
            new.rack = self.lot.choice(self.racks)
        self.on_restart(old, new)
        self.members.remove(old)
        self.members.append(new)

    def restart_all(self) -> None:
        for member in list(self.members):
            self.restart(member)

    def subscribe(self) -> None:
        if self.members:
            number = self.lot.randrange(len(self.members))
            names = list(self.topics)
            chosen = self.lot.sample(names, self.lot.randint(0, len(names)))
            self.members[number].topics = self.subscription(number) if self.lot.random() < 0.5 else chosen

    def subscribe_all(self) -> None:
        """As after a new release, or when a pattern finds new topics."""
        if self.lot.random() < 0.3:
            self.shape = self.lot.choice(["equal", "random", "nested", "disjoint", "one-odd", "some-empty"])
        for number, member in enumerate(self.members):
            member.topics = self.subscription(number)

    def nothing(self) -> None:
        """They join again as they are."""

    def change(self) -> str:
        """Let something happen, and say what."""
        chances: dict[Callable[[], None], int] = {
            self.join: 5, self.join_many: 3, self.leave: 5, self.leave_many: 3, self.restart: 4, self.restart_all: 1,
            self.subscribe: 4, self.subscribe_all: 4, self.create_topic: 3, self.delete_topic: 2,
            self.add_partitions: 4, self.move_replicas: 1, self.nothing: 3,
        }  # fmt: skip
        happened = self.lot.choices(list(chances), list(chances.values()), k=self.lot.choice([1, 1, 1, 2, 3]))
        for event in happened:
            event()
        return ", ".join(event.__name__.replace("_", " ") for event in happened)
