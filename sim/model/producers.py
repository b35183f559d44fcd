"""Producers: applications that send to topics, record by record."""

from __future__ import annotations

from dataclasses import dataclass

from groupsim.sim.config import ProducerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Producers:
    """Producers that are alike: ``name/0`` .. ``name/<count-1>``, which take the records of their topics in turns.

    Parameters
    ----------
    name : str
    topics : tuple of str
        What is produced to them is sent by these producers.
    count : int
    config : ProducerConfig
    record_bytes : int
        Size of each record.
    """

    name: str
    topics: tuple[str, ...]
    count: int = 1
    config: ProducerConfig = ProducerConfig()
    record_bytes: int = 1 << 10
