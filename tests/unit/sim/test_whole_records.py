"""Fractions of records that are put together."""

from __future__ import annotations

import numpy as np

from groupsim.sim.books.offsets.whole_records import whole_records


def test_those_that_lack_least_get_one_more_as_many_as_the_fractions_make() -> None:
    fractions = np.array([0.2, 0.9, 0.5, 0.4])
    assert whole_records(fractions, np.ones(4, np.bool_)).tolist() == [0, 1, 1, 0]
    assert whole_records(fractions, np.array([True, False, True, True])).tolist() == [0, 0, 1, 1]
    assert whole_records(fractions, np.array([False, False, True, False])).tolist() == [0, 0, 1, 0]
    assert whole_records(np.full(10, 0.1), np.ones(10, np.bool_)).sum() == 1, "0.1 ten times is a little less than 1"
