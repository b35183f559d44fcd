"""What members read, poll by poll, as stretches of ownership of one partition: assigned to revoked, lost or dead."""

from __future__ import annotations

from typing import Any

Partition = tuple[str, int]


class Reading:
    """The stretches of one incarnation of a member, microseconds of any clock.

    Parameters
    ----------
    member : str
    incarnation : int
    """

    def __init__(self, member: str, incarnation: int) -> None:
        self._whose = {"member": member, "incarnation": incarnation}
        self._open: dict[Partition, dict[str, Any]] = {}
        self.closed: list[dict[str, Any]] = []

    @property
    def owned(self) -> set[Partition]:
        """Partitions that the member owns now."""
        return set(self._open)

    @property
    def is_fetching(self) -> bool:
        """Whether it has asked for records of everything it owns."""
        return all(stretch["first_fetch_us"] is not None for stretch in self._open.values())

    def assigned(self, at_us: int, partitions: list[Partition]) -> None:
        """Stretches begin."""
        for partition in partitions:
            self._open[partition] = {
                "what": "read", **self._whose, "partition": partition, "from_us": at_us, "first_fetch_us": None,
                "last_us": None, "to_us": None, "from_offset": None, "next_offset": None, "records": 0,
            }  # fmt: skip

    def fetched(self, at_us: int, partitions: list[Partition]) -> None:
        """The first fetch requests of newly assigned partitions."""
        for partition in partitions:
            stretch = self._open.get(partition)
            if stretch is not None and stretch["first_fetch_us"] is None:
                stretch["first_fetch_us"] = at_us

    def polled(self, at_us: int, read: dict[Partition, tuple[int, int, int]]) -> None:
        """A poll() returned, with (first offset, offset after the last, records) of some partitions."""
        for stretch in self._open.values():
            stretch["last_us"] = at_us
        for partition, (first, after, records) in read.items():
            stretch = self._open[partition]
            stretch["from_offset"] = first if stretch["from_offset"] is None else stretch["from_offset"]
            stretch["next_offset"] = after
            stretch["records"] += records

    def ended(self, at_us: int, partitions: list[Partition] | None = None) -> None:
        """Stretches end: of these partitions, or of all."""
        for partition in list(self._open) if partitions is None else partitions:
            stretch = self._open.pop(partition, None)
            if stretch is not None:
                stretch["to_us"] = at_us
                self.closed.append(stretch)
