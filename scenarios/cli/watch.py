"""A long run says so: what it takes before it begins, how far it has come meanwhile, and why it ends early.

Somebody's own assignor that does not answer is named. All of it is looked at from a thread of its own, twice a second
at most, so that a run is neither changed nor slowed down.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from groupsim.scenarios.cli import memory
from groupsim.scenarios.cli.output import counted, say_wrapped, terminal_width, warn

if TYPE_CHECKING:
    from groupsim.sim import Gauge
    from groupsim.sim.model import Scenario

SILENT_S: Final = 5.0
"""So long somebody's own code may take to answer before it is named."""
QUIET_S: Final = 3.0
"""A run that is over by then says nothing."""
LONG_S: Final = 10.0
"""Elsewhere than on a terminal a run has a line once it takes so long, or is seen to."""
_LINE_EVERY_S: Final = 30.0
LOOK_EVERY_S: Final = 0.5
_SET_UP_S: Final = 1.5e-4
"""Per member, on one core; what they do takes longer."""
_ANNOUNCED_S: Final = 3.0
_ANNOUNCED_BYTES: Final = memory.GIB
_BEGINNING: Final = 0.05
"""The part of the horizon that says nothing of the pace of the rest."""
_ERASE: Final = "\r\x1b[K"
now_s: Callable[[], float] = time.monotonic
"""The clock that runs are watched by."""
_STOP: Final = signal.SIGUSR1
"""Ends a run from the watching thread. Not SIGINT, which shells have processes in the background ignore."""


