"""Exactly once beside unclean elections: each input is in the output once, or twice or never by a named cause.

Brokers die at random, and leaders are elected that lack something: of the input, of the output, of the offsets topic,
or, because it is asked for, of ``__transaction_state``. What readers get is read from the logs of the output topic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from groupsim.sim import Result
from groupsim.sim.catalog import Catalog
from groupsim.sim.cluster.groups.coordinator import partition_for
from groupsim.sim.cluster.topics.output_log import OutputLog, WrittenBatch
from groupsim.sim.config import BrokerConfig, ClientConfig, TransactionConfig
from groupsim.sim.model import Broker, ElectLeaders, Entry, Kill, Scenario, StartMembers, Target
from groupsim.sim.protocol.transactions.messages import TV1, TV2
from groupsim.sim.units import FOREVER, MS, S
from tests.property.test_exactly_once import faults
from tests.support.fidelity import differences
from tests.unit.sim.chained_scenes import COMMITTED, UNCOMMITTED, reader
from tests.unit.sim.scenes import delivered, entry, everybody
from tests.unit.sim.transactional_scenes import JITTER, SLOW_LOG, Readers, played, producing, transform

pytestmark = pytest.mark.property

HORIZON_S, BACK_S = 120, 80
TOPICS = ("t", "out")
INTERNAL = ("__consumer_offsets", "__transaction_state")


@st.composite
def accidents(draw: st.DrawFn) -> tuple[str, int, list[int]]:
    """A topic, the number of one of its partitions, and when its follower dies and its leader, and both are back.

    Often the leader is alone in sync when it dies, and the follower is back first.
    """
    topic, number = draw(st.sampled_from([*TOPICS, *INTERNAL])), draw(st.integers(0, 3))
    behind = draw(st.integers(5 * S, 20 * S))
    dead = behind + draw(st.sampled_from([S, 11 * S, 13 * S, 13 * S, 20 * S])) + draw(st.integers(0, S))
    back = dead + draw(st.sampled_from([100 * MS, 2 * S, 2 * S, 12 * S]))
    return topic, number, [behind, dead, back, back + draw(st.sampled_from([-MS, 20 * S, 30 * S]))]


def entries(accident: tuple[str, int, list[int]], of: Scenario, index: int) -> list[Entry]:
    """What happens to the first two replicas."""
    topic, number, (behind, dead, back, whole) = accident
    catalog = Catalog(of.topics, [one.id for one in of.cluster.brokers])
    if topic in INTERNAL:
        number = partition_for("g" if topic == INTERNAL[0] else f"g/{number % 3}", 50)
        leader, follower = catalog.offsets_replicas(number, 2)
    else:
        leader, follower = catalog.replicas(topic, number % of.topics[TOPICS.index(topic)].partitions)[:2]
    verbs = [
        (behind, Kill, follower),
        (dead, Kill, leader),
        (back, StartMembers, follower),
        (whole, StartMembers, leader),
    ]
    return [
        entry(at, verb(target=Target("broker", str(node))), f"accident-{index}-{step}")
        for step, (at, verb, node) in enumerate(verbs)
    ]  # fmt: skip


@st.composite
def elections(draw: st.DrawFn) -> Entry:
    topics = draw(st.sets(st.sampled_from([*TOPICS, *INTERNAL]), min_size=1))
    verb = ElectLeaders(topics=tuple(sorted(topics)), election="unclean")
    return entry(draw(st.integers(20 * S, 75 * S)), verb, f"election-{draw(st.integers(0, 10**9))}")


@st.composite
def runs(draw: st.DrawFn) -> dict[str, Any]:
    config = BrokerConfig(
        unclean_leader_election=draw(st.sampled_from([True, True, False])),
        offsets_replication_factor=draw(st.sampled_from([2, 2, 3])),
        leader_imbalance_check_us=FOREVER,
    )  # fmt: skip
    log = TransactionConfig(
        version=draw(st.sampled_from([TV2, TV2, TV1])), replication_factor=draw(st.sampled_from([2, 2, 3])),
        min_insync=draw(st.sampled_from([1, 1, 2])),
    )  # fmt: skip
    cluster = replace(draw(st.sampled_from([JITTER, SLOW_LOG])), broker_config=config, transactions=log)
    return {
        "protocol": draw(st.sampled_from(["classic", "cooperative", "consumer"])),
        "produces": producing(transaction_timeout_us=6 * S),
        "unclean": draw(st.sampled_from([{"t"}, {"out"}, {"t", "out"}])),
        "copies": draw(st.sampled_from([2, 2, 2, 3])),
        "cluster": replace(cluster, brokers=tuple(Broker(id=node) for node in range(5))),
    }


def scenario(happened: list[tuple[str, int, list[int]]], others: list[Entry], more: dict[str, Any]) -> Scenario:
    """Everybody is there in the end."""
    more = dict(more)
    unclean, made = more.pop("unclean"), transform(**{key: one for key, one in more.items() if key != "unclean"})
    timeline = [*others, *(one for index, what in enumerate(happened) for one in entries(what, made, index))]
    back = [entry(at * S, StartMembers(target=everybody()), f"back at {at}") for at in (60, BACK_S)]
    brokers = entry(BACK_S * S, StartMembers(target=Target("broker", "all")), "all brokers")
    made = transform(*timeline, *back, brokers, count=3, horizon_s=HORIZON_S, **more)
    topics = tuple(replace(one, unclean_leader_election=one.name in unclean) for one in made.topics)
    return replace(made, topics=topics)


class Output:
    """What logs have at the end: committed by a marker, or by a decision whose marker may still come."""

    def __init__(self, logs: dict[tuple[str, int], OutputLog]) -> None:
        self.found: Counter[tuple[int, int]] = Counter()
        for log in logs.values():
            self.found.update(self._committed(log))

    @staticmethod
    def _committed(log: OutputLog) -> Iterator[tuple[int, int]]:
        undecided = {id(one) for batches in log._undecided.values() for one in batches}
        for one in log.written:
            if not isinstance(one, WrittenBatch):
                continue
            if one.output.is_readable if id(one) in undecided else not log.is_aborted(one):
                for origin in one.output.origins:
                    yield from ((origin.position, offset) for offset in range(origin.first, origin.last))


def check(result: Result, readers: Readers) -> None:
    """Against what the books say."""
    found, seen = Output(readers.logs).found, delivered(result)
    twice = sum(count - 1 for count in found.values())
    assert seen.get(("output duplicate", "read_committed"), 0) == twice
    assert seen.get(("output duplicate (unclean)", "read_committed"), 0) == twice
    named = {why: seen.get((f"output loss ({why})", "read_committed"), 0) for why in ("unclean", "truncated input")}
    assert seen.get(("output loss", "read_committed"), 0) == sum(named.values())
    for position in range(4):
        made = {offset for at, offset in found if at == position}
        silent = {*range(readers.committed[position])} - made
        note(f"{position}: {len(silent)} of {readers.committed[position]} are missing")
    missing = sum(
        readers.committed[position]
        - len([0 for at, offset in found if at == position and offset < readers.committed[position]])
        for position in range(4)
    )
    assert missing <= sum(named.values())


TROUBLE: dict[str, Any] = {
    "happened": st.lists(accidents(), min_size=1, max_size=2),
    "asked": st.lists(elections(), max_size=2, unique_by=lambda one: one.id),
    "others": st.lists(faults(), max_size=2, unique_by=lambda one: one.id),
    "more": runs(),
}


@settings(max_examples=4, deadline=None)
@given(**TROUBLE)
def test_each_input_is_once_in_the_output_or_twice_or_never_by_a_name(
    happened: list[tuple[str, int, list[int]]], asked: list[Entry], others: list[Entry], more: dict[str, Any]
) -> None:
    made = scenario(happened, [*asked, *others], more)
    note(str((happened, asked, others, more)))
    with pytest.MonkeyPatch.context() as patch:
        readers = Readers(patch)
        check(played(made), readers)


@settings(max_examples=2, deadline=None)
@given(**TROUBLE, client=st.sampled_from([None, COMMITTED, UNCOMMITTED]))
def test_both_fidelities_agree(
    happened: list[tuple[str, int, list[int]]], asked: list[Entry], others: list[Entry], more: dict[str, Any],
    client: ClientConfig | None,
) -> None:  # fmt: skip
    """With a group that reads the output, and without."""
    note(str((happened, asked, others, more, client)))
    made = scenario(happened, [*asked, *others], more)
    if client is not None:
        made = replace(made, groups=(*made.groups, reader(client=client)))
    assert not differences(made, 1, check=False)
