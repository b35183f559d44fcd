"""What administrators ask of a group's coordinator: it works on that at once, and its refusal is a result."""

from __future__ import annotations

import numpy as np

from groupsim.sim.cluster.group_host import GroupHost
from groupsim.sim.model import DeleteGroup, DeleteOffsets
from groupsim.sim.protocol.messages import NO_PARTITIONS, Api, Error, OffsetDelete
from groupsim.sim.timeline.dispatcher import Dispatcher


def delete_offsets(dispatcher: Dispatcher) -> None:
    """Committed offsets of some topics; of those that the group subscribes to, none is deleted."""
    verb = dispatcher.entry.verb
    assert isinstance(verb, DeleteOffsets)
    group = dispatcher.world.groups[verb.target.name]
    layout = group.books.partitions
    parts = [layout.of(topic) for topic in verb.topics if topic in layout.topics]
    request = OffsetDelete(np.concatenate(parts) if parts else NO_PARTITIONS)
    response = group.administer(lambda offsets: offsets.delete(request))
    error = Error.GROUP_SUBSCRIBED_TO_TOPIC if response.refused.size else response.error
    refused = {layout.topic[position] for position in response.refused.tolist()}
    _answered(dispatcher, group, Api.OFFSET_DELETE, error, ", ".join(sorted(refused)))


def delete_group(dispatcher: Dispatcher) -> None:
    """A group and all its offsets, if nobody is a member."""
    verb = dispatcher.entry.verb
    assert isinstance(verb, DeleteGroup)
    group = dispatcher.world.groups[verb.target.name]
    error = group.administer(lambda offsets: offsets.delete_group())
    _answered(dispatcher, group, Api.DELETE_GROUPS, error, "")


def _answered(dispatcher: Dispatcher, group: GroupHost, api: Api, error: Error, what: str) -> None:
    """Write down what was asked, and why it was refused."""
    dispatcher.note(group.name, group.name)
    group.books.requests.count_quietly(api, error, dispatcher.world.env.now, 1)
    if error is not Error.NONE:
        dispatcher.warn(f"{group.name}: {api.value} is refused: {error.value}{f' ({what})' if what else ''}")
