"""Members that stand still for so long that others of their group may notice.

What a pause does to a member concerns itself alone until its session or its transaction times out, or it has not polled
for too long: then its group rebalances, or it fails and leaves. Whatever times out has been waited for all the while.
So the member has stood still all that time, but for what it takes at most to do what was waited for.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from groupsim.sim.client.polling.pace import per_batch_us
from groupsim.sim.client.producing.transactional_client import TransactionalClient
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.fastpath.transactions.columns import Column
from groupsim.sim.fastpath.transactions.gathering import beats_on_time
from groupsim.sim.randomness import longest
from groupsim.sim.spans import merged
from groupsim.sim.units import FOREVER, S

_SLACK_US = 2 * S


def missed_us(group: GroupHost, client: TransactionalClient, now: int) -> int:
    """The earliest instant from now on at which others may notice that a member has stood still, microseconds.

    `FOREVER`: they will not, by the pauses that are known.
    """
    session_us: int = group.machine.session_timeout_us if beats_on_time(client) else client.machine.session_timeout_us
    patience_us = min(session_us, client.transactions.timeout_us, client.config.max_poll_interval_us)
    pauses = _Pauses(client, now - patience_us)
    spare_us = patience_us - 2 * (client.machine.heartbeat_interval_us + _longest_pass_us(client)) - _SLACK_US
    if 0 < (stood_us := int(pauses.stood_us(np.array([now]), patience_us)[0])) >= spare_us:
        return now
    are_missed = (pauses.ends > now) & (pauses.stood_us(pauses.ends, patience_us) >= spare_us)
    lacking_us = spare_us - np.where(pauses.starts > now, pauses.stood_us(pauses.starts, patience_us), stood_us)
    earliest = np.maximum(pauses.starts, now) + np.maximum(lacking_us, 0)
    return int(earliest[are_missed].min(initial=FOREVER))


def _longest_pass_us(client: TransactionalClient) -> int:
    """Of a pass through its poll loop, whatever waits for it."""
    processing, slowdown = client.processing, client.consumer.slowdown()
    record_us = longest(processing.per_record) * slowdown + processing.record_wait_us
    records_us = client.config.max_poll_records * record_us
    pass_us: float = processing.poll_timeout_us + per_batch_us(processing, records_us, slowdown) + records_us
    return round(pass_us)


class _Pauses:
    """Those of a member that are known and not over by an instant. Columns of shape (n,), microseconds."""

    def __init__(self, client: TransactionalClient, since_us: int) -> None:
        known, frozen = client.consumer.pauses, client.frozen
        found = known[max(bisect_left(known, (since_us, 0)) - 1, 0) :]
        if frozen is not None:
            found = merged([frozen, *found])
        self.starts, self.ends = np.array(found, np.int64).reshape(-1, 2).T
        self._lengths = self.ends - self.starts
        self._before = np.cumsum(self._lengths) - self._lengths

    def stood_us(self, until: Column, length_us: int) -> Column:
        """How much of so long a time up to each of these instants the member stands still."""
        return self._total(until) - self._total(until - length_us)

    def _total(self, until: Column) -> Column:
        if not self.starts.size:
            return np.zeros(len(until), np.int64)
        index = np.maximum(np.searchsorted(self.starts, until, side="right") - 1, 0)
        within = np.clip(until - self.starts[index], 0, self._lengths[index])
        total: Column = self._before[index] + within
        return total
