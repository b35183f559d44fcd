"""Threads that take turns: each a generator that yields what it waits for and is sent what has come."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias

from groupsim.sim.protocol.effects import Send
from groupsim.sim.protocol.zookeeper.waits import Ask, Checkpoint, Sleep, Until
from groupsim.sim.units import FOREVER

Wait: TypeAlias = Ask | Checkpoint | Send | Sleep | Until
Thread: TypeAlias = Generator[Wait, Any, Any]


class Threads:
    """The threads of one consumer. Nothing takes time but what is waited for.

    Attributes
    ----------
    now : int, microseconds
    effects : list
        What the shell has to carry out, in order.
    """

    def __init__(self) -> None:
        self.now = 0
        self.effects: list[Any] = []
        self._threads: dict[str, Thread] = {}
        self._numbers = 0
        self._asked: dict[int, str] = {}
        self._wakes: dict[str, int] = {}
        self._held: dict[str, Until] = {}
        self._sent: str | None = None
        self._measuring: str | None = None

    def start(self, name: str, thread: Thread) -> None:
        """One more thread runs."""
        self._threads[name] = thread
        self._resume(name, None)

    @property
    def deadline(self) -> int:
        """When the next one wakes, microseconds."""
        return min(self._wakes.values(), default=FOREVER)

    @property
    def is_sending(self) -> bool:
        """Whether one waits for a broker."""
        return self._sent is not None

    def answer(self, number: int, value: object) -> None:
        """ZooKeeper has answered."""
        self._resume(self._asked.pop(number), value)
        self.settle()

    def reply(self, value: object) -> None:
        """A broker has answered, if somebody asked."""
        name, self._sent = self._sent, None
        if name is not None:
            self._resume(name, value)
            self.settle()

    def measured(self, value: object) -> None:
        """Positions are known."""
        name, self._measuring = self._measuring, None
        assert name is not None
        self._resume(name, value)
        self.settle()

    def wake(self) -> None:
        """Whoever has slept long enough goes on, in the order in which they fell asleep."""
        for name, due in list(self._wakes.items()):
            if due <= self.now:
                del self._wakes[name]
                until = self._held.pop(name, None)
                self._resume(name, False if until is not None else None)
        self.settle()

    def settle(self) -> None:
        """Whatever now holds is told to those who wait for it."""
        while True:
            name = next((one for one, until in self._held.items() if until.holds()), None)
            if name is None:
                return
            del self._held[name]
            self._wakes.pop(name, None)
            self._resume(name, True)

    def take(self) -> list[Any]:
        """What is to be done."""
        effects, self.effects = self.effects, []
        return effects

    def _resume(self, name: str, value: object) -> None:
        try:
            wait = self._threads[name].send(value)
        except StopIteration:
            del self._threads[name]
            return
        match wait:
            case Sleep():
                self._wakes[name] = self.now + wait.length_us
                return
            case Until():
                self._held[name] = wait
                if wait.at_most_us < FOREVER:
                    self._wakes[name] = self.now + wait.at_most_us
                return
            case Ask():
                self._numbers += 1
                wait.number = self._numbers
                self._asked[wait.number] = name
            case Checkpoint():
                self._measuring = name
            case Send():
                self._sent = name
        self.effects.append(wait)
