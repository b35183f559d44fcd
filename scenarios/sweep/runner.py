"""Carries out a sweep: which chunks there are, which are missing, and when a variant has runs enough."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import gcd
from pathlib import Path
from typing import Final, TypeAlias

from groupsim.scenarios.sweep.chunk import Chunk, Done, Work, carry_out
from groupsim.scenarios.sweep.folder import AnotherSweep, ChunkSizes, SweepFolder, damaged
from groupsim.scenarios.sweep.loading import Sweep
from groupsim.scenarios.sweep.outcome import Simulate

Progress: TypeAlias = Callable[[int, int, int], None]
"""Told how many runs are done, how many of them have failed, and how many are wanted."""
Executor: TypeAlias = Callable[[Sequence[Work], Simulate, Path, Callable[[], None]], list[Done]]
"""Carries out chunks, in any order, and calls back now and then."""

CHUNK_S: Final = 1.0
"""What is lost of a chunk at a death, and what it takes; its own cost is 30 ms (a task on Spark, two files)."""
CHUNK_RUNS_MAX: Final = 500
_TELL_S: Final = 0.5
KEPT_VARIANTS_MAX: Final = 40
"""Where there are more variants, no run's tables are kept: their replay lines bring them back."""


def chunk_sizes(sweep: Sweep, run_s: Mapping[str, float]) -> ChunkSizes:
    """For each variant, how many runs make a chunk of about ``CHUNK_S``, if a run takes ``run_s``.

    Where runs are added until there are enough, chunks end where that is asked.
    """
    plan = sweep.replications
    step = gcd(plan.at_least, plan.batch) if plan.at_least < plan.at_most else CHUNK_RUNS_MAX
    parts = [step // parts for parts in range(1, step + 1) if step % parts == 0]
    runs = {name: next((n for n in parts if n * one_s <= CHUNK_S), 1) for name, one_s in run_s.items()}
    return ChunkSizes(runs, run_s)


def kept_folder(sweep: Sweep, number: int) -> str:
    """Where the tables of a variant's first run are, relative to the sweep's folder: ``runs/03-static``; or empty."""
    count = len(sweep.variants)
    if count > KEPT_VARIANTS_MAX:
        return ""
    name = re.sub(r"[^A-Za-z0-9.=-]+", "_", sweep.variants[number].name)[:60]
    return f"runs/{str(number).zfill(len(str(count - 1)))}-{name}"


def in_process(work: Sequence[Work], simulate: Simulate, folder: Path, told: Callable[[], None]) -> list[Done]:
    """Carry out chunks one after the other in this process."""
    done = []
    for one in work:
        done.append(carry_out(one.chunk, one.scenario, simulate, folder))
        told()
    return done


class SweepRun:
    """A sweep under way in its folder."""

    def __init__(self, sweep: Sweep, folder: SweepFolder) -> None:
        self._sweep, self._folder = sweep, folder
        self._numbers = {one.name: number for number, one in enumerate(sweep.variants)}
        self._wanted = dict.fromkeys(self._numbers, 0)
        self._pending: dict[Chunk, Work] = {}
        self._done = self._failed = 0
        self._ask(dict.fromkeys(self._wanted, sweep.replications.at_least))

    @property
    def folder(self) -> Path:
        """Where the runs are kept."""
        return self._folder.path

    @property
    def missing_s(self) -> float:
        """Processor time that the runs take which are wanted so far and not there, seconds."""
        return sum(work.cost_s for work in self._pending.values())

    @property
    def wanted(self) -> dict[str, int]:
        """How many runs of each variant are wanted so far."""
        return dict(self._wanted)

    def mend(self) -> list[str]:
        """Take away chunks that are damaged, so that they are carried out again; what was wrong with each.

        Raises
        ------
        AnotherSweep
            Among the parts of the tables is one that is none of this sweep's, something else is in the place of what
            is to be written, or among what is to be taken away.
        """
        most = self._sweep.replications.at_most
        chunks = [work.chunk for one in self._wanted for work in self._work(one, 0, most)]
        if strangers := self._folder.strangers(chunks):
            raise AnotherSweep(f"{strangers[0]} is no part of this sweep, and would be counted as one: take it away")
        if misplaced := self._folder.misplaced(chunks):
            raise AnotherSweep(f"{misplaced[0]} is in the way of what this sweep writes: take it away")
        found = damaged(self._folder, chunks)
        if foreign := [one for chunk in found for one in self._folder.foreign(chunk)]:
            raise AnotherSweep(f"{foreign[0]} is among damaged tables, which are to be made anew: take it away")
        if found:
            self._folder.reopen()
        for chunk in found:
            self._folder.discard(chunk)
        return list(found.values())

    def drop_surplus(self) -> None:
        """Take away chunks of a variant beyond the runs that are wanted of it, or readers would count them."""
        most = self._sweep.replications.at_most
        for name, runs in self._wanted.items():
            for work in self._work(name, runs, most):
                self._folder.discard(work.chunk)

    def carry_out(self, simulate: Simulate, execute: Executor, progress: Progress) -> list[Done]:
        """Carry out what is missing until every variant has enough; the chunks that were done here."""
        told_s = 0.0

        def told() -> None:
            nonlocal told_s
            if time.monotonic() - told_s > _TELL_S:  # to count means to look for every file that is missing
                progress(*self.count())
                told_s = time.monotonic()

        done: list[Done] = []
        while True:
            progress(*self.count())
            if self._pending:
                # The longest first: then no core waits long for the last to end.
                missing = sorted(self._pending.values(), key=lambda work: -work.cost_s)
                self._folder.reopen()
                done += execute(missing, simulate, self._folder.path, told)
                self._check_committed()
            elif not self._widen():
                return done

    def _check_committed(self) -> None:
        """Check that what was carried out is there; otherwise it would be carried out for ever."""
        self.count()
        if self._pending:
            path = self._folder.path / next(iter(self._pending)).file("summary")
            raise OSError(f"{path} was written and is not there: is the folder shared, did somebody clear it?")

    def count(self) -> tuple[int, int, int]:
        """How many runs are done, how many of them have failed, and how many are wanted.

        Files are counted, since Spark Connect tells nothing of tasks.
        """
        for chunk in [chunk for chunk in self._pending if self._folder.has(chunk)]:
            del self._pending[chunk]
            self._done += chunk.count
            self._failed += self._folder.failed(chunk)
        return self._done, self._failed, sum(self._wanted.values())

    def _widen(self) -> bool:
        """Ask for more runs of the variants that have not enough; whether there are any."""
        plan = self._sweep.replications
        more = [name for name, n in self._wanted.items() if n < plan.at_most and not self._enough(name)]
        self._ask({name: min(self._wanted[name] + plan.batch, plan.at_most) for name in more})
        return bool(more)

    def _enough(self, name: str) -> bool:
        """Whether a variant has been run often enough: each of its groups."""
        plan, rows = self._sweep.replications, self._folder.summary(name, self._wanted[name])
        samples: dict[str, list[float | None]] = {}
        for group, value in zip(rows["group"].to_pylist(), rows[plan.metric].to_pylist(), strict=True):
            samples.setdefault(group, []).append(value)
        return plan.enough(samples)

    def _ask(self, wanted: Mapping[str, int]) -> None:
        for name, runs in wanted.items():
            self._pending |= {work.chunk: work for work in self._work(name, self._wanted[name], runs)}
            self._wanted[name] = runs

    def _work(self, name: str, begin: int, end: int) -> Iterator[Work]:
        """The chunks of a variant's runs from ``begin`` to before ``end``."""
        number = self._numbers[name]
        one = self._sweep.variants[number]
        size, run_s = self._folder.sizes.runs[name], self._folder.sizes.run_s[name]
        replay = self._sweep.replay(one)
        for first in range(begin, end, size):
            kept, count = kept_folder(self._sweep, number) if first == 0 else "", min(size, end - first)
            chunk = Chunk(variant=name, seed=one.seed, first=first, count=count, replay=replay, kept=kept)
            yield Work(chunk, one.scenario, run_s * count)
