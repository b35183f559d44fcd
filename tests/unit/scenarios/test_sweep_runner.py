"""Which runs a sweep carries out, in which order, and when it stops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from groupsim.scenarios.sweep.chunk import Done, Work
from groupsim.scenarios.sweep.folder import sweep_folder
from groupsim.scenarios.sweep.identity import identity_of
from groupsim.scenarios.sweep.outcome import Simulate
from groupsim.scenarios.sweep.replications import Replications
from groupsim.scenarios.sweep.runner import SweepRun, chunk_sizes, in_process, kept_folder
from groupsim.sim import Result
from groupsim.sim.model import Scenario
from tests.support import fake_simulation as fake
from tests.support.sweeps import carried_out, sizes_of, sweep_of


def test_every_run_is_there_once(tmp_path: Path) -> None:
    folder, _ = carried_out(sweep_of(5), tmp_path / "out", chunk=2)
    for variant in ("range", "static, a/b=1"):
        assert folder.summary(variant, 99)["replication"].to_pylist() == [r for r in range(5) for _ in range(2)]


def test_does_not_depend_on_the_order_in_which_chunks_end(tmp_path: Path) -> None:
    def backwards(work: Sequence[Work], simulate: Simulate, folder: Path, told: Callable[[], None]) -> list[Done]:
        return in_process(list(reversed(work)), simulate, folder, told)

    forth, _ = carried_out(sweep_of(), tmp_path / "forth", fake.fail_on_second)
    back, _ = carried_out(sweep_of(), tmp_path / "back", fake.fail_on_second, backwards)
    for variant in ("range", "static, a/b=1"):
        assert forth.summary(variant, 99) == back.summary(variant, 99)
        assert forth.failures(variant, 99) == back.failures(variant, 99)


def test_the_longest_chunks_come_first(tmp_path: Path) -> None:
    asked: list[float] = []

    def noted(work: Sequence[Work], simulate: Simulate, folder: Path, told: Callable[[], None]) -> list[Done]:
        asked.extend(one.cost_s for one in work)
        return in_process(work, simulate, folder, told)

    carried_out(sweep_of(3), tmp_path / "out", execute=noted)
    assert asked == sorted(asked, reverse=True)
    assert len(set(asked)) == 4, "two variants of unequal cost, chunks of two runs and of one"


def test_progress_counts_runs_and_failures(tmp_path: Path) -> None:
    told: list[tuple[int, int, int]] = []
    sweep = sweep_of()
    sizes = sizes_of(sweep, 2)
    with sweep_folder(tmp_path / "out", identity_of(sweep), lambda: sizes, resume=False) as folder:
        SweepRun(sweep, folder).carry_out(fake.fail_on_second, in_process, lambda *counts: told.append(counts))
    assert told[0] == (0, 0, 6)
    assert told[-1] == (6, 2, 6)
    assert told == sorted(told)


def test_results_that_vanish_end_the_sweep_in_words(tmp_path: Path) -> None:
    def elsewhere(work: Sequence[Work], simulate: Simulate, folder: Path, told: Callable[[], None]) -> list[Done]:
        return in_process(work, simulate, tmp_path / "elsewhere", told)

    with pytest.raises(OSError, match=r"part-0000000\.parquet was written and is not there: is the folder shared"):
        carried_out(sweep_of(), tmp_path / "out", execute=elsewhere)


@pytest.mark.parametrize(("run_s", "chunk"), [(0.0, 500), (0.01, 100), (0.3, 2), (0.6, 1), (70.0, 1)])
def test_chunks_are_about_a_second_long(run_s: float, chunk: int) -> None:
    assert chunk_sizes(sweep_of(2000), {"range": run_s, "static": 9.0}).runs == {"range": chunk, "static": 1}


def test_chunks_end_where_runs_are_added() -> None:
    plan = Replications(at_least=10, at_most=200, metric="losses", half_width=0.1)
    sizes = {run_s: chunk_sizes(sweep_of(plan), {"range": run_s}).runs["range"] for run_s in (0.0, 0.19, 0.3, 0.6)}
    assert all(plan.at_least % size == 0 and plan.batch % size == 0 for size in sizes.values())
    assert sizes == dict(sorted(sizes.items(), key=lambda one: -one[1]))


def test_kept_folders_sort_in_the_order_of_the_variants() -> None:
    sweep = sweep_of(variants=[str(n) for n in range(11)])
    assert kept_folder(sweep, 3) == "runs/03-3"
    assert kept_folder(sweep, 10) == "runs/10-10"


def test_of_many_variants_keeps_no_runs() -> None:
    assert kept_folder(sweep_of(variants=[str(n) for n in range(41)]), 3) == ""


def test_runs_are_added_until_the_mean_is_known_or_there_are_as_many_as_allowed(tmp_path: Path) -> None:
    plan = Replications(at_least=4, at_most=33, metric="unavailable_gap_s_max", half_width=0.2)
    folder, done = carried_out(sweep_of(plan), tmp_path / "out", steady_and_wild)
    assert len(set(folder.summary("range", 99)["replication"].to_pylist())) == 4, "no spread: enough at once"
    assert len(set(folder.summary("static, a/b=1", 99)["replication"].to_pylist())) == 33
    assert sum(one.runs for one in done) == 37


def test_added_runs_are_the_same_after_a_death_in_the_middle(tmp_path: Path) -> None:
    plan = Replications(at_least=4, at_most=33, metric="unavailable_gap_s_max", half_width=0.2)
    whole, _ = carried_out(sweep_of(plan), tmp_path / "whole", steady_and_wild)

    def dies(work: Sequence[Work], simulate: Simulate, folder: Path, told: Callable[[], None]) -> list[Done]:
        if any(one.chunk.first >= 14 for one in work):
            in_process(work[:2], simulate, folder, told)
            raise KeyboardInterrupt
        return in_process(work, simulate, folder, told)

    with pytest.raises(KeyboardInterrupt):
        carried_out(sweep_of(plan), tmp_path / "out", steady_and_wild, dies)
    resumed, _ = carried_out(sweep_of(plan), tmp_path / "out", steady_and_wild, resume=True)
    for variant in ("range", "static, a/b=1"):
        assert resumed.summary(variant, 99) == whole.summary(variant, 99)


def steady_and_wild(scenario: Scenario, *, seed: int, replication: int, variant: str) -> Result:
    """One variant always has the same value, the other one now none and now much."""
    result = fake.simulate(scenario, seed=seed, replication=replication, variant=variant)
    value = 7.0 if variant == "range" else 100.0 * (replication % 7 == 0)
    result.tables.columns("summary")["unavailable_gap_s_max"][:] = value
    return result
