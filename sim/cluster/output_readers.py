"""Groups that read what other groups produce: what comes to an output topic, and who is told.

Readers of ``read_committed`` get what is below the last stable offset and not aborted, those of ``read_uncommitted``
all below the high watermark (``KafkaApis.handleFetchRequest``, ``UnifiedLog.read``, Kafka 4.4). What comes at an
instant is one event for each topic and level that somebody reads, and it precedes what readers do there from then on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from groupsim.sim.arrivals import Arrivals
from groupsim.sim.books.transactions import LEVELS
from groupsim.sim.catalog import Catalog
from groupsim.sim.cluster.group_host import GroupHost
from groupsim.sim.cluster.interface import Reader
from groupsim.sim.cluster.output_log import OutputLog, WrittenBatch
from groupsim.sim.kernel.environment import Environment, Kind, process_key
from groupsim.sim.model import Group, Scenario, Subscribe, Subscription
from groupsim.sim.protocol.transactions.messages import TopicPartition
from groupsim.sim.randomness import name_hash


def outputs_of(scenario: Scenario) -> frozenset[str]:
    """Topics that groups produce to."""
    return frozenset(one.produces.to for one in scenario.groups if one.produces is not None)


def outputs_read(scenario: Scenario, spec: Group, outputs: Collection[str]) -> set[str]:
    """Those of these topics that members of a group may read some time."""
    return {topic for topic in outputs if any(one.takes_in(topic) for one in _subscriptions(scenario, spec))}


def _groups_by_output(scenario: Scenario) -> dict[str, list[str]]:
    """Topic that groups produce to -> names of those that may read it some time, sorted; none without."""
    outputs = outputs_of(scenario)
    found: dict[str, list[str]] = {}
    for spec in sorted(scenario.groups, key=lambda group: group.name):
        for topic in outputs_read(scenario, spec, outputs):
            found.setdefault(topic, []).append(spec.name)
    return found


def _subscriptions(scenario: Scenario, spec: Group) -> Iterator[Subscription]:
    """All that members of a group ever ask for, as far as targets say whose they are."""
    yield spec.subscription
    yield from (one.subscription for one in spec.overrides if one.subscription is not None)
    for entry in scenario.timeline:
        verb = entry.verb
        if isinstance(verb, Subscribe) and (verb.target.kind != "group" or verb.target.name == spec.name):
            yield verb.subscription


class OutputReaders:
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
    """

    def __init__(
        self, env: Environment, scenario: Scenario, catalog: Catalog, groups: Mapping[str, GroupHost],
        readers: Mapping[str, Sequence[Reader]],
    ) -> None:  # fmt: skip
        self._env = env
        self._reading_some_time = _groups_by_output(scenario)
        self.arrivals = {topic: {level: Arrivals() for level in LEVELS} for topic in sorted(self._reading_some_time)}
        catalog.arrivals.update(self.arrivals)
        self._groups = groups
        self._readers = readers
        self._shown: dict[tuple[TopicPartition, str], int] = {}
        """How many entries of a partition's log readers of a level have passed."""
        self._told: set[tuple[str, str]] = set()
        """Topics and levels of which an event is under way."""

    def show(self, partition: TopicPartition, log: OutputLog) -> None:
        """Its high watermark may have moved, or its last stable offset."""
        topic = partition[0]
        for level, arrivals in self.arrivals[topic].items():
            if self._pass_over(partition, level, log, arrivals):
                self._tell(topic, level)

    def _pass_over(self, partition: TopicPartition, level: str, log: OutputLog, arrivals: Arrivals) -> bool:
        """What readers of a level see for the first time; whether there are records among it."""
        is_committed, now = level == "read_committed", self._env.now
        end, first = log.log.end_for(is_committed=is_committed), self._shown.get((partition, level), 0)
        passed, has_records = first, False
        for one in log.written[first:]:
            if one.end > end:
                break
            passed += 1
            if isinstance(one, WrittenBatch) and not (is_committed and log.is_aborted(one)):
                arrivals.show(now, partition[1], one.at_us, one.batch.records)
                has_records = True
        self._shown[partition, level] = passed
        return has_records

    def _tell(self, topic: str, level: str) -> None:
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
            mask = group.books.partitions.mask(group.books.ledger.arrive(what[0]))
            for reader in self._readers[name]:
                if reader.reads(mask):
                    reader.receive(now)
