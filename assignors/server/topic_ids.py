"""Topic ids: what the group coordinator knows topics by, and the orders that follow from them."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from groupsim.assignors.core.errors import InvalidSnapshot

_BYTES = 16


@dataclass(frozen=True, slots=True, eq=False)
class TopicIds:
    """Ids of topics, in the order of the topics.

    Parameters
    ----------
    halves : ndarray of int64, shape (n_topics, 2)
        Most and least significant half of each id.

    Source: org.apache.kafka.common.Uuid, Kafka 4.4.
    """

    halves: npt.NDArray[np.int64]

    @classmethod
    def of(cls, ids: Sequence[str]) -> TopicIds:
        """Ids written as Kafka prints them, 22 characters of URL-safe base64.

        Raises
        ------
        InvalidSnapshot
            Something that is no id.
        """
        return cls(_halves([_decoded(text) for text in ids]))

    @classmethod
    def derived(cls, names: tuple[str, ...]) -> TopicIds:
        """Ids made from the topics' names, for groups that do not say which ids their topics have.

        Kafka draws ids by lot; these are as good as any, and the same in every run.
        """
        return _derived(names)

    @property
    def codes(self) -> npt.NDArray[np.int64]:
        """`Uuid.hashCode` of each id as hash tables use it, its upper half folded into the lower."""
        both = self.halves[:, 0] ^ self.halves[:, 1]
        code = ((both >> 32) ^ both) & 0xFFFFFFFF
        return code ^ (code >> 16)

    @property
    def ranks(self) -> npt.NDArray[np.int64]:
        """Place of each id among all of them by `Uuid.compareTo`, which takes both halves for signed."""
        ranks = np.empty(len(self.halves), dtype=np.int64)
        ranks[np.lexsort((self.halves[:, 1], self.halves[:, 0]))] = np.arange(len(self.halves))
        return ranks


def _halves(ids: list[bytes]) -> npt.NDArray[np.int64]:
    return np.frombuffer(b"".join(ids), dtype=">i8").astype(np.int64).reshape(-1, 2)


def _decoded(text: str) -> bytes:
    try:
        decoded = base64.b64decode(text.encode("ascii") + b"==", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        decoded = b""
    if len(decoded) != _BYTES:
        raise InvalidSnapshot(f"no topic id: {text!r}")
    return decoded


@lru_cache(maxsize=64)
def _derived(names: tuple[str, ...]) -> TopicIds:
    return TopicIds(
        _halves([hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:_BYTES] for name in names])
    )
