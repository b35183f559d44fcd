"""``produces`` and ``crash_at`` in a scenario file: what Kafka refuses, in its words, and what is not modelled."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.scenarios import parse
from groupsim.scenarios.build.notes import warnings_of
from groupsim.scenarios.errors import ScenarioFileError
from groupsim.scenarios.kafka.producer_config import producer_refusals
from groupsim.sim.model import Cut, Scenario, outputs_of, topics_read

BASE: dict[str, Any] = {
    "version": 1, "question": "?", "horizon": "1min",
    "topics": {"t": {"partitions": 4, "rate": {"per_partition": 1}}, "out": {"partitions": 2}},
    "groups": {
        "g": {
            "topics": ["t"], "config": {"enable.auto.commit": False}, "members": {"count": 2},
            "produces": {"to": "out"},
        }
    },
}  # fmt: skip


def document(*timeline: dict[str, Any], topics: dict[str, Any] | None = None, **group: Any) -> dict[str, Any]:
    return {
        **BASE, "topics": topics or BASE["topics"], "timeline": list(timeline),
        "groups": {"g": {**BASE["groups"]["g"], **group}},
    }  # fmt: skip


def load(given: dict[str, Any]) -> Scenario:
    return parse(given, file="s.yaml", name="s")


def refusal(given: dict[str, Any]) -> str:
    with pytest.raises(ScenarioFileError) as caught:
        load(given)
    return " ".join(str(caught.value).split())


def produces(**config: Any) -> dict[str, Any]:
    return document(produces={"to": "out", "config": config})


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"enable.idempotence": False}, "Cannot set a transactional.id without also enabling idempotence"),
        ({"acks": "1"}, "Cannot set a transactional.id without also enabling idempotence"),
        ({"retries": 0}, "Cannot set a transactional.id without also enabling idempotence"),
        ({"acks": "1", "enable.idempotence": True}, "Must set acks to all in order to use the idempotent producer"),
        ({"retries": 0, "enable.idempotence": True}, "Must set retries to non-zero"),
        ({"max.in.flight.requests.per.connection": 6}, "to at most 5 to use the idempotent producer"),
        ({"delivery.timeout.ms": 30_004}, "should be equal to or larger than linger.ms + request.timeout.ms"),
        ({"transaction.timeout.ms": 900_001}, "The transaction timeout is larger than the maximum value allowed"),
        ({"transaction.timeout.ms": 0}, "INVALID_TRANSACTION_TIMEOUT"),
        ({"transaction.two.phase.commit.enable": True, "transaction.timeout.ms": 1}, "Cannot set transaction.timeout"),
        ({"transactional.id": "x"}, "produces.transactional_id"),
        ({"ack": "all"}, "acks"),
        ({"compression.lz4.level": 18}, "must be at most 17"),
        ({"retries": 1 << 31}, "must"),
    ],
)
def test_what_a_producer_refuses_is_refused_in_its_words(config: dict[str, Any], reason: str) -> None:
    assert reason in refusal(produces(**config))


def test_what_a_producer_takes_is_taken() -> None:
    (group,) = load(
        produces(**{"delivery.timeout.ms": 30_005, "transaction.timeout.ms": 900_000, "client.rack": "a"})
    ).groups
    assert group.produces is not None
    assert group.produces.producer.transaction_timeout_us == 900_000_000


@pytest.mark.parametrize(("config", "keys"), [({"acks": "1"}, []), ({"retries": 0}, []), ({}, [])])
def test_without_transactions_idempotence_is_given_up_silently(config: dict[str, Any], keys: list[str]) -> None:
    """``ProducerConfig``: a default gives way; an explicit wish does not."""
    assert [key for key, _ in producer_refusals(config, is_transactional=False)] == keys
    if config:
        explicit = {**config, "enable.idempotence": True}
        assert [key for key, _ in producer_refusals(explicit, is_transactional=False)] == list(config)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (document(config={}), "enable.auto.commit"),
        (document(processing={"commit": "after_batch"}), "must be none"),
        (document(produces={"to": "paid"}), "there is no topic of this name"),
        (document(produces={"to": "t"}), "has a rate of its own"),
        (
            document(topics={"t": {"partitions": 1}, "out": {"partitions": 1}}, produces={"to": "t"}),
            "reads t, which a group",
        ),
        (document(count=2), "is for one group alone"),
        (document(produces={"to": "out", "transactional_id": "{group}"}), "must be text with {member}"),
        (document({"at": "1s", "crash_at": {"target": "g", "point": "later"}}), "after_end_txn"),
    ],
)
def test_what_does_not_go_together_is_refused(given: dict[str, Any], reason: str) -> None:
    assert reason in refusal(given)


@pytest.mark.parametrize("between", [["broker:0", "broker:1"], ["rack:a", "rack:b"], ["g", "broker:all"]])
def test_brokers_and_racks_may_be_cut_off_from_one_another(between: list[str]) -> None:
    brokers = [{"id": 0, "rack": "a"}, {"id": 1, "rack": "b"}, {"id": 2, "rack": "b"}]
    given = document({"at": "1s", "cut": {"between": between, "for": "1s"}}) | {"cluster": {"brokers": brokers}}
    assert isinstance(load(given).timeline[0].verb, Cut)


def reader(**group: Any) -> dict[str, Any]:
    """A second group, beside one that produces to ``out``."""
    base = document()
    return {**base, "groups": {**base["groups"], "second": {"topics": ["t"], "members": {"count": 1}, **group}}}


@pytest.mark.parametrize(
    "given",
    [
        reader(topics=["t", "out"]),
        reader(topics={"pattern": "o.*"}),
        reader(topics={"re2": "o.*"}, protocol="consumer"),
        reader(topics={"assign": {"out": "0"}}),
        reader(overrides=[{"members": "0", "topics": ["out"]}]),
        {**reader(), "timeline": [{"at": "1s", "subscribe": {"target": "second", "topics": {"pattern": ".*"}}}]},
    ],
)
def test_a_reader_of_output_is_taken_however_it_asks_for_it(given: dict[str, Any]) -> None:
    scenario = load(given)
    assert topics_read(scenario, scenario.groups[1], outputs_of(scenario)) == {"out"}
    assert topics_read(scenario, scenario.groups[0], outputs_of(scenario)) == set()


def with_second_output(**group: Any) -> dict[str, Any]:
    """The second group reads the first one's output, and produces too; what it produces the first one reads."""
    own = {"config": {"enable.auto.commit": False}, "produces": {"to": "last"}, "topics": ["out"], **group}
    given = reader(**own)
    topics = {**given["topics"], "last": {"partitions": 1}}
    return {**given, "topics": topics, "groups": {**given["groups"]}}


