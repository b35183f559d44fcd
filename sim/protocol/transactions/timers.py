"""When a transaction coordinator looks for what is too old, and finds something.

Both scans run in the whole broker, at multiples of their interval from its start. A scan that finds nothing does
nothing, so only those that find something have a time here.
"""

from __future__ import annotations

from groupsim.sim.config import TransactionConfig
from groupsim.sim.protocol.deadlines import Deadlines
from groupsim.sim.protocol.transactions.metadata import TransactionMetadata
from groupsim.sim.protocol.transactions.states import IDLE, TransactionState


class TransactionTimers:
    """Of one coordinator.

    Parameters
    ----------
    config : TransactionConfig
    since_us : int, microseconds
        When the broker was started.
    """

    def __init__(self, config: TransactionConfig, since_us: int) -> None:
        self._config = config
        self._since_us = since_us
        self._timeouts = Deadlines()
        self._expiries = Deadlines()

    @property
    def deadline(self) -> int:
        """The next scan that finds something, microseconds."""
        return min(self._timeouts.earliest, self._expiries.earliest)

    def watch(self, now: int, name: str, current: TransactionMetadata) -> None:
        """The state of an id is this from now on."""
        config = self._config
        self.forget(name)
        if current.state is TransactionState.ONGOING:
            # ``timedOutTransactions``: the time-out has to be exceeded.
            due = current.start_us + current.timeout_us + 1
            self._timeouts.arm(name, self._next_scan(max(due, now + 1), config.abort_interval_us))
        elif current.state in IDLE:
            due = current.update_us + config.id_expiration_us
            self._expiries.arm(name, self._next_scan(max(due, now + 1), config.remove_interval_us))

    def _next_scan(self, time: int, interval_us: int) -> int:
        return self._since_us + max(-(-(time - self._since_us) // interval_us), 1) * interval_us

    def forget(self, name: str) -> None:
        """Nothing of this id is too old, or there is no such id."""
        self._timeouts.cancel(name)
        self._expiries.cancel(name)

    def clear(self) -> None:
        """There are no ids here any more."""
        self._timeouts, self._expiries = Deadlines(), Deadlines()

    def pop_timed_out(self, now: int) -> str | None:
        """An open transaction that a scan by ``now`` finds to have timed out; None: no more."""
        return self._timeouts.pop(now)

    def pop_expired(self, now: int) -> str | None:
        """An id that a scan by ``now`` finds to be unused for too long; None: no more."""
        return self._expiries.pop(now)
