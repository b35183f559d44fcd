"""Partitions that a consumer has positions of and does not read: nobody leads them, or its first fetch is under way."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from groupsim.sim.client.fetcher import Fetcher


def left_behind(fetcher: Fetcher) -> dict[int, int]:
    """Partitions that are read as soon as they can be -> from where on."""
    asked = [(positions.tolist(), offsets.tolist()) for positions, offsets in fetcher.awaited.values()]
    found = dict(fetcher.unreachable)
    for positions, offsets in asked:
        found.update(zip(positions, offsets, strict=True))
    return found


def seek(fetcher: Fetcher, to: Mapping[int, int]) -> None:
    """The application seeks: those of these that it cannot read yet are read from there on."""
    fetcher.unreachable.update({position: at for position, at in to.items() if position in fetcher.unreachable})
    for number, (asked, offsets) in fetcher.awaited.items():
        sought = [to.get(position, at) for position, at in zip(asked.tolist(), offsets.tolist(), strict=True)]
        fetcher.awaited[number] = (asked, np.array(sought, np.int64))
