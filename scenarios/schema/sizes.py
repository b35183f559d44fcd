"""Amounts of bytes as users write them (``2MiB``)."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import MappingProxyType
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from groupsim.scenarios.files.base_model import refusal

_UNITS: Final = MappingProxyType({"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40})
_SIZE: Final = re.compile(r"(\d{1,9}) ?(B|KiB|MiB|GiB|TiB)", re.ASCII)
_NEARLY: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?([kmgt]?)i?b?", re.ASCII | re.IGNORECASE)
"""What others take for an amount: 1024, 1kb, 1.5 MB."""
_FORMS: Final = "512B, 64KiB, 2MiB, 200GiB or 1TiB"


def _read(value: Any) -> int:
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if match is not None:
        return int(match[1]) * _UNITS[match[2]]
    raise refusal(f"must be an amount of bytes with its unit, such as {_FORMS}{_meant(value)}")


def _meant(value: Any) -> str:
    """What to write instead of something that is nearly an amount."""
    text = str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    match = _NEARLY.fullmatch(text)
    if match is None:
        return ""
    units = {name[0].lower(): size for name, size in _UNITS.items()}
    size = round(float(match[1]) * units[match[2].lower() or "b"])
    return f": write {format_size(size)}"


def more_than_nothing(otherwise: str) -> Callable[[Any], Any]:
    """A validator that says what else to do where an amount is zero."""

    def check(value: Any) -> Any:
        match = _NEARLY.fullmatch(str(value))
        if match is not None and not float(match[1]):
            raise refusal(f"must be more than nothing: {otherwise}")
        return value

    return check


def format_size(value: int) -> str:
    """The shortest text that reads back to the same amount."""
    name = max((name for name, unit in _UNITS.items() if value % unit == 0), key=_UNITS.__getitem__) if value else "B"
    return f"{value // _UNITS[name]}{name}"


Size = Annotated[
    int,
    BeforeValidator(_read),
    PlainSerializer(format_size, return_type=str),
    WithJsonSchema({"type": "string", "pattern": f"^{_SIZE.pattern}$", "description": "an amount, such as 2MiB"}),
]
"""An amount of bytes in the file; a whole number inside."""
