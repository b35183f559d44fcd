"""How many bytes coordinators' records take in ``__consumer_offsets``.

Exact for what makes such logs long: offsets, as Kafka 4.4 writes them, and what a batch adds. Of other records it is an
estimate by what is in them: a length and the characters of each string, a number of entries before each list, 4 bytes a
partition and 8 a number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any, Final

import numpy as np

BATCH_BYTES: Final = 61
"""Before the records of a batch (``DefaultRecordBatch.RECORD_BATCH_OVERHEAD``)."""
_VALUE_BYTES: Final = 42
"""``OffsetCommitValue`` 4, without metadata: version, offset, leader epoch, length, commit timestamp, topic id. What
``GroupCoordinatorRecordSerde`` of 4.4.0 makes is as long (key 23 and value 42 bytes for ``billing`` and ``orders``)."""
_LENGTH, _PARTITION, _NUMBER, _VERSION = 2, 4, 8, 2


def offset_bytes(group: str, topic: str) -> int:
    """An offset of one partition (``GroupCoordinatorRecordHelpers.newOffsetCommitRecord``, Kafka 4.4)."""
    return _framed(_offset_key_bytes(group, topic), _VALUE_BYTES)


def offset_tombstone_bytes(group: str, topic: str) -> int:
    """That there is none any more (``newOffsetCommitTombstoneRecord``)."""
    return _framed(_offset_key_bytes(group, topic), 0)


def state_bytes(group: str, record: Any) -> int:
    """A record of a group's state, or its tombstone; about so much."""
    key, value = record.key, getattr(record, "value", record)
    return _framed(_VERSION + _text(group) + sum(map(_text, key[1:])), _content(value) if value is not None else 0)


def _offset_key_bytes(group: str, topic: str) -> int:
    """``OffsetCommitKey``."""
    return _VERSION + _text(group) + _text(topic) + _PARTITION


def _text(text: str) -> int:
    return _LENGTH + len(text.encode())


def _framed(key: int, value: int) -> int:
    """With attributes, both deltas, lengths and the number of headers (``DefaultRecord.sizeInBytes``)."""
    body = 4 + _varint(key) + key + _varint(value) + value
    return _varint(body) + body


def _varint(value: int) -> int:
    """``ByteUtils.sizeOfVarint``: 7 bits a byte, one of all of them for the sign."""
    return max(-(-(value.bit_length() + 1) // 7), 1)


def _content(value: Any) -> int:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return _NUMBER
    if isinstance(value, np.ndarray):
        return _PARTITION + _PARTITION * len(value)
    if is_dataclass(value):
        return sum(_content(getattr(value, one.name)) for one in fields(value))
    if isinstance(value, Iterable):
        return _PARTITION + sum(map(_content, value))
    return _LENGTH
