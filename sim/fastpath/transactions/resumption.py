"""A member goes on after transactions that were worked out ahead: its own objects, and its coordinators', show them."""

from __future__ import annotations

import numpy as np

from groupsim.sim.client.polling.pace import Load
from groupsim.sim.client.polling.poll_schedule import NOT_INSIDE
from groupsim.sim.client.producing.transactional_client import TransactionalClient
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.cluster.transactions.transactions import Transactions
from groupsim.sim.fastpath.transactions.ahead import Done, Told
from groupsim.sim.protocol.producer.batches import Origin


def go_on(group: GroupHost, host: Transactions, client: TransactionalClient, done: Done, renewed_us: int) -> None:
    """Its time has come. ``renewed_us``: the last renewal of its session before it was parked."""
    standing = done.standing
    if done.last is not None:
        _show(client, done, done.last)
        _tell(group, host, client, done, done.last)
    if (renewed := int(standing.renewed_us[0])) > renewed_us:
        sent_us = int(standing.beat_due_us[0]) - client.machine.heartbeat_interval_us
        client.machine.note_answer(sent_us, int(standing.answered_us[0]))
        renewed_us = renewed
    group.rouse(client.machine.member_id, renewed_us)
    client.transactions.go_on()


def _show(client: TransactionalClient, done: Done, last: Told) -> None:
    """The client stands at the end of its last transaction."""
    standing, batch, held = done.standing, last.cycle.batch, client.consumption.holding
    target, polls_us = batch.target[last.held.part(done.index)], int(batch.polls_us[done.index])
    client.in_flight.numbers.update(other=int(standing.other[0]), heartbeat=int(standing.beats[0]))
    client.machine.restore_heartbeats(int(standing.beat_due_us[0]), int(standing.waits_since_us[0]))
    frontier = client.books.ledger.frontier
    frontier[held.partitions] = np.maximum(frontier[held.partitions], target)
    client.books.ledger.samples.foretold.pop(held.slot, None)
    held.offset = target
    pacing, began_us = client.fetcher.pacing, int(last.standing.back_us[done.index])
    pacing.batches, pacing.refers = int(last.standing.batches[done.index]), bool(last.standing.refers[done.index])
    load = Load(float(last.held.rate[done.index]), float(last.standing.waiting[done.index]))
    schedule = pacing.new_schedule(began_us, pacing.pace(len(target), load), load, began_us, NOT_INSIDE)
    client.poll_loop.schedule, client.poll_loop.held_us = schedule, polls_us
    begun = dict(zip(held.partitions.tolist(), batch.begun[last.held.part(done.index)].tolist(), strict=True))
    pacing.note_batch(polls_us, begun)
    to = dict(zip(held.partitions.tolist(), target.tolist(), strict=True))
    client.transactions.pass_over(done.transactions, to, done.took_us, done.took_us_max)


def _tell(group: GroupHost, host: Transactions, client: TransactionalClient, done: Done, last: Told) -> None:
    """Coordinators know of the last transaction, and the books of all."""
    loop, batch, commit, row = client.transactions, last.cycle.batch, last.cycle.commit, done.index
    part, positions = last.held.part(row), client.consumption.partitions
    target = batch.target[part]
    group.offsets.commit_in_transaction(positions, target, int(commit.noted_us[row]))
    numbers = np.unique(last.held.output[part][target > batch.begun[part]])
    partitions = tuple((loop.output.topic, number) for number in numbers.tolist())
    name, ended_us, marked_us = loop.life.transactional_id, int(commit.ended_us[row]), int(commit.marked_us[row])
    host.pass_over(name, done.transactions, partitions, ended_us, marked_us)
    stretches = map(Origin, positions.tolist(), done.begun.tolist(), target.tolist())
    producer = loop.output.producer_id, loop.output.epoch
    group.books.transactions.pass_over(name, producer, done.transactions, stretches)
