"""Names and ids that share hash codes, or buckets of a table: Java keeps more than eight of them as a tree."""

from __future__ import annotations

import base64
import random
import struct
from functools import cache
from itertools import islice, product

from groupsim.assignors.java.ordering import fold, string_hash

_TWINS = ["".join(parts) for parts in product(("Aa", "BB"), repeat=7)]
"""Texts of one hash code."""
_TABLES = (16, 32, 64, 128, 256)
_MASK = 0xFFFFFFFF


@cache
def _bucket_mates(prefix: str, table: int) -> list[str]:
    """Texts of one bucket of a table with that many buckets; larger ones part them."""
    at = fold(string_hash(prefix)) % table
    mates = (f"{prefix}{number}" for number in range(1 << 20) if fold(string_hash(f"{prefix}{number}")) % table == at)
    return list(islice(mates, 64))


class CrowdedNames:
    """Names of one group, as `DrawnNames` gives them.

    Parameters
    ----------
    lot : random.Random
    most_topics : int
        As many different names of topics there are, and one more.
    """

    def __init__(self, lot: random.Random, most_topics: int) -> None:
        self._lot = lot
        self._members, self._topics = self._family("m"), self._family("t")[: most_topics + 1]
        self._ids = lot.choice(["equal", "mates", "free"])
        self._code = lot.getrandbits(32)
        self._table = lot.choice(_TABLES)
        self.unknown = self._family("n")[:3] if lot.random() < 0.1 else []
        self.numbers = 0

    def uuid(self) -> str:
        """A topic id whose hash code, its upper half folded into the lower, is a given one, or in a given bucket."""
        lot = self._lot
        code = {"equal": self._code, "free": lot.getrandbits(32)}.get(self._ids)
        if code is None:
            code = fold(lot.getrandbits(32) // self._table * self._table + self._code % self._table & _MASK)
        most, upper = lot.getrandbits(64), lot.getrandbits(32)
        least = most ^ (upper << 32 | upper ^ code)
        return base64.urlsafe_b64encode(struct.pack(">QQ", most, least)).decode().rstrip("=")

    def member_id(self) -> str:
        number = self.numbers
        self.numbers += 1
        again = number // len(self._members)
        return self._members[number % len(self._members)] + (f"-{again}" if again else "")

    def topic_name(self) -> str:
        return self._lot.choice(self._topics)

    def _family(self, prefix: str) -> list[str]:
        """Names of which many share a bucket, in any order."""
        lot = self._lot
        twins, mates = [f"{prefix}{twin}" for twin in _TWINS], _bucket_mates(prefix, lot.choice(_TABLES))
        plain = [f"{prefix}-{number}" for number in range(64)]
        many, few = lot.choice(
            [(twins, mates), (twins, plain), (mates, plain), (mates, twins), (twins, []), (mates, [])]
        )
        n_few = min(len(few), lot.choice([0, 5, 20, 64]))
        names = [*lot.sample(many, len(many)), *lot.sample(few, n_few)]
        return lot.sample(names, len(names)) if lot.random() < 0.7 else names
