"""Which partitions brokers kept from being read, when and why, in a sentence for each reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from groupsim.analysis.data.metrics import SECONDS, number

S: Final = 1_000_000
_LEAST_US: Final = S // 10
"""A reason that held nothing up for longer is worth no word."""
_WORDS: Final = {
    "no_leader": "had no leader",
    "new_leader": "waited for a new leader to begin, and for followers that asked it too early",
    "high_watermark": "had a high watermark that stood, since a replica in sync did not fetch",
    "min_isr": "had fewer in sync than min.insync.replicas",
}
"""Details of unread time that are the brokers' doing (`groupsim.sim.tables.UNAVAILABILITY`)."""

Times = NDArray[np.int64]


def held_up_lines(unavailability: Mapping[str, Any]) -> list[str]:
    """A sentence for each reason why brokers kept partitions of one run from being read, by the longest.

    Parameters
    ----------
    unavailability : mapping of str to array
        Columns of the table of this name. What several groups waited for counts once.
    """
    details = np.asarray(unavailability["detail"])
    found: list[tuple[int, str]] = []
    for detail, words in _WORDS.items():
        rows = np.flatnonzero(details == detail)
        begin, end = (np.asarray(unavailability[name])[rows].astype(np.int64) for name in ("from_us", "to_us"))
        longest = int((end - begin).max(initial=0))
        if longest >= _LEAST_US:
            topics, numbers = (np.asarray(unavailability[name])[rows].tolist() for name in ("topic", "partition"))
            partitions = len(set(zip(topics, numbers, strict=True)))
            found.append((longest, _sentence(partitions, words, _stretches(begin, end), longest)))
    return [sentence for _, sentence in sorted(found, reverse=True)]


def _sentence(partitions: int, words: str, stretches: Times, longest_us: int) -> str:
    many = f"{partitions:,} partitions" if partitions > 1 else "1 partition"
    first, last = (_clock(time) for time in (stretches[0, 0], stretches[-1, 1]))
    when = f"from {first} to {last}" if len(stretches) == 1 else f"in {len(stretches)} stretches, {first} to {last}"
    most = f"{number(longest_us / S)} {SECONDS}"
    return f"brokers: {many} {words} ({when}; {most} at most)"


def _stretches(begin: Times, end: Times) -> Times:
    """When any of these was going on. Shape (n, 2), ascending."""
    order = np.argsort(begin, kind="stable")
    begin, until = begin[order], np.maximum.accumulate(end[order])
    first = np.flatnonzero(np.concatenate([[True], begin[1:] > until[:-1]]))
    return np.stack([begin[first], until[np.concatenate([first[1:] - 1, [len(begin) - 1]])]], axis=-1)


def _clock(time_us: int) -> str:
    """An instant of a run: minutes and seconds, hours before them where there are any."""
    minutes, seconds = divmod(round(time_us / S), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
