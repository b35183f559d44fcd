"""What a member that wakes has on its way: requests that were arithmetic so far become messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from groupsim.sim.client.client import Client
from groupsim.sim.fastpath.quiet.steady_state import Beat, SteadyState
from groupsim.sim.kernel.environment import Moment
from groupsim.sim.kernel.network import Connection, Exchange
from groupsim.sim.protocol.effects import Request
from groupsim.sim.protocol.messages import Acknowledgement, Api, Error


class Resending:
    """Requests of one client.

    Parameters
    ----------
    client : Client
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._books = client.books
        self._machine = client.machine

    def resend(self, quiet: SteadyState, beats: Sequence[Beat], moment: Moment, renewed: int) -> int:
        """Requests on the way become messages, the last commit goes into the books; the last renewal, microseconds.

        Parameters
        ----------
        beats : sequence of Beat
            What can have been on its way at ``moment``, in order of sending.
        renewed : int, microseconds
            Last renewal of the session before these.
        """
        connection = self._client.in_flight.connection
        assert connection is not None
        committed: Beat | None = None
        is_held_up = any(not exchange.answered for exchange in self._client.in_flight.pending)
        for beat in beats:
            if is_held_up or (beat.worked, connection.request_key) >= moment:
                self._resend(connection, beat, moment)
                continue
            if beat.kind != "commit" or self._client.group.machine.commits_renew:
                # Not the later of both: with a shorter session.timeout.ms it ends earlier than before.
                renewed = beat.worked
            committed = beat if beat.kind == "commit" else committed
            connection.order = (beat.arrived, beat.left, beat.answered)
            if (beat.answered, connection.response_key) >= moment:
                self._await_answer(connection, beat)
            elif beat.kind != "commit":
                self._machine.note_answer(beat.sent, quiet.read_at(beat.answered))
        if committed is not None:
            self._books.ledger.commit(
                self._client.consumption.partitions,
                self._client.commits.offsets(committed.sent),
                (committed.worked, connection.request_key),
                contested=self._books.is_contested,
            )
        return renewed

    def _resend(self, connection: Connection, beat: Beat, moment: Moment) -> None:
        """The broker has not worked on it yet."""
        exchange = self._remake(connection, beat)
        if beat.kind == "commit":
            self._client.group.log.commit_quietly(-1, exchange.body.positions)
        if self._books.is_measured(exchange.sent_us):
            self._books.record.requests[exchange.api.value, Error.NONE.value] -= 1
        connection.up_us = beat.arrived
        connection.arrive_at(max(beat.arrived, moment[0]), exchange)

    def _await_answer(self, connection: Connection, beat: Beat) -> None:
        """The answer is on its way."""
        exchange = self._remake(connection, beat)
        exchange.answered = True
        response: Any = Acknowledgement(Error.NONE)
        if beat.kind != "commit":
            response = self._client.group.machine.steady_answer(self._machine.member_id)
        connection.answer_at(beat.answered, exchange, response)

    def _remake(self, connection: Connection, beat: Beat) -> Exchange:
        """The exchange that this quiet request would have been."""
        machine, client = self._machine, self._client
        if beat.kind == "commit":
            api = Api.OFFSET_COMMIT
            body: Request = machine.commit_again(client.consumption.partitions, client.commits.offsets(beat.sent))
        else:
            api, body = machine.heartbeat_api, machine.beat_again(beat.sent)
        exchange = client.in_flight.numbered(beat.sent, connection, api, body, beat.number)
        client.in_flight.pending[exchange] = None
        return exchange
