"""Names of members and topics that tell Java's orders apart.

Some have equal hash codes, some share a bucket until their table grows, and some have characters whose UTF-16 order is
not that of their code points.
"""

from __future__ import annotations

import base64
import random
from itertools import count, product

from groupsim.assignors.java.ordering import fold, string_hash

_COLLIDING = ["".join(four) for four in product(("Aa", "BB"), repeat=4)]
"""Sixteen texts of one hash code."""
_OF_ONE_CODE = 9
"""One more than a small table takes into a bucket without growing."""


def in_first_bucket(prefix: str) -> str:
    """A name that is in the first bucket of a small table, with others from which a larger one parts it."""
    return next(name for name in (f"{prefix}{at}" for at in count()) if not fold(string_hash(name)) & 15)


class DrawnNames:
    """Names of one group.

    Parameters
    ----------
    lot : random.Random
    most_topics : int
        As many different names of topics there are, and one more.

    Attributes
    ----------
    numbers : int
        How many member ids were given.
    unknown : list of str
        Topics that members may name and that there never are.
    """

    def __init__(self, lot: random.Random, most_topics: int) -> None:
        self._lot, self._most_topics = lot, most_topics
        self._ids = lot.choice(["client", "uuid", "plain", "hash", "bucket", "beyond"])
        self._topics = lot.choice(["hash", "bucket", "plain", "plain", "mixed"])
        self.unknown = ["nowhere"] if lot.random() < 0.1 else []
        self.numbers = 0

    def uuid(self) -> str:
        return base64.urlsafe_b64encode(self._lot.randbytes(16)).decode().rstrip("=")

    def member_id(self) -> str:
        lot, number = self._lot, self.numbers
        self.numbers += 1
        match self._ids:
            case "client":
                return f"consumer-g-{number}-{lot.randbytes(16).hex()}"
            case "uuid":
                return self.uuid()
            case "hash":
                return f"{_COLLIDING[number % _OF_ONE_CODE]}-{number // _OF_ONE_CODE}"
            case "bucket" if lot.random() < 0.7:
                return in_first_bucket(f"m{number}.")
            case "beyond":
                return "".join(lot.choices("a\u00e9\ud7ff\uffe5\U0001f600\U00010000", k=2)) + str(number)
        return f"member{number}"

    def topic_name(self) -> str:
        number = self._lot.randint(0, self._most_topics)
        match self._topics:
            case "hash" if self._lot.random() < 0.7:
                return self._lot.choice(_COLLIDING[:_OF_ONE_CODE])
            case "bucket":
                return in_first_bucket(f"{number}.")
            case "mixed":
                return ("t", "orders.", "clicks_")[number % 3] + str(number)
        return f"topic-{number}"
