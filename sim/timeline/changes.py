"""Changes of what is consumed and how: topics, rates, subscriptions, configuration."""

from __future__ import annotations

from groupsim.sim.model import AddPartitions, CreateTopic, SetConfig, SetRate, Subscribe, Unsubscribe
from groupsim.sim.timeline.dispatcher import Dispatcher


def add_partitions(dispatcher: Dispatcher) -> None:
    """A topic grows."""
    verb = dispatcher.entry.verb
    assert isinstance(verb, AddPartitions)
    _grow(dispatcher, verb.topic, verb.to)


def create_topic(dispatcher: Dispatcher) -> None:
    """A topic comes into being, with its rate."""
    verb, world = dispatcher.entry.verb, dispatcher.world
    assert isinstance(verb, CreateTopic)
    world.catalog.introduce(world.env.now, verb.topic)
    _grow(dispatcher, verb.topic.name, verb.topic.partitions)
    world.start_topic(verb.topic)


def _grow(dispatcher: Dispatcher, topic: str, to: int) -> None:
    world = dispatcher.world
    first = world.catalog.counts.get(topic, 0)
    world.catalog.grow(world.env.now, topic, to)
    dispatcher.note_all(topic)
    for name in sorted(world.groups):
        group = world.groups[name]
        is_assigned = group.follows_topics and topic in group.books.interest.topics
        if is_assigned or topic in group.books.partitions.topics:
            group.books.cover((topic,))
    world.news.publish(topic, first, None if world.controller is None else world.controller.reached)
    if world.zookeeper is not None:
        world.zookeeper.on_metadata(world.catalog.counts)
    for consumer in world.consumers.values():
        if consumer.client is not None:
            consumer.client.metadata.arm(world.env.now)
    world.share_anew()


def set_rate(dispatcher: Dispatcher) -> None:
    """A topic's production changes."""
    verb, world = dispatcher.entry.verb, dispatcher.world
    assert isinstance(verb, SetRate)
    dispatcher.note_all(verb.topic)
    world.catalog.set_rate(world.env.now, verb.topic, verb.rate)
    world.producers[verb.topic].apply()
    world.env.process(world.producers[verb.topic].run(world.scenario.horizon_us))


def subscribe(dispatcher: Dispatcher) -> None:
    """Members call subscribe() with something else."""
    verb = dispatcher.entry.verb
    assert isinstance(verb, Subscribe)
    for consumer in dispatcher.targets(verb.target):
        consumer.resubscribe(verb.subscription)
    dispatcher.world.share_anew()


def unsubscribe(dispatcher: Dispatcher) -> None:
    """Members call unsubscribe()."""
    verb = dispatcher.entry.verb
    assert isinstance(verb, Unsubscribe)
    for consumer in dispatcher.targets(verb.target):
        consumer.unsubscribe()


def set_config(dispatcher: Dispatcher) -> None:
    """Another configuration, with each member's next restart."""
    verb = dispatcher.entry.verb
    assert isinstance(verb, SetConfig)
    for consumer in dispatcher.targets(verb.target, alive=False):
        consumer.config = verb.client
        consumer.processing = verb.processing or consumer.processing
        consumer.static = consumer.static if verb.static is None else verb.static
