"""The topics of a consumer group, by the metadata image that its coordinator has.

Source: ``ModernGroup.computeMetadataHash``, ``hasMetadataExpired``, ``GroupMetadataManager.onNewMetadataImage``,
``updateSubscriptionMetadata`` (Kafka 4.4).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.protocol.consumer.assigning import TopicView
from groupsim.sim.protocol.consumer.roster import Roster, Subscribed
from groupsim.sim.protocol.messages import NO_PARTITIONS, Positions, within
from groupsim.sim.units import MS

REFRESH_INTERVAL_US = 2_147_483_647 * MS
"""``GMM.METADATA_REFRESH_INTERVAL_MS``: in practice, metadata are looked at again when they have changed."""

_MOST_MASKS = 64


class SubscribedTopics:
    """What members subscribe to, as topics and partitions that there are.

    Parameters
    ----------
    roster : Roster
    view : TopicView
    counts_racks : bool
        Replicas that are moved to other racks make a topic another one (4.1).

    Attributes
    ----------
    image : mapping of str to int
        Topic -> number of partitions.
    version : int
        Of the image: when the coordinator learnt of it, microseconds, or later. It stands for an offset of the metadata
        log: it rises, also from one coordinator to the next.
    new_topics_version : int
        Of the last image that had new topics.
    """

    def __init__(self, roster: Roster, view: TopicView, *, counts_racks: bool = True) -> None:
        self._roster = roster
        self._view = view
        self._counts_racks = counts_racks
        self.image: Mapping[str, int] = {}
        self.version = 0
        self.new_topics_version = 0
        self._refresh_due = 0
        self._refresh_epoch = 0
        self._hashes: dict[tuple[str, ...], int] = {}
        self._masks: dict[tuple[str, ...], NDArray[np.bool_]] = {}

    # --- metadata -----------------------------------------------------------------------------------------------------

    def on_metadata(self, now: int, image: Mapping[str, int]) -> None:
        """Another image; if subscribed topics are other ones by it, the next heartbeat looks at it."""
        before, known = self.image, self.metadata_hash()
        self.image = image
        self.version = max(self.version + 1, now)
        if image.keys() - before.keys():
            self.new_topics_version = self.version
        self._masks.clear()
        self._hashes.clear()
        if self.metadata_hash() != known:
            self._refresh_due = 0

    def is_refresh_due(self, now: int) -> bool:
        """Whether a heartbeat at ``now`` looks at the metadata again; it does if the last bump was undone."""
        return now >= self._refresh_due or self._roster.group.epoch < self._refresh_epoch

    def refreshed(self, now: int) -> None:
        """They have been looked at, as of this group epoch."""
        self._refresh_due = now + REFRESH_INTERVAL_US
        self._refresh_epoch = self._roster.group.epoch

    def metadata_hash(self) -> int:
        """A number that says which of the subscribed topics exist, with how many partitions, and on which racks.

        It stands for Kafka's hash (``Utils.computeTopicHash``, 4.1): only equality counts. 0: there are none.
        """
        known = tuple(sorted(name for name in self.subscribed() if name in self.image))
        if known not in self._hashes:
            self._hashes[known] = self._hash_of(known) if known else 0
        return self._hashes[known]

    def _hash_of(self, names: tuple[str, ...]) -> int:
        told = [(name, self._view.id_of(name), self.image[name], self._racks_of(name)) for name in names]
        return int.from_bytes(blake2b(repr(told).encode(), digest_size=8).digest(), "big", signed=True)

    def _racks_of(self, name: str) -> list[list[str]] | None:
        """Racks of each partition's replicas, sorted; before 4.1 they did not count."""
        racks = self._view.racks_of(name, self.image[name]) if self._counts_racks else None
        return None if racks is None else [sorted(one for one in each if one) for each in racks]

    def existing(self, positions: Positions) -> Positions:
        """Those of these that are of topics that there are: the classic protocol has no ids of others.

        Source: ``Utils.toTopicPartitions``, ``toTopicPartitionMap``, ``toConsumerProtocolAssignment``.
        """
        return positions[within(positions, np.concatenate([NO_PARTITIONS, *map(self._view.of, self.image)]))]

    # --- subscriptions ------------------------------------------------------------------------------------------------

    def subscribed(self) -> set[str]:
        """Every topic that a member subscribes to, whether it exists or not."""
        return set().union(*map(self.names_of, self._roster.subscriptions))

    def names_of(self, subscribed: Subscribed) -> tuple[str, ...]:
        """Names of a subscription, sorted; a regular expression that is not resolved yet matches nothing."""
        names, pattern = subscribed
        resolved = self._roster.patterns.get(pattern) if pattern else None
        if resolved is None or not resolved.topics:
            return names
        return tuple(sorted({*names, *resolved.topics})) if names else resolved.topics

    def mask_of(self, subscribed: Subscribed) -> NDArray[np.bool_]:
        """Which positions are of topics that exist and that a subscription contains. Shape (n_partitions,)."""
        names = self.names_of(subscribed)
        mask = self._masks.get(names)
        if mask is None:
            if len(self._masks) >= _MOST_MASKS:
                self._masks.clear()
            mask = self._masks[names] = self._mask(names)
        return mask

    def _mask(self, names: Iterable[str]) -> NDArray[np.bool_]:
        parts = [self._view.of(name)[: self.image[name]] for name in names if name in self.image]
        size = max((int(part.max()) + 1 for part in parts if part.size), default=0)
        mask = np.zeros(size, np.bool_)
        for part in parts:
            mask[part] = True
        return mask
