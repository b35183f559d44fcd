"""Clusters and the plays on them, several at once; each is recorded when it is over; everything is ended at last."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from groupsim.sim.units import MS, S
from tests.oracle import rehearsal
from tests.oracle.artifacts import class_path, java, java_version
from tests.oracle.broker import Brokers, Layout, layout
from tests.oracle.cast import Cast
from tests.oracle.failures import CannotPlay
from tests.oracle.health import Health
from tests.oracle.jvm import Jvm
from tests.oracle.outages import Outages, settle
from tests.oracle.play import Play, now_us
from tests.oracle.recording import record
from tests.oracle.rehearsal import MEMBERS_AT_ONCE
from tests.oracle.supply import Supply
from tests.oracle.trace import Trace, write
from tests.oracle.translation import Plan, Source, plan

CLIENT: Final = ("-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                  "-Dlog4j2.configurationFile=client-log4j2.properties")  # fmt: skip
_REHEARSAL_MRPS: Final = 2_000
_LEAD_US: Final = S
"""From the end of the preparations to the first instant 0."""
_STAGGER_US: Final = 370 * MS
"""Plays at once do not begin at once, so that their heartbeats and their starts do not fall together."""

Progress = Callable[[str], None]
Finished = Callable[[Play, Outages | None], None]


class Stage:
    """A cluster, its producers, and the JVMs of the plays on it.

    Parameters
    ----------
    java : tuple of str
        Java and its class path option.
    config : mapping
        The brokers'.
    ports : Layout
        Of the brokers.
    folder : Path
    """

    def __init__(self, java: tuple[str, ...], config: Mapping[str, str], ports: Layout, folder: Path) -> None:
        self._java = java
        self._folder = folder
        self._jvms: list[Jvm] = []
        self._warm: dict[Jvm, tuple[int, list[str]]] = {}
        self._idle: list[Jvm] = []
        self.broker = Brokers(java, config, folder / "brokers", ports)

    def start_jvm(self, name: str, main: str, *arguments: str) -> Jvm:
        """Start one of our programs; it is ended with the stage."""
        command = [*self._java, *CLIENT, f"groupsim.oracle.{main}", *arguments]
        self._jvms.append(Jvm(name, command, self._folder))
        return self._jvms[-1]

    async def play(self, plans: Sequence[Plan], supply: Supply, finished: Finished) -> None:
        """Play some repetitions at once; call ``finished`` with each that is over."""
        plays = [self._play(one, supply) for one in plans]
        outages = Outages(self.broker, supply, plays) if plans[0].outages else None
        supply.rate(rehearsal.TOPIC, (_REHEARSAL_MRPS,), MEMBERS_AT_ONCE)
        hosts = ((*each, one.plan.spoken) for one in plays for each in one.cast.jvms.items())
        cold = [one for one in hosts if one[0] not in self._warm]
        rehearsals = (rehearsal.rehearse(jvm, n, self.broker.servers, spoken, supply) for jvm, n, spoken in cold)
        self._warm |= {jvm: (n, spoken) for jvm, n, spoken in cold}
        await _all(*rehearsals, *(one.prepare() for one in plays))
        supply.rate(rehearsal.TOPIC, (0,), MEMBERS_AT_ONCE)
        if outages is not None:
            await outages.place()
        await _all(*(one.configure() for one in plays))
        zero_us = now_us() + _LEAD_US
        runs = (self._run(one, zero_us + n * _STAGGER_US, outages, finished) for n, one in enumerate(plays))
        await _all(*runs)
        if outages is not None:
            await settle(self.broker, supply)

    async def _run(self, play: Play, zero_us: int, outages: Outages | None, finished: Finished) -> None:
        """Play one; what it needed makes way for the others, or waits for the next play."""
        await play.run(zero_us, outages.stories(play) if outages is not None else ())
        play.rest()
        finished(play, outages)
        busy = await play.dismissed()
        for jvm in play.cast.jvms:
            if jvm.is_alive and jvm not in busy:
                self._idle.append(jvm)
            else:
                jvm.end()
                self._jvms.remove(jvm)

    def _play(self, one: Plan, supply: Supply) -> Play:
        prefix = f"{one.scenario.name}-{one.repetition}"
        cast = Cast(one, prefix, self.broker.servers, lambda name, members: self._host(name, members, one.spoken))
        return Play(one, prefix, self.broker, supply, cast)

    def _host(self, name: str, members: int, spoken: list[str]) -> Jvm:
        """A JVM that has rehearsed with as many members, or a new one."""
        for jvm in self._idle:
            number, protocols = self._warm[jvm]
            if number >= members and protocols == spoken:
                self._idle.remove(jvm)
                jvm.lines()  # Nobody wants to know how it went home.
                return jvm
        return self.start_jvm(name, "Members")

    def end(self) -> None:
        """End everything that was started."""
        for jvm in self._jvms:
            jvm.end()
        self.broker.end()


async def play_all(sources: Sequence[Source], repetitions: range, at_once: int, out: Path, progress: Progress) -> None:
    """Play and record these repetitions of every source into ``out``.

    Raises
    ------
    OracleError
        In one line; whatever was recorded before is in ``out``.
    """
    command = (java(), "-cp", class_path())
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotPlay(f"{out} is no folder to write to: {error.strerror}") from None
    brokers: defaultdict[tuple[int, bool, tuple[tuple[str, str], ...]], list[Plan]] = defaultdict(list)
    for source in sources:
        plans = [plan(source, number) for number in repetitions]
        config = tuple(sorted(source.broker_config.items()))
        brokers[len(source.scenario.cluster.brokers), source.fails, config] += plans
    with tempfile.TemporaryDirectory(prefix="groupsim-oracle-") as folder:
        for number, ((count, fails, config), plans) in enumerate(brokers.items()):
            where, ports = Path(folder, str(number)), layout(count, fails=fails)
            await _on_one_cluster(command, dict(config), ports, where, plans, at_once, out, progress)


async def _on_one_cluster(
    command: tuple[str, ...],
    config: Mapping[str, str],
    ports: Layout,
    folder: Path,
    plans: Sequence[Plan],
    at_once: int,
    out: Path,
    progress: Progress,
) -> None:
    folder.mkdir()
    stage, health, version = Stage(command, config, ports, folder), Health(), java_version()
    watch = asyncio.create_task(health.watch())

    def finished(play: Play, outages: Outages | None) -> None:
        progress(_write(out, play, record(play, health, version, outages)))

    try:
        await stage.broker.started()
        supply = Supply(stage.start_jvm("supply", "Supply", stage.broker.servers))
        await supply.create(rehearsal.TOPIC, MEMBERS_AT_ONCE)
        for some in together(plans, at_once):
            await stage.play(some, supply, finished)
    finally:
        watch.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watch
        stage.end()


def together(plans: Sequence[Plan], at_once: int) -> Iterator[list[Plan]]:
    """The plans in their order, in batches that one machine can play at once; first those of the same outages."""
    batch: list[Plan] = []
    for one in sorted(plans, key=_misfortune):
        is_full = len(batch) == at_once or sum(len(each.members) for each in (*batch, one)) > MEMBERS_AT_ONCE
        if batch and (is_full or _misfortune(batch[0]) != _misfortune(one)):
            yield batch
            batch = []
        batch.append(one)
    if batch:
        yield batch


def _misfortune(one: Plan) -> tuple[str, int]:
    """What is done to brokers, and in which repetition: plays that differ in it cannot share a cluster."""
    told = [(firing.at_us, repr(firing.entry)) for firing in one.outages]
    return repr(told) if told else "", one.repetition if told else 0


def _write(out: Path, play: Play, recording: Trace) -> str:
    folder = out / play.plan.scenario.name
    path = folder / f"{play.plan.repetition}.jsonl.gz"
    write(path, recording)
    (folder / "scenario.yaml").write_text(play.plan.text, encoding="utf-8")
    unfit = recording.header["unfit"]
    return f"{path}: {len(recording.facts)} facts, {path.stat().st_size} bytes" + (f", unfit: {unfit}" if unfit else "")


async def _all(*coroutines: Coroutine[Any, Any, None]) -> None:
    """Run them beside one another; the first that fails ends the others."""
    async with asyncio.TaskGroup() as group:
        for coroutine in coroutines:
            group.create_task(coroutine)
