"""Small sweeps of a stand-in for the simulator, and what becomes of them in a folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from groupsim.scenarios.sweep.chunk import Done
from groupsim.scenarios.sweep.folder import ChunkSizes, SweepFolder, sweep_folder
from groupsim.scenarios.sweep.identity import identity_of
from groupsim.scenarios.sweep.loading import Sweep, Variant
from groupsim.scenarios.sweep.outcome import Simulate
from groupsim.scenarios.sweep.replications import Replications
from groupsim.scenarios.sweep.runner import Executor, SweepRun, in_process
from tests.support import fake_simulation as fake

VARIANTS = ("range", "static, a/b=1")


def sweep_of(
    replications: Replications | int = 3, variants: Iterable[str] = VARIANTS, seed: int = 5, members: int = 3
) -> Sweep:
    plan = Replications.fixed(replications) if isinstance(replications, int) else replications
    return Sweep(
        name="small", source="small.yaml", replications=plan, document={"scenario": "small.yaml", "seed": seed},
        variants=tuple(
            Variant(name=name, changes={"n": n}, scenario=fake.scenario(members=members + n), seed=seed)
            for n, name in enumerate(variants)
        ),
    )  # fmt: skip


def sizes_of(sweep: Sweep, chunk: int) -> ChunkSizes:
    """Chunks of equal size; a run of each variant takes longer than one of that before it."""
    names = [one.name for one in sweep.variants]
    return ChunkSizes(dict.fromkeys(names, chunk), {name: 1.0 + number / 3 for number, name in enumerate(names)})


def carried_out(
    sweep: Sweep, path: Path, simulate: Simulate = fake.simulate, execute: Executor = in_process,
    *, chunk: int = 2, resume: bool = False,
) -> tuple[SweepFolder, list[Done]]:  # fmt: skip
    """The folder after all runs, ``chunk`` of them a chunk, and the chunks that were done."""
    sizes = sizes_of(sweep, chunk)
    with sweep_folder(path, identity_of(sweep), lambda: sizes, resume=resume) as folder:
        running = SweepRun(sweep, folder)
        running.mend()
        return folder, running.carry_out(simulate, execute, lambda done, failed, wanted: None)
