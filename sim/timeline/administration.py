"""What administrators ask of a group's coordinator: it works on that at once, and its refusal is a result.

While nobody coordinates the group the administrator's client asks again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.model import DeleteGroup, DeleteOffsets
from groupsim.sim.protocol.messages import NO_PARTITIONS, Api, Error, OffsetDelete
from groupsim.sim.timeline.dispatcher import Dispatcher
from groupsim.sim.units import MS, S

_BACKOFF_US, _BACKOFF_MAX_US, _PATIENCE_US = 100 * MS, S, 60 * S
"""``retry.backoff.ms``, ``retry.backoff.max.ms`` and ``default.api.timeout.ms`` of the administrator's client."""


def delete_offsets(dispatcher: Dispatcher) -> None:
    """Committed offsets of some topics; of those that the group subscribes to, none is deleted."""
    _ask(dispatcher, Api.OFFSET_DELETE, _delete_offsets)


def _delete_offsets(dispatcher: Dispatcher, group: GroupHost) -> None:
    verb = dispatcher.entry.verb
    assert isinstance(verb, DeleteOffsets)
    layout = group.books.partitions
    parts = [layout.of(topic) for topic in verb.topics if topic in layout.topics]
    request = OffsetDelete(np.concatenate(parts) if parts else NO_PARTITIONS)
    response = group.administer(lambda offsets: offsets.delete(request))
    error = Error.GROUP_SUBSCRIBED_TO_TOPIC if response.refused.size else response.error
    refused = {layout.topic[position] for position in response.refused.tolist()}
    _answered(dispatcher, group, Api.OFFSET_DELETE, error, ", ".join(sorted(refused)))


def delete_group(dispatcher: Dispatcher) -> None:
    """A group and all its offsets, if nobody is a member."""
    _ask(dispatcher, Api.DELETE_GROUPS, _delete_group)


def _delete_group(dispatcher: Dispatcher, group: GroupHost) -> None:
    error = group.administer(lambda offsets: offsets.delete_group())
    _answered(dispatcher, group, Api.DELETE_GROUPS, error, "")


def _ask(dispatcher: Dispatcher, api: Api, work: Callable[[Dispatcher, GroupHost], None]) -> None:
    """Ask the coordinator, again and again while there is none (``AdminApiDriver``, ``CoordinatorStrategy``)."""
    verb, world = dispatcher.entry.verb, dispatcher.world
    assert isinstance(verb, DeleteOffsets | DeleteGroup)
    group, asked_us = world.groups[verb.target.name], world.env.now

    def attempt(number: int) -> None:
        now = world.env.now
        if group.is_active:
            work(dispatcher, group)
            return
        is_loading = world.coordinator_of(group.name).is_loading
        error = Error.COORDINATOR_LOAD_IN_PROGRESS if is_loading else Error.COORDINATOR_NOT_AVAILABLE
        group.books.requests.count_quietly(api, error, now, 1)
        next_us = now + min(_BACKOFF_US << min(number, 10), _BACKOFF_MAX_US)
        if next_us - asked_us < _PATIENCE_US:
            world.env.at(next_us, dispatcher.key, attempt, number + 1)
        else:
            dispatcher.warn(f"{group.name}: {api.value} is not answered in time: {error.value}")

    attempt(0)


def _answered(dispatcher: Dispatcher, group: GroupHost, api: Api, error: Error, what: str) -> None:
    """Write down what was asked, and why it was refused."""
    dispatcher.note(group.name, group.name)
    group.books.requests.count_quietly(api, error, dispatcher.world.env.now, 1)
    if error is not Error.NONE:
        dispatcher.warn(f"{group.name}: {api.value} is refused: {error.value}{f' ({what})' if what else ''}")
