"""The folder of a sweep: begun once, filled chunk by chunk, finished once, and safe to take up after any death.

sweep.json      written first: which sweep this is, and how its runs are dealt out to chunks; locked while one runs
summary/        the chunks' rows (`scenarios.sweep.chunk`), partitioned by variant, as are failures/
runs/           tables of single runs
manifest.json   written last: where it is, all runs are there
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import pyarrow as pa

from groupsim.scenarios.files.new_folder import OccupiedFolder, place_of, refuse_occupied
from groupsim.scenarios.files.result_folder import MANIFEST, damage_of_run, put_file, read_signed
from groupsim.scenarios.sweep.chunk import FAILURES, SUMMARY, Chunk, part_of
from groupsim.scenarios.sweep.identity import differences
from groupsim.sim.errors import ConfigError
from groupsim.sim.output.result import manifest_text
from groupsim.sim.tables import TABLES

PLAN: Final = "sweep.json"
_PARTIAL: Final = re.compile(r"\..+\.([0-9a-f]{8}|\d+)\.partial")
"""What `files.new_folder.partial_name` and `_begin` name what is not whole yet."""
_DRAFT: Final = re.compile(rf"\.{re.escape(PLAN)}\.\d+\.partial")
_SCHEMAS: Final = {"summary": SUMMARY, "failures": FAILURES}


@dataclass(frozen=True, slots=True)
class ChunkSizes:
    """How the runs of a sweep are dealt out to chunks, settled when its folder is begun.

    Parameters
    ----------
    runs : mapping of str to int
        How many runs a chunk of each variant has.
    run_s : mapping of str to float
        How long a run of each variant was expected to take then.
    """

    runs: Mapping[str, int]
    run_s: Mapping[str, float]


class FolderInUse(ConfigError):
    """Another sweep is writing into the folder."""


class AnotherSweep(ConfigError):
    """The folder holds results of another sweep, another model, or other seeds."""


@dataclass(frozen=True, slots=True)
class SweepFolder:
    """A sweep's folder that this process has locked.

    Parameters
    ----------
    path : Path
    sizes : ChunkSizes
        From the folder's first day on.
    """

    path: Path
    sizes: ChunkSizes

    def has(self, chunk: Chunk) -> bool:
        """Whether the chunk is committed."""
        return (self.path / chunk.file("summary")).exists()

    def failed(self, chunk: Chunk) -> int:
        """How many runs of a committed chunk have failed."""
        return len(self._rows("failures", [chunk.file("failures")]))

    def summary(self, variant: str, runs: int) -> pa.Table:
        """The rows of ``summary`` of a variant's first runs that are there, run by run."""
        return self._rows("summary", self._parts("summary", variant, runs))

    def failures(self, variant: str, runs: int) -> pa.Table:
        """The failures of a variant's first runs that are there, run by run."""
        return self._rows("failures", self._parts("failures", variant, runs))

    def _parts(self, table: str, variant: str, runs: int) -> Iterator[Path]:
        return (part_of(table, variant, first) for first in range(0, runs, self.sizes.runs[variant]))

    def _rows(self, table: str, parts: Iterable[Path]) -> pa.Table:
        declared, files = _SCHEMAS[table], [self.path / part for part in parts]
        there = (read_signed(file, declared) for file in files if file.exists())
        return pa.concat_tables([declared.empty_table(), *there])

    def damage(self, chunk: Chunk) -> str:
        """What is wrong with the files of a committed chunk; empty if nothing is. What is damaged is not counted."""
        try:
            summary, failures = (self._rows(table, [chunk.file(table)]) for table in ("summary", "failures"))
        except (OSError, ValueError) as error:
            return f"{chunk.file('summary')} is damaged: {' '.join(str(error).split())[:120]}"
        found = {(seed, r) for one in (summary, failures) for seed, r in _runs(one)}
        if found != {(chunk.seed, r) for r in chunk.replications}:
            return f"{chunk.file('summary')} does not hold the runs that it should"
        if chunk.kept and 0 in chunk.replications and (chunk.seed, 0) not in set(_runs(failures)):
            damage = damage_of_run(self.path / chunk.kept)
            return f"{chunk.kept}: {damage}" if damage else ""
        return ""

    def strangers(self, chunks: Iterable[Chunk]) -> list[Path]:
        """Parts of tables that are none of these chunks, and that readers would take for some; sorted."""
        own = {chunk.file(table) for chunk in chunks for table in _SCHEMAS}
        found = [
            file for table in _SCHEMAS for file in (self.path / table).rglob("*.parquet") if file.name[0] not in "._"
        ]
        return sorted(file for file in found if file.relative_to(self.path) not in own)

    def misplaced(self, chunks: Iterable[Chunk]) -> list[Path]:
        """What is no folder where these chunks need one, or a folder where they need a file; sorted."""
        files, folders = {Path(MANIFEST)}, set()
        for chunk in chunks:
            files |= {chunk.file(table) for table in _SCHEMAS}
            folders |= {Path(chunk.kept)} if chunk.kept else set()
        folders |= {above for one in (*files, *folders) for above in one.parents}
        wrong = [one for one in files if (self.path / one).is_dir()]
        wrong += [one for one in folders if os.path.lexists(self.path / one) and not (self.path / one).is_dir()]
        return sorted(self.path / one for one in wrong)

    def foreign(self, chunk: Chunk) -> list[Path]:
        """What is among the tables of a chunk's kept run and is none of them; sorted."""
        folder, own = self.path / chunk.kept, {MANIFEST, *(f"{name}.parquet" for name in TABLES)}
        there = folder.iterdir() if chunk.kept and folder.is_dir() else ()
        return sorted(one for one in there if one.name not in own or one.is_dir())

    def reopen(self) -> None:
        """Take back that all is there, before anything is taken away or made anew."""
        (self.path / MANIFEST).unlink(missing_ok=True)

    def discard(self, chunk: Chunk) -> None:
        """Take away what is left of a damaged chunk."""
        for table in ("summary", "failures"):
            (self.path / chunk.file(table)).unlink(missing_ok=True)
        if chunk.kept and 0 in chunk.replications:
            shutil.rmtree(self.path / chunk.kept, ignore_errors=True)

    def finish(self, manifest: Mapping[str, Any]) -> None:
        """Take away what dead writers have left, and say that all is there."""
        for top, folders, files in os.walk(self.path):  # unlike a glob it bears with folders that vanish meanwhile
            for partial in (Path(top, name) for name in (*folders, *files) if _PARTIAL.fullmatch(name)):
                shutil.rmtree(partial, ignore_errors=True) if partial.is_dir() else partial.unlink(missing_ok=True)
        put_file(self.path / MANIFEST, manifest_text(manifest).encode())


