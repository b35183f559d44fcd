"""Which replica of a partition a consumer reads from: a leader's answer to its fetch (KIP-392)."""

from __future__ import annotations

from collections.abc import Collection, Mapping


def read_replica(rack: str, leader: int, in_sync: Collection[int], racks: Mapping[int, str]) -> int:
    """The broker that a client of a rack is told to read from.

    A leader in the rack, else a follower in it that is in sync, else the leader. Those in sync have the same records
    here, so the last comparison decides, which is by id.

    Parameters
    ----------
    rack : str
        ``client.rack``; empty: it has none.
    leader : int
    in_sync : collection of int
        The ISR.
    racks : mapping of int to str
        Of those brokers that have one.

    Source
    ------
    ``RackAwareReplicaSelector.select``, ``ReplicaView.comparator``; ``ReplicaManager.findPreferredReadReplica``, which
    leaves out who is not in sync (Kafka 4.4).
    """
    if not rack or racks.get(leader) == rack:
        return leader
    return max((node for node in in_sync if racks.get(node) == rack), default=leader)
