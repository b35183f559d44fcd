"""What an application does about a commit that fails for now: it waits and commits again, or its callback does.

Sources, Kafka 4.4: ``KafkaConsumer.commitSync`` repeats retriable failures each ``retry.backoff.ms`` until
``default.api.timeout.ms`` is over (``ConsumerCoordinator.commitOffsetsSync``, ``CommitRequestManager``), and so keeps
the application from poll(); it waits for an unknown coordinator in the same way. All other failures are thrown
(``CommitFailedException``, ``RebalanceInProgressException``): the application joins again with its next poll(),
and whoever gets the partitions repeats what was not committed. ``commitAsync`` repeats nothing; a callback that does
runs inside the next poll(), when the commit of the next batch is sent already, and so can overtake it.
"""

from __future__ import annotations

from functools import partial

from groupsim.sim.client.coordination.requests import Requests
from groupsim.sim.client.fetching.fetcher import Fetcher
from groupsim.sim.client.in_flight import InFlight
from groupsim.sim.client.incarnation import Incarnation
from groupsim.sim.client.polling.poll_loop import PollLoop
from groupsim.sim.kernel.environment import Kind, deadline_key
from groupsim.sim.protocol.commit_errors import is_retriable
from groupsim.sim.protocol.messages import Api, Error, OffsetCommit
from groupsim.sim.units import FOREVER


class RefusedCommits:
    """Commits of one application that have failed, and are worth another try.

    Parameters
    ----------
    client : Incarnation
    poll_loop, fetcher, requests, in_flight
        Of that client.
    """

    def __init__(
        self, client: Incarnation, poll_loop: PollLoop, fetcher: Fetcher, requests: Requests, in_flight: InFlight
    ) -> None:
        self._client = client
        self._poll_loop = poll_loop
        self._fetcher = fetcher
        self._requests = requests
        self._in_flight = in_flight
        self._env = client.env
        self._key = deadline_key(client.consumer.entity, Kind.FETCH)
        self._since = -1
        """Since when commitSync waits; -1: it does not."""
        self._commit: OffsetCommit | None = None

    def answered(self, now: int, request: OffsetCommit, error: Error) -> None:
        """A commit of the application is answered, or is not going to be."""
        processing = self._client.processing
        if processing.commit != "after_batch" or self._client.is_over:
            return
        if not is_retriable(error, self._client.config.behaviour):
            if self._since >= 0:
                self._go_on(now)
        elif processing.commit_waits:
            self._wait(now, request)
        elif processing.commit_again:
            self._call_back(now, request)

    # --- commitSync ---------------------------------------------------------------------------------------------------

    def coordinator_is_lost(self, now: int) -> None:
        """If nobody knows it by the next poll, the commit that comes with that waits."""
        processing, schedule = self._client.processing, self._poll_loop.schedule
        if processing.commit_waits and not processing.commit_every_us and schedule is not None:
            self._env.at(schedule.next_poll(now + 1), self._key, self._miss)

    def _miss(self, _: object) -> None:
        client = self._client
        if not client.is_over and client.frozen is None and self._in_flight.connection is None:
            self._wait(self._env.now, None)

    def _wait(self, now: int, request: OffsetCommit | None) -> None:
        """Wait for the answer to a commit like this one, or (None) for a coordinator to send it to."""
        client = self._client
        if self._since < 0:
            is_busy = self._poll_loop.is_at_work or self._poll_loop.is_held or self._poll_loop.stuck_until > now
            if client.machine.is_joining or is_busy or self._poll_loop.schedule is None:
                return
            self._since, self._commit = now, request
            self._poll_loop.pass_steps(now)
            self._poll_loop.hold(now)
            client.consumption.stand_still(now)
            client.books.availability.stop(now, client.consumption.handle, client.consumption.partitions)
            self._env.at(min(now + client.config.default_api_timeout_us, FOREVER), self._key, self._give_up, now)
        self._env.at(now + client.config.retry_backoff_us, self._key, self._repeat, self._since)

    def _repeat(self, since: int) -> None:
        client, now, commit = self._client, self._env.now, self._commit
        if client.is_over or since != self._since:
            return
        if client.frozen is not None:
            client.late.append(partial(self._repeat, since))
        elif self._is_over(commit):
            self._go_on(now)
        elif self._in_flight.connection is None:
            self._env.at(now + client.config.retry_backoff_us, self._key, self._repeat, since)
        elif commit is None:
            self._go_on(now)
        else:
            self._requests.request(now, Api.OFFSET_COMMIT, commit)
            client.drive(now)

    def _is_over(self, commit: OffsetCommit | None) -> bool:
        """Whether the member is somebody else by now: a repeated commit is refused on this side."""
        return commit is not None and commit.generation != self._client.machine.generation

    def _give_up(self, since: int) -> None:
        """``TimeoutException``."""
        client = self._client
        if client.is_over or since != self._since:
            return
        if client.frozen is not None:
            client.late.append(partial(self._give_up, since))
        else:
            self._go_on(self._env.now)

    def _go_on(self, now: int) -> None:
        client, consumption = self._client, self._client.consumption
        self._since = -1
        self._poll_loop.pass_steps(now)
        self._poll_loop.release(now)
        client.books.availability.serve(now, consumption.handle, consumption.partitions)
        self._fetcher.repace(now)
        late, client.late = client.late, []
        for action in late:
            action()
        client.drive(now)

    # --- commitAsync, with a callback that commits again --------------------------------------------------------------

    def _call_back(self, now: int, request: OffsetCommit) -> None:
        """The callback runs inside the next poll(), if the application has one to come."""
        schedule = self._poll_loop.schedule
        if schedule is not None:
            self._env.at(schedule.next_poll(now + 1), self._key, self._commit_again, request)

    def _commit_again(self, request: OffsetCommit) -> None:
        client, now = self._client, self._env.now
        if client.is_over or client.machine.generation != request.generation:
            return
        if client.frozen is not None:
            client.late.append(partial(self._commit_again, request))
        elif self._in_flight.connection is None:
            self._call_back(now, request)
        else:
            client.elision.wake()
            self._requests.request(now, Api.OFFSET_COMMIT, request)
            client.drive(now)
