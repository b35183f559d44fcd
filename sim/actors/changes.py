"""Changes of what is consumed and how: topics, rates, subscriptions, configuration."""

from __future__ import annotations

from groupsim.sim.actors.retention import limit_age
from groupsim.sim.actors.teller import Teller
from groupsim.sim.model import AddPartitions, CreateTopic, SetConfig, SetRate, Subscribe, Unsubscribe


def add_partitions(teller: Teller) -> None:
    """A topic grows."""
    verb = teller.entry.verb
    assert isinstance(verb, AddPartitions)
    _grow(teller, verb.topic, verb.to)


def create_topic(teller: Teller) -> None:
    """A topic comes into being, with its rate."""
    verb, world = teller.entry.verb, teller.world
    assert isinstance(verb, CreateTopic)
    world.catalog.introduce(world.env.now, verb.topic)
    _grow(teller, verb.topic.name, verb.topic.partitions)
    world.env.process(world.producers[verb.topic.name].run())
    limit_age(world, verb.topic)


def _grow(teller: Teller, topic: str, to: int) -> None:
    world = teller.world
    world.catalog.grow(world.env.now, topic, to)
    teller.note_all(topic)
    for name in sorted(world.groups):
        group = world.groups[name]
        if topic in group.partitions.topics:
            group.cover((topic,))
    for consumer in world.consumers.values():
        if consumer.client is not None:
            consumer.client.metadata.arm(world.env.now)


def set_rate(teller: Teller) -> None:
    """A topic's production changes."""
    verb, world = teller.entry.verb, teller.world
    assert isinstance(verb, SetRate)
    teller.note_all(verb.topic)
    world.catalog.set_rate(world.env.now, verb.topic, verb.rate)
    world.producers[verb.topic].apply()
    world.env.process(world.producers[verb.topic].run())


def subscribe(teller: Teller) -> None:
    """Members call subscribe() with something else."""
    verb = teller.entry.verb
    assert isinstance(verb, Subscribe)
    for consumer in teller.targets(verb.target):
        consumer.resubscribe(verb.subscription)


def unsubscribe(teller: Teller) -> None:
    """Members call unsubscribe()."""
    verb = teller.entry.verb
    assert isinstance(verb, Unsubscribe)
    for consumer in teller.targets(verb.target):
        consumer.unsubscribe()


def set_config(teller: Teller) -> None:
    """Another configuration, with each member's next restart."""
    verb = teller.entry.verb
    assert isinstance(verb, SetConfig)
    for consumer in teller.targets(verb.target, alive=False):
        consumer.config = verb.client
        consumer.processing = verb.processing or consumer.processing
        consumer.static = consumer.static if verb.static is None else verb.static
