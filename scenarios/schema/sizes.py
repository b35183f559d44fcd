"""Amounts of bytes as users write them (``2MiB``)."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from groupsim.scenarios.files.base_model import refusal

_UNITS: Final = MappingProxyType({"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40})
_SIZE: Final = re.compile(r"(\d{1,9}) ?(B|KiB|MiB|GiB|TiB)", re.ASCII)


def _read(value: Any) -> int:
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise refusal("must be an amount of bytes, such as 512B, 64KiB, 2MiB, 200GiB or 1TiB")
    return int(match[1]) * _UNITS[match[2]]


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
