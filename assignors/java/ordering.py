"""Texts as Java has them: compared by UTF-16 units, and their hash codes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Code = TypeVar("Code", int, npt.NDArray[np.int64])
_MASK = 0xFFFFFFFF


def utf16(text: str) -> bytes:
    """A text in what `String.compareTo` compares."""
    return text.encode("utf-16-be", "surrogatepass")


def java_sorted(texts: Iterable[str]) -> list[str]:
    """Texts in the order of `String.compareTo`, which compares UTF-16 units."""
    items = list(texts)
    return sorted(items) if all(map(str.isascii, items)) else sorted(items, key=utf16)


def sort_order(texts: Sequence[str]) -> list[int]:
    """Indices that put texts into the order of `String.compareTo`; equal texts stay as they are."""
    if "".join(texts).isascii():
        return sorted(range(len(texts)), key=texts.__getitem__)
    return sorted(range(len(texts)), key=[utf16(text) for text in texts].__getitem__)


@lru_cache(maxsize=1 << 17)
def string_hash(text: str) -> int:
    """`String.hashCode` as an unsigned 32-bit number."""
    units = text.encode("ascii") if text.isascii() else np.frombuffer(utf16(text), dtype=">u2").tolist()
    code = 0
    for unit in units:
        code = (31 * code + unit) & _MASK
    return code


def partition_hash(topic: str, number: int) -> int:
    """`TopicPartition.hashCode` as an unsigned 32-bit number."""
    return (31 * (31 + number) + string_hash(topic)) & _MASK


def fold(code: Code) -> Code:
    """A hash code from 0 to 2 ** 32 - 1 as hash tables use it, its upper half folded into the lower."""
    return code ^ (code >> 16)


def text_codes(texts: Sequence[str]) -> npt.NDArray[np.int64]:
    """Hash codes of texts as hash tables use them, shape (n,)."""
    return fold(np.array(list(map(string_hash, texts)), dtype=np.int64))


def text_places(texts: Sequence[str]) -> list[int]:
    """Place of each text among them by `String.compareTo`."""
    order = sort_order(texts)
    places = [0] * len(order)
    for place, at in enumerate(order):
        places[at] = place
    return places