@pytest.mark.parametrize(
    ("given", "place", "reason"),
    [
        (reader(topics=["out"], protocol="zookeeper"), "groups.second.topics", "know no transactions"),
        (
            reader(topics=["out"], members={"count": 1, "start": {"aged": "1min"}}),
            "groups.second.topics",
            "together with groups that begin aged",
        ),
        (
            {
                **reader(topics=["out"], config={"isolation.level": "read_committed"}),
                "timeline": [
                    {"at": "1s", "set_config": {"target": "second", "config": {"isolation.level": "read_uncommitted"}}}
                ],
            },
            "timeline[set_config-1].set_config.config[isolation.level]",
            "have one isolation.level",
        ),
        (
            reader(topics=["out"], overrides=[{"members": "0", "config": {"isolation.level": "read_committed"}}]),
            "groups.second.overrides[0].config[isolation.level]",
            "have one isolation.level",
        ),
    ],
)
def test_a_reader_of_output_that_is_not_modelled_is_refused(given: dict[str, Any], place: str, reason: str) -> None:
    text = refusal(given)
    assert reason in text
    assert place in text


def test_what_a_group_produces_does_not_come_back_to_it() -> None:
    given = with_second_output()
    assert len(load(given).groups) == 2
    first = {**given["groups"]["g"], "topics": ["t", "last"]}
    text = refusal({**given, "groups": {**given["groups"], "g": first}})
    assert "loops of groups are not modelled" in text


def test_a_pattern_that_leaves_output_out_is_taken() -> None:
    assert len(load(reader(topics={"pattern": "t.*"})).groups) == 2