def _runs(table: pa.Table) -> Iterator[tuple[int, int]]:
    """Seed and replication of each row."""
    return zip(table["seed"].to_pylist(), table["replication"].to_pylist(), strict=True)


@contextmanager
def sweep_folder(
    path: Path, identity: Mapping[str, Any], settle: Callable[[], ChunkSizes], *, resume: bool
) -> Iterator[SweepFolder]:
    """The folder of a sweep, locked until the block ends.

    Parameters
    ----------
    identity : mapping
        `scenarios.sweep.identity.identity_of` the sweep.
    settle : callable
        How runs are dealt out to chunks: asked when a folder is begun here, and not for one that is there.
    resume : bool
        Take up a folder that is there; begin one if there is none.

    Raises
    ------
    OccupiedFolder
        Without ``resume``, it holds something; with it, what it holds is no sweep; or it cannot be made.
    AnotherSweep
        It is another sweep's; the message says what differs.
    FolderInUse
        A sweep is writing into it now.
    """
    place_of(path)  # or nothing below can be asked of it
    if not (resume and (path / PLAN).is_file()):
        _begin(path, identity, settle)
    with (path / PLAN).open("rb") as file:
        _lock(file, path)
        plan = _plan(file, path)
        if differing := differences(plan["identity"], identity):
            raise AnotherSweep(f"{path} holds another sweep's results: {differing}; name a new folder")
        yield SweepFolder(path, ChunkSizes(plan["chunk_runs"], plan["run_s"]))


def _begin(path: Path, identity: Mapping[str, Any], settle: Callable[[], ChunkSizes]) -> None:
    if (path / PLAN).is_file():
        raise OccupiedFolder(f"{path} holds a sweep's results; go on with it by --resume, or name a new folder")
    refuse_occupied(path, _DRAFT)  # of a process that was killed just here, or of one that is faster
    draft = path / f".{PLAN}.{os.getpid()}.partial"
    try:
        place_of(path).mkdir(parents=True, exist_ok=True)
        draft.touch()  # before anything is spent
        try:
            sizes = settle()
            plan = {"identity": identity, "chunk_runs": dict(sizes.runs), "run_s": dict(sizes.run_s)}
            draft.write_text(json.dumps(plan, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            (path / PLAN).hardlink_to(draft)  # unlike a rename it fails where another sweep was faster
        finally:
            draft.unlink()
    except FileExistsError:
        raise FolderInUse(f"another sweep has just begun in {path}; name a new folder") from None
    except OSError as error:
        raise OccupiedFolder(f"{path} cannot be made: {error.strerror}") from error


def _lock(file: IO[bytes], path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # ends with the process, however that ends
    except BlockingIOError:
        raise FolderInUse(f"another sweep is writing into {path}; wait for it, or name a new folder") from None


def _plan(file: IO[bytes], path: Path) -> dict[str, Any]:
    try:
        read = json.load(file)
        plan = {key: dict(read[key]) for key in ("identity", "chunk_runs", "run_s")}
        if not _sizes_all(plan["identity"]["variants"], plan["chunk_runs"], plan["run_s"]):
            raise ValueError
        return plan
    except (ValueError, TypeError, KeyError, RecursionError):
        raise AnotherSweep(f"{path / PLAN} is not what groupsim has written: name a new folder") from None


def _sizes_all(variants: Mapping[str, Any], chunk_runs: Mapping[str, Any], run_s: Mapping[str, Any]) -> bool:
    """Whether a plan says of every variant how many runs a chunk has, and how long one takes."""
    whole = all(type(chunk_runs.get(name)) is int and chunk_runs[name] > 0 for name in variants)
    return whole and all(isinstance(run_s.get(name), int | float) for name in variants)


def damaged(folder: SweepFolder, chunks: Sequence[Chunk]) -> dict[Chunk, str]:
    """The committed chunks that cannot be used, and why; the others are read to their last byte."""
    found = {chunk: folder.damage(chunk) for chunk in chunks if folder.has(chunk)}
    return {chunk: damage for chunk, damage in found.items() if damage}
