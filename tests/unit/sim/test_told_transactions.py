"""What is kept of transactions that are worked out ahead does not grow with how many there are."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.sim.books.producing import output_history
from groupsim.sim.fastpath.transactions import ahead
from groupsim.sim.fastpath.transactions.parking import Parking
from groupsim.sim.output import lag_reading
from tests.unit.sim.transactional_scenes import JITTER, played, transform

ROWS = 500


def kept(monkeypatch: pytest.MonkeyPatch, horizon_s: int) -> tuple[int, dict[str, int]]:
    """How many transactions there were, and how many rows, foretold samples and steps of the clock at most."""
    most = dict.fromkeys(("log", "output", "foretold", "steps"), 0)
    settle: Any = Parking._settle

    def settled(parking: Parking) -> None:
        settle(parking)
        ledger = parking._group.books.ledger
        foretold = sum(len(one.times) for one in ledger.samples.foretold.values())
        found = {"log": ledger.log.rows, "output": parking._host.output._history.kept, "foretold": foretold}
        for name, number in found.items():
            most[name] = max(most[name], number)
        most["steps"] += 1

    with monkeypatch.context() as patch:
        patch.setattr(ahead, "_CELLS", ROWS)
        patch.setattr(output_history, "_KEPT", ROWS)
        patch.setattr(lag_reading, "_ROWS", ROWS)
        patch.setattr(Parking, "_settle", settled)
        result = played(transform(count=3, horizon_s=horizon_s, cluster=JITTER))
    return int(result.tables["transactions"].committed.sum()), most


def test_what_is_kept_does_not_grow_with_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    few, most_of_few = kept(monkeypatch, 60)
    many, most_of_many = kept(monkeypatch, 240)
    assert many > 3.8 * few
    assert most_of_many["steps"] > 3 * most_of_few["steps"]
    for name in ("log", "output", "foretold"):
        assert 0 < most_of_many[name] <= 1.5 * most_of_few[name], name
    assert most_of_many["log"] < 6 * ROWS
    assert most_of_many["output"] < 6 * ROWS