def test_an_output_topic_gets_no_rate_later() -> None:
    given = document({"at": "1s", "set_rate": {"topic": "out", "rate": {"per_partition": 1}}})
    assert "is what a group produces to" in refusal(given)


def test_what_a_group_reads_of_another_is_not_deleted_within_the_run() -> None:
    def short(given: dict[str, Any]) -> dict[str, Any]:
        out = {**given["topics"]["out"], "config": {"retention.ms": 1_000}}
        return {**given, "topics": {**given["topics"], "out": out}}

    text = refusal(short(reader(topics=["out"])))
    assert "topics.out.config[retention.ms]" in text
    assert "is over before the run is" in text
    assert load(short(document())).topics[1].retention_us == 1_000_000, "if nobody reads it"


def test_the_level_of_transactions_is_the_clusters() -> None:
    config = {"transaction.partition.verification.enable": False}
    given = {**document(), "cluster": {"transaction_version": 1, "config": config}}
    transactions = load(given).cluster.transactions
    assert (transactions.version, transactions.is_verified) == (1, False)
    assert (load(document()).cluster.transactions.version, load(document()).cluster.transactions.is_verified) == (
        2,
        True,
    )
    assert load(dict(load(given).document)).cluster.transactions == transactions


@pytest.mark.parametrize("level", [0, 3, "2.0", None])
def test_other_levels_are_refused(level: object) -> None:
    assert "transaction_version" in refusal({**document(), "cluster": {"transaction_version": level}})


def test_brokers_without_transactions_are_refused() -> None:
    assert "transactions came with 0.11" in refusal({**document(), "cluster": {"version": "0.9"}})


def test_keys_without_effect_are_listed() -> None:
    assert any("producer keys that have no effect here: compression.type" in one for one in
               warnings_of(load(produces(**{"compression.type": "lz4"}))))  # fmt: skip


def test_a_resolved_document_loads_again() -> None:
    scenario = load(document({"at": "1s", "crash_at": {"target": "g/0", "point": "after_send", "down": "1s"}}))
    again = load(dict(scenario.document))
    assert again.groups == scenario.groups
    assert again.timeline == scenario.timeline


def test_a_crash_between_steps_is_for_groups_that_produce() -> None:
    plain = document({"at": "1s", "crash_at": {"target": "g", "point": "after_poll"}})
    del plain["groups"]["g"]["produces"]
    assert "crash_at is for groups that produce" in refusal(plain)


UNCLEAN = "unclean.leader.election.enable"


def unclean(*, topic: str = "", cluster: bool = False, elect: list[str] | None = None, **reads: Any) -> dict[str, Any]:
    """Leaders may be elected that lack something; ``reads`` are of the second group, if there is one."""
    given = reader(**reads) if reads else document()
    topics = {**BASE["topics"], "out": {**BASE["topics"]["out"]}}
    if topic:
        topics[topic] = {**topics[topic], "config": {UNCLEAN: True}}
    timeline = [] if elect is None else [{"at": "1s", "elect_leaders": {"topics": elect, "election": "unclean"}}]
    config = {"cluster": {"config": {UNCLEAN: True}}} if cluster else {}
    return {**given, "topics": topics, "timeline": timeline, **config}


@pytest.mark.parametrize(
    "given",
    [
        unclean(topic="out"),
        unclean(topic="t"),
        unclean(cluster=True),
        unclean(elect=["out"]),
        unclean(elect=[]),
        unclean(elect=["__transaction_state", "__consumer_offsets"]),
        unclean(topic="t", topics=["out"]),
        unclean(elect=["t"], topics=["out"]),
        unclean(topic="out", topics=["out"]),
        unclean(cluster=True, topics=["out"]),
        unclean(elect=[], topics={"pattern": "o.*"}),
    ],
)
def test_leaders_that_lack_something_may_be_elected(given: dict[str, Any]) -> None:
    assert len(load(given).groups) >= 1


def test_a_cluster_without_transactions_has_no_topic_of_theirs() -> None:
    given = unclean(elect=["t", "__transaction_state"])
    plain = {key: one for key, one in given["groups"]["g"].items() if key != "produces"}
    text = refusal({**given, "groups": {"g": plain}})
    assert "elect_leaders.topics[1]" in text
    assert "there is no topic of that name" in text
