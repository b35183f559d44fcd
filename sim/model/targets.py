"""Who is meant by an entry of the timeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Target:
    """Who is meant; resolved when the event fires.

    Parameters
    ----------
    kind : {"group", "broker", "rack", "zookeeper"}
    name : str
        Group name or rack; of brokers what a file says after the colon: ``1``, ``0-2``, ``all``, ``random``,
        ``controller``, ``coordinator/GROUP``, ``leader/TOPIC/PARTITION``; of ZooKeeper's servers a number, a range of
        them, or ``leader``.
    pick : {"all", "index", "leader", "random", "share"}
        Only for groups. ``indices`` for "index", and of brokers that are counted up; ``count`` for "random"; ``share``
        for "share".
    """

    kind: Literal["group", "broker", "rack", "zookeeper"]
    name: str
    pick: Literal["all", "index", "leader", "random", "share"] = "all"
    indices: tuple[int, ...] = ()
    count: int = 1
    share: float = 0.0

    def __str__(self) -> str:
        if self.kind != "group":
            return f"{self.kind}:{self.name}"
        match self.pick:
            case "all":
                return self.name
            case "index":
                return f"{self.name}/{','.join(map(str, self.indices))}"
            case "random":
                return f"{self.name}/random" + (f":{self.count}" if self.count > 1 else "")
            case "share":
                return f"{self.name}/share:{self.share}"
            case _:
                return f"{self.name}/{self.pick}"
