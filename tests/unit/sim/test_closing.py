"""What close() is told about the group (``CloseOptions``, KIP-1092), in both protocols and fidelities."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from groupsim.sim.config import ClientConfig
from groupsim.sim.model import Close, Closing, Distribution, Entry, Restart, RollingRestart
from groupsim.sim.units import S
from tests.unit.sim.scenes import CLIENT, FIDELITIES, entry, everybody, group, member, rows, scene, simulate, summary

CONSUMER = ClientConfig(group_protocol="consumer", auto_offset_reset="earliest")
CLIENTS = {"classic": CLIENT, "consumer": CONSUMER}
SESSION_S = {"classic": 10, "consumer": 45}
CLOSED = 20 * S
PROTOCOLS = pytest.mark.parametrize("protocol", CLIENTS)
BOTH = pytest.mark.parametrize("fidelity", FIDELITIES)


def closed(protocol: str, fidelity: str, what: Closing, *, static: bool, **changes: Any) -> Any:
    """Two members; the second is closed at 20 s."""
    one = group(count=2, client=replace(CLIENTS[protocol], **changes), static=static)
    timeline: tuple[Entry, ...] = (entry(CLOSED, Close(target=member(1), close=what)),)
    return simulate(scene(one, timeline=timeline, horizon_us=90 * S), fidelity)


def waited_s(result: Any) -> tuple[set[str], float]:
    """Why partitions were unread after the close, and the longest gap."""
    table = result.tables["unavailability"]
    table = table[table["from_us"] >= CLOSED]
    total: pd.Series[Any] = (table["to_us"] - table["from_us"]).groupby(table["partition"]).sum() / S
    return set(table["cause"]), float(total.max())


@BOTH
@PROTOCOLS
@pytest.mark.parametrize(("static", "what"), [(False, "default"), (False, "leave_group"), (True, "leave_group")])
def test_who_leaves_is_replaced_with_the_next_heartbeat(
    protocol: str, fidelity: str, static: bool, what: Closing
) -> None:
    result = closed(protocol, fidelity, what, static=static)
    causes, longest = waited_s(result)
    assert "away" not in causes
    assert longest < 6
    assert summary(result)[["leaves", "evictions"]].tolist() == [1, 0]


@BOTH
@PROTOCOLS
@pytest.mark.parametrize(("static", "what"), [(True, "default"), (True, "remain_in_group"), (False, "remain_in_group")])
def test_who_remains_keeps_its_place_until_its_session_ends(
    protocol: str, fidelity: str, static: bool, what: Closing
) -> None:
    result = closed(protocol, fidelity, what, static=static)
    causes, longest = waited_s(result)
    assert "away" in causes
    assert "detection" not in causes
    assert SESSION_S[protocol] - 6 < longest < SESSION_S[protocol] + 6
    assert summary(result)[["leaves", "evictions"]].tolist() == [0, 1]


@PROTOCOLS
def test_clients_before_4_1_cannot_be_told(protocol: str) -> None:
    older = replace(CLIENTS[protocol].behaviour, close_operations=False)
    stays = closed(protocol, "elided", "leave_group", static=True, behaviour=older)
    goes = closed(protocol, "elided", "remain_in_group", static=False, behaviour=older)
    assert (summary(stays)["leaves"], summary(goes)["leaves"]) == (0, 1)
    assert "away" in waited_s(stays)[0]
    assert "away" not in waited_s(goes)[0]


@PROTOCOLS
def test_restarts_tell_it_too(protocol: str) -> None:
    down = Distribution.constant(S)
    one = group(count=2, client=CLIENTS[protocol], static=True)
    verbs = (
        Restart(target=member(1), down=down, close="leave_group"),
        RollingRestart(target=everybody(), down=down, close="leave_group"),
    )
    for verb, leaves in zip(verbs, (1, 2), strict=True):
        result = simulate(scene(one, timeline=(entry(CLOSED, verb),), horizon_us=80 * S))
        assert summary(result)["leaves"] == leaves
        assert len(rows(result, "members")) == 2 + leaves


def test_who_has_just_lost_all_that_it_read_from_a_broker_asks_there_again() -> None:
    """The fetch that is parked there keeps the connection open, and is all that the request waits for."""
    one = group(count=2, client=CONSUMER, static=True)
    away = RollingRestart(target=everybody(), down=Distribution.constant(S), close="leave_group")
    result = simulate(scene(one, timeline=(entry(CLOSED, away),), horizon_us=80 * S))
    assert {row["member"] for row in rows(result, "ownership", ended_by="horizon")} == {"g/0", "g/1"}
