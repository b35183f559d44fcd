"""Changes of what is consumed and how: topics, rates, subscriptions, configuration."""

from __future__ import annotations

from groupsim.sim.client.deleted_topics import lose_topic
from groupsim.sim.cluster.topics.retention import count_losses
from groupsim.sim.model import AddPartitions, CreateTopic, DeleteTopic, Rate, SetConfig, SetRate, Subscribe, Unsubscribe
from groupsim.sim.timeline.dispatcher import Dispatcher
from groupsim.sim.world import World


def add_partitions(dispatcher: Dispatcher) -> None:
    """A topic grows; of a rate of the whole topic each partition has less."""
    verb, world = dispatcher.entry.verb, dispatcher.world
    assert isinstance(verb, AddPartitions)
    if not _is_there(dispatcher, verb.topic):
        return
    _grow(dispatcher, verb.topic, verb.to)
    _, rate = world.catalog.rates[verb.topic]
    shared = rate.among(world.catalog.counts[verb.topic])
    if shared != rate:
        world.catalog.set_rate(world.env.now, verb.topic, shared)
        world.producers[verb.topic].apply()


def create_topic(dispatcher: Dispatcher) -> None:
    """A topic comes into being, with its rate."""
    verb, world = dispatcher.entry.verb, dispatcher.world
    assert isinstance(verb, CreateTopic)
    world.catalog.introduce(world.env.now, verb.topic)
    _grow(dispatcher, verb.topic.name, verb.topic.partitions)
    if verb.topic.name in world.catalog.has_gone:
        world.producers[verb.topic.name].apply()  # groups know the rate of the one that had the name before
    world.start_topic(verb.topic)


def delete_topic(dispatcher: Dispatcher) -> None:
    """A topic is no more: producers are refused from now on, and who reads it loses it."""
    verb, world = dispatcher.entry.verb, dispatcher.world
    assert isinstance(verb, DeleteTopic)
    now, topic = world.env.now, verb.topic
    if not _is_there(dispatcher, topic):
        return
    dispatcher.note_all(topic)
    world.catalog.set_rate(now, topic, Rate())
    world.producers[topic].apply()
    world.catalog.delete(now, topic)
    for name in sorted(world.groups):
        if topic in world.groups[name].books.partitions.topics:
            _lose_topic(world, name, topic)
    world.news.publish_deletion(topic)
    _look_again(world)


def _is_there(dispatcher: Dispatcher, topic: str) -> bool:
    """Whether there is such a topic; what is done to none is a warning in the result."""
    is_there = topic in dispatcher.world.catalog.counts
    if not is_there:
        dispatcher.warn(f"there is no topic {topic} (UnknownTopicOrPartitionException)")
    return is_there


def _lose_topic(world: World, group: str, topic: str) -> None:
    """What has been read of it by now was read; what has not been is lost."""
    books, now = world.groups[group].books, world.env.now
    gone = books.partitions.delete(now, topic)
    for consumer in world.members[group]:
        if consumer.client is not None:
            lose_topic(consumer.client, now, gone)
    books.ledger.delete(topic)
    count_losses(books, now, "deleted topic")
    books.availability.refresh(now, gone)


def _look_again(world: World) -> None:
    """There are other topics than before."""
    for consumer in world.consumers.values():
        if consumer.client is not None:
            consumer.client.metadata.arm(world.env.now)
    world.share_anew()


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
    _look_again(world)


def set_rate(dispatcher: Dispatcher) -> None:
    """A topic's production changes."""
    verb, world = dispatcher.entry.verb, dispatcher.world
    assert isinstance(verb, SetRate)
    if not _is_there(dispatcher, verb.topic):
        return
    dispatcher.note_all(verb.topic)
    rate = verb.rate.among(world.catalog.counts[verb.topic])
    world.catalog.set_rate(world.env.now, verb.topic, rate)
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
