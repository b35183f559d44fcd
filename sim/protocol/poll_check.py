"""When a client sees that max.poll.interval.ms is over that looks at a clock for it, and at no timer of its own.

Source: librdkafka 2.15 (as 2.14), ``rd_kafka_cgrp_start_max_poll_interval_timer``,
``rd_kafka_cgrp_max_poll_interval_check_tmr_cb``, ``rd_kafka_max_poll_exceeded``.
"""

from __future__ import annotations

from groupsim.sim.units import FOREVER, MS

_PERIOD_US = 500 * MS
"""Twice a second, from the last call of ``assign()`` or ``incremental_assign()`` on."""


def first_check(expiry: int, assigned: int) -> int:
    """The first look that finds the poll interval over.

    Parameters
    ----------
    expiry : int, microseconds
        When it is over. It has to be over by a whole millisecond to be seen.
    assigned : int, microseconds
        When the assignment was last taken over: it starts the looks anew. `FOREVER`: nobody looks.

    Returns
    -------
    int, microseconds
    """
    if assigned >= FOREVER:
        return FOREVER
    looks = max(-(-(expiry + MS - assigned) // _PERIOD_US), 1)
    return assigned + looks * _PERIOD_US