@contextmanager
def repeatedly(look: Callable[[], None], every_s: float) -> Iterator[None]:
    """Call ``look`` again and again from another thread, until the end of the block."""
    over = threading.Event()

    def looking() -> None:
        while not over.wait(every_s):
            look()

    thread = threading.Thread(target=looking, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class SilentAssignors:
    """Names somebody's own assignor, once, when it has not answered for ``SILENT_S``."""

    def __init__(self) -> None:
        self._named: set[str] = set()

    def __call__(self) -> None:
        """Look whether one is silent."""
        guarded_call = sys.modules.get("groupsim.assignors.guarded_call")  # whoever asks assignors has imported it
        being_asked = getattr(guarded_call, "being_asked", None)  # or is in the middle of importing it
        asked = being_asked() if being_asked is not None else None
        if asked is None or asked.name in self._named or time.monotonic() - asked.since_s < SILENT_S:
            return
        self._named.add(asked.name)
        erase()
        warn(f"the assignor {asked.name} has not answered for {SILENT_S:g} s; Ctrl-C ends the run")


class _Stopped(KeyboardInterrupt):
    """The run is to end; an interrupt, so that nobody's assignor is blamed for it."""


def _stop(number: int, frame: object) -> None:
    raise _Stopped


class RunWatch:
    """Tells how far runs of one scenario have come.

    Used as a context manager around the runs. On a terminal one line is rewritten, elsewhere there is a line now and
    then. A run that would take the last of the memory is ended.

    Parameters
    ----------
    scenario : Scenario
    total : int
        How many runs there are.
    is_silent : bool
        Memory is watched, and nothing told: somebody else tells how far all of it has come.

    Attributes
    ----------
    is_announced : bool
        It was told before the runs that they take long.
    """

    def __init__(self, scenario: Scenario, total: int, *, is_silent: bool = False) -> None:
        self._scenario, self._total, self._is_silent = scenario, total, is_silent
        self._done = 0
        self._gauge: Gauge | None = None
        self._begin_s = self._told_s = now_s()
        self._pace = Pace(scenario.horizon_us)
        self._is_short = self.is_announced = False
        self._handler_before: Any = None
        self._looking = repeatedly(self._look, LOOK_EVERY_S)

    def __enter__(self) -> Self:
        self._announce()
        if threading.current_thread() is threading.main_thread():
            self._handler_before = signal.signal(_STOP, _stop)
        self._looking.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._looking.__exit__(None, None, None)
        if self._handler_before is not None:
            signal.signal(_STOP, self._handler_before)
        if not self._is_silent:
            erase()

    @contextmanager
    def run(self, gauge: Gauge) -> Iterator[None]:
        """One of the runs is carried out in the block.

        Raises
        ------
        MemoryBudgetExceeded
            Memory was about to be gone.
        """
        from groupsim.sim import MemoryBudgetExceeded

        self._pace, self._gauge = Pace(self._scenario.horizon_us), gauge
        try:
            yield
        except _Stopped:
            where = f"{memory.gib(memory.used_bytes() or 0)} are used, {_stage_text(gauge, self._scenario)}"
            raise MemoryBudgetExceeded(f"memory is running out: {where}; make the scenario smaller") from None
        self._gauge, self._done = None, self._done + 1

    def _announce(self) -> None:
        """Say that it will be long, or refuse what cannot fit."""
        from groupsim.analysis.data.metrics import duration
        from groupsim.sim import MemoryBudgetExceeded

        (members, partitions), (least, usual) = memory.size(self._scenario), memory.needed_bytes(self._scenario)
        what = f"{counted(members, 'member')} and {counted(partitions, 'partition')}"
        free = memory.free_bytes()
        if free is not None and least > free:
            raise MemoryBudgetExceeded(
                f"{what} need {memory.gib(least)} at least, and usually {memory.gib(usual)}: {memory.gib(free)} are "
                "free; make the scenario smaller"
            )
        set_up_s = members * _SET_UP_S
        if not self._is_silent and (set_up_s > _ANNOUNCED_S or usual > _ANNOUNCED_BYTES):
            self.is_announced = True
            say_wrapped(
                f"a long run: {what} take {memory.gib(least)} to {memory.gib(usual)} of memory, and "
                f"{duration(set_up_s)} at least to set up"
            )

    def _look(self) -> None:
        if self._gauge is not None and not self._is_short and memory.is_short():
            self._is_short = True
            _thread.interrupt_main(_STOP)
        at_s = now_s()
        if self._gauge is not None:
            self._pace.mark(at_s, self._gauge.now_us)
        if self._is_silent or at_s - self._begin_s < QUIET_S:
            return
        text = self.text()  # empty when the run is over and its figures are being drawn
        if sys.stderr.isatty():
            sys.stderr.write(f"{_ERASE}{text[: terminal_width() - 1]}")
            sys.stderr.flush()
        elif text and self._is_due(at_s):
            self._told_s = at_s
            say_wrapped(text)

    def _is_due(self, at_s: float) -> bool:
        """Whether there is to be a line now; the first one not of a run that is about to end."""
        if self._told_s > self._begin_s:
            return at_s - self._told_s >= _LINE_EVERY_S
        return at_s - self._begin_s + (self._left_s() or 0.0) >= LONG_S

    def text(self) -> str:
        """How far it has come."""
        parts = [f"{self._done:,} of {counted(self._total, 'run')} done"] if self._total > 1 else []
        if (gauge := self._gauge) is not None:
            parts.append(_stage_text(gauge, self._scenario))
            if gauge.events:
                rate = gauge.events / max(now_s() - self._pace.begin_s, 1e-9)
                parts.append(f"{counted(gauge.events, 'event')}, {rate:,.0f}/s")
        left_s = self._left_s()
        return ", ".join([*parts, f"{clock(left_s)} left"] if left_s is not None else parts)

    def _left_s(self) -> float | None:
        """Of one run by its latest pace, of several by the mean of those done; None where there is none yet."""
        if self._total == 1:
            return self._pace.left_s() if self._gauge is not None and self._gauge.stage == "running" else None
        spent_s = now_s() - self._begin_s
        return spent_s / self._done * (self._total - self._done) if 0 < self._done < self._total else None


class Pace:
    """How long the rest of a run takes at the pace of the second half of the virtual time that it has come to.

    The first half has the start of all members in it.
    """

    def __init__(self, horizon_us: int) -> None:
        self.begin_s = now_s()
        self._horizon_us = horizon_us
        self._marks: list[tuple[float, int]] = []

    def mark(self, at_s: float, now_us: int) -> None:
        """Take note of real time in seconds and virtual time in microseconds."""
        if now_us and (not self._marks or now_us > self._marks[-1][1]):
            self._marks.append((at_s, now_us))

    def left_s(self) -> float | None:
        """Seconds; None as long as there is no pace, the start of all members being the beginning of most runs."""
        if len(self._marks) < 2 or self._marks[-1][1] < _BEGINNING * self._horizon_us:
            return None
        last_s, last_us = self._marks[-1]
        early = [mark for mark in self._marks[1:] if mark[1] <= last_us / 2]
        since_s, since_us = early[-1] if early else self._marks[0]
        return (last_s - since_s) / (last_us - since_us) * (self._horizon_us - last_us)


def _stage_text(gauge: Gauge, scenario: Scenario) -> str:
    from groupsim.analysis.data.metrics import duration

    if gauge.stage == "setting up":
        return f"setting up {gauge.members:,} of {counted(memory.size(scenario)[0], 'member')}"
    if gauge.stage.name == "PAST":
        return f"{gauge.stage} ({gauge.past_share:.0%})"
    if gauge.stage != "running":
        return str(gauge.stage)
    share = gauge.now_us / scenario.horizon_us
    return f"{duration(gauge.now_us / 1e6)} of {duration(scenario.horizon_us / 1e6)} simulated ({share:.0%})"


def clock(seconds: float) -> str:
    """Hours, minutes and seconds: ``0:02:05``."""
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def erase() -> None:
    """Take the line that is rewritten off a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(_ERASE)
        sys.stderr.flush()
