"""Where recordings and the present model still differ, and why: read by the test and printed in the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True)
class Remaining:
    """Repetitions of a scenario whose replay differs, figures that differ over seeds, and the reason."""

    reason: str
    repetitions: tuple[int, ...] = ()
    figures: tuple[str, ...] = ()


REMAINING: Final[Mapping[str, Remaining]] = MappingProxyType({})
