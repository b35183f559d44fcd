"""Groups that read what is written request by request: what comes to such a topic, and who is told.

What comes at an instant is one event for each topic and level that somebody reads, and it precedes what readers do
there from then on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from groupsim.sim.arrivals import Arrivals
from groupsim.sim.books.producing.transactions import LEVELS
from groupsim.sim.catalog import Catalog
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.cluster.interface import Reader
from groupsim.sim.kernel.environment import Environment, Kind, process_key
from groupsim.sim.model import Scenario, appended_topics, outputs_of, topics_read
from groupsim.sim.protocol.transactions.messages import TopicPartition
from groupsim.sim.randomness import name_hash


def _readers_of(scenario: Scenario) -> dict[str, list[str]]:
    """Topic of which readers get what is appended -> names of groups that may read it some time; none without."""
    topics, found = appended_topics(scenario), dict[str, list[str]]()
    for spec in sorted(scenario.groups, key=lambda group: group.name):
        for topic in topics_read(scenario, spec, topics):
            found.setdefault(topic, []).append(spec.name)
    return found


class ArrivalNews:
    """Of one cluster.

    Parameters
    ----------
    env : Environment
    scenario : Scenario
    catalog : Catalog
        Gets room for what comes to topics that somebody reads.
    groups : mapping of str to GroupHost
    readers : mapping of str to sequence of Reader
        The consumers of each group.

    Attributes
    ----------
    arrivals : dict of (topic -> isolation level -> Arrivals)
        What is in no transaction is the same for every level.
    """

    def __init__(
        self, env: Environment, scenario: Scenario, catalog: Catalog, groups: Mapping[str, GroupHost],
        readers: Mapping[str, Sequence[Reader]],
    ) -> None:  # fmt: skip
        self._env = env
        self._reading_some_time = _readers_of(scenario)
        outputs = outputs_of(scenario)
        self.arrivals = {
            topic: {level: Arrivals() for level in LEVELS} if topic in outputs else dict.fromkeys(LEVELS, Arrivals())
            for topic in sorted(self._reading_some_time)
        }
        catalog.arrivals.update(self.arrivals)
        self._groups = groups
        self._readers = readers
        self._told: set[tuple[str, str]] = set()
        """Topics and levels of which an event is under way."""

    def show(self, partition: TopicPartition, batches: Iterable[Sequence[int]]) -> None:
        """Readers of all levels see these from now on: when the records of each batch were produced."""
        topic, number = partition
        for one in batches:
            self.arrivals[topic][LEVELS[0]].show(self._env.now, number, one)
        for level in LEVELS:
            self.tell(topic, level)

    def tell(self, topic: str, level: str) -> None:
        """Readers of a level see something of a topic for the first time."""
        if (topic, level) not in self._told and any(self._reading(topic, level)):
            self._told.add((topic, level))
            # Nobody can come too late: whatever is carried out now stays before it.
            key = max(process_key(name_hash("arrival", topic, level), Kind.FAULT), self._env.key)
            self._env.at(self._env.now, key, self._arrive, (topic, level))

    def _reading(self, topic: str, level: str) -> Iterator[str]:
        for name in self._reading_some_time[topic]:
            books = self._groups[name].books
            if books.ledger.isolation == level and topic in books.partitions.topics:
                yield name

    def _arrive(self, what: tuple[str, str]) -> None:
        """It has come, for every group that reads it at this level."""
        self._told.discard(what)
        now = self._env.now
        for name in self._reading(*what):
            group = self._groups[name]
            group.fast_path.settle()
            news = frozenset(group.books.ledger.arrive(what[0]).tolist())
            for reader in self._readers[name]:
                if reader.reads(news):
                    reader.receive(now)
