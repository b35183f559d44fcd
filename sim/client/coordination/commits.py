"""Which offsets a client commits, and what is lost when it commits before it processes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from groupsim.sim.books.offsets.production import Offsets
from groupsim.sim.client.coordination.requests import Requests
from groupsim.sim.client.incarnation import Incarnation
from groupsim.sim.client.polling.poll_loop import PollLoop
from groupsim.sim.protocol.effects import Commit
from groupsim.sim.protocol.interface import MemberMachine
from groupsim.sim.protocol.messages import NO_PARTITIONS, Acknowledgement, Api, Error, OffsetCommit, Positions


class Commits:
    """Commits of one client.

    Parameters
    ----------
    client : Incarnation
    poll_loop : PollLoop
    requests : Requests

    Attributes
    ----------
    without_topic : set of int
        Partitions that it has positions of, and that are no more: it commits them until they are taken from it.
    """

    def __init__(self, client: Incarnation, poll_loop: PollLoop, requests: Requests) -> None:
        self._client = client
        self._poll_loop = poll_loop
        self._requests = requests
        self._machine: MemberMachine[Any, Any] = client.machine
        self._consumption = client.consumption
        self._ledger = client.books.ledger
        self._is_ahead = client.processing.commit == "before_processing"
        self.without_topic: Final[set[int]] = set()

    def offsets(self, at: int) -> Offsets:
        """Positions that a commit sent at ``at`` carries, for everything that is consumed."""
        schedule, holding = self._poll_loop.schedule, self._consumption.holding
        if self._is_ahead and schedule is not None:
            return self._ledger.returned(holding, schedule.next_poll(at + 1))
        return self._ledger.positions(holding, at)

    def commit(self, now: int, effect: Commit) -> None:
        """Send the positions of what is consumed."""
        machine, held = self._machine, self._consumption.partitions
        whole = effect.positions is machine.owned
        mine = held if whole else np.intersect1d(held, effect.positions)
        gone = self._gone_among(effect.positions)
        if not (mine.size or gone.size):
            # No position is known yet: the client sends nothing, and whoever waited goes on.
            nothing = np.empty(0, np.int64)
            body = self._request(effect, mine, nothing)
            self._client.do(now, machine.on_response(now, body, Acknowledgement(Error.NONE)))
            return
        offsets = self.offsets(now)
        if not whole:
            offsets = offsets[np.isin(held, mine)]
        if gone.size:
            mine, offsets = np.concatenate([mine, gone]), np.concatenate([offsets, np.zeros(len(gone), np.int64)])
        self._requests.request(now, Api.OFFSET_COMMIT, self._request(effect, mine, offsets))

    def _gone_among(self, positions: Positions) -> Positions:
        """Those of them that it commits though they are no more; where it has got to in them tells nobody anything."""
        if not self.without_topic:
            return NO_PARTITIONS
        return np.array([one for one in positions.tolist() if one in self.without_topic], np.int32)

    def finish_records(self, now: int) -> None:
        """What was processed by now is committed, if each record is: so nobody looks at these commits one by one.

        They are told when it matters, before something ends the batch in hand that is no poll(): a kill, a long pause,
        a hang, max.poll.interval.ms or close(). The last of them stands for all, since offsets only grow.
        """
        if self._client.processing.commit_each_record and self._consumption.holding.running:
            self._client.do(now, self._machine.commit_processed(now))

    def commit_ahead(self, now: int) -> None:
        """The poll() that has waited for a first fetch returns with it: committed before it is processed, if all is."""
        schedule = self._poll_loop.schedule
        if self._is_ahead and schedule is not None and schedule.start == now:
            self._client.do(now, self._machine.commit_processed(now))

    def _request(self, effect: Commit, mine: Positions, offsets: Offsets) -> OffsetCommit:
        instance_id = self._machine.instance_id
        return OffsetCommit(effect.member_id, instance_id, effect.generation, mine, offsets, effect.is_awaited)

    def lose_ahead(self, now: int) -> None:
        """Commit before processing: what was committed and is not processed is gone with the process."""
        held, schedule = self._consumption.partitions, self._poll_loop.schedule
        if not self._is_ahead or not held.size or schedule is None:
            return
        ledger, holding = self._ledger, self._consumption.holding
        ahead = ledger.returned(holding, schedule.next_poll(now))
        done = ledger.positions(holding, now)
        ledger.lose(held, done, ahead, "kill")
        self._client.books.delivery.count("loss", "kill", int(np.maximum(ahead - done, 0).sum()))
        ledger.raise_frontier(now, held, ahead)
