"""Of which offsets there is output, against sets of single offsets."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.sim.books.producing.coverage import Coverage

pytestmark = pytest.mark.property

STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "take back", "lose", "repeat"]), st.integers(0, 30), st.integers(1, 8)),
    max_size=20,
)  # fmt: skip


@given(STEPS)
def test_coverage_is_that_of_single_offsets(steps: list[tuple[str, int, int]]) -> None:
    coverage, times, batches = Coverage(), Counter[int](), list[tuple[int, int]]()
    taken, repeated = set[int](), set[int]()
    for what, at, length in steps:
        offsets = range(at, at + length)
        if what == "take back":
            if batches:
                offsets = range(*batches.pop(at % len(batches)))
                coverage.take_back(offsets.start, offsets.stop)
                times.subtract(offsets)
                taken.update(offsets)
        elif what == "add":
            coverage.add(offsets.start, offsets.stop)
            times.update(offsets)
            batches.append((offsets.start, offsets.stop))
        elif what == "lose":
            coverage.lose(offsets.start, offsets.stop)
            taken.update(offsets)
        else:
            coverage.repeat(offsets.start, offsets.stop)
            repeated.update(offsets)
    there = {offset for offset, count in times.items() if count}
    known = there | taken
    assert coverage.twice == sum(count - 1 for count in times.values() if count > 1)
    assert coverage.repeated == sum(times[offset] - 1 for offset in repeated & there)
    assert coverage.missing == (max(known) - min(known) + 1 - len(there) if known else 0)
    assert coverage.taken_back == len(taken - there)
