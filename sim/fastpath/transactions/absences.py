"""Members that stand still for so long that others of their group may notice.

What a pause does to a member concerns itself alone until its session or its transaction times out, or it has not polled
for too long: then its group rebalances, or it fails and leaves.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from groupsim.sim.client.transactional_client import TransactionalClient
from groupsim.sim.cluster.group_host import GroupHost
from groupsim.sim.fastpath.transactions.gathering import beats_on_time
from groupsim.sim.units import FOREVER, S

_SLACK_US = 2 * S


def missed_us(group: GroupHost, client: TransactionalClient, now: int) -> int:
    """The earliest instant at which others may notice that a member stands still, or has stood still, microseconds.

    Pauses count as one if not even a heartbeat is sure to come through in between.
    """
    session_us: int = group.machine.session_timeout_us if beats_on_time(client) else client.machine.session_timeout_us
    patience_us: int = min(session_us, client.transactions.timeout_us, client.config.max_poll_interval_us)
    # So long ago it may have begun what times out: a heartbeat, a poll() or a transaction.
    before_us: int = 2 * (client.machine.heartbeat_interval_us + _longest_us(client)) + _SLACK_US
    for start, end in _absences(client, now - patience_us - before_us, before_us):
        if end + before_us >= now and end - start + before_us >= patience_us:
            return start + patience_us - before_us
    return FOREVER


def _longest_us(client: TransactionalClient) -> int:
    """Of a pass through its poll loop."""
    schedule = client.poll_loop.schedule
    return int(schedule.longest_us) if schedule is not None else 0


def _absences(client: TransactionalClient, since_us: int, apart_us: int) -> Iterator[tuple[int, int]]:
    """Pauses that are known and begin later than that, ascending; those less than ``apart_us`` apart are one."""
    known, frozen = client.consumer.pauses, client.frozen
    pauses = sorted([*known[bisect_left(known, (since_us, 0)) :], *([frozen] if frozen is not None else [])])
    start = end = -FOREVER
    for begins, ends in pauses:
        if begins - end >= apart_us:
            yield start, end
            start = begins
        end = max(end, ends)
    yield start, end
