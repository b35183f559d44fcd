"""Paths that end in a key of Kafka's, which has dots in it."""

from __future__ import annotations

import re
from typing import Final

_UNBRACKETED: Final = re.compile(
    r"((?!(?:topics|groups)\.(?:group_)?config\.).+?\.(?:group_)?config)\.([^\[\]]+\.[^\[\]]+)"
)
"""A topic or a group may be called config."""


def bracketed(path: str) -> str:
    """A path with Kafka's key in brackets: ``a.config[max.poll.records]`` for ``a.config.max.poll.records``."""
    return _UNBRACKETED.sub(r"\1[\2]", path) if _UNBRACKETED.fullmatch(path) else path
