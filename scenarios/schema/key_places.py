"""Where in a scenario file a key belongs that somebody has put elsewhere."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Final, Union, get_args, get_origin

from groupsim.scenarios.files.base_model import FileModel
from groupsim.scenarios.files.yaml_text import Place
from groupsim.scenarios.kafka.keys import Kind, known_keys
from groupsim.scenarios.schema.scenario_file import ScenarioFile
from groupsim.scenarios.schema.verbs import VERBS

_CONFIGS: Final[Mapping[Kind, str]] = {
    "consumer": "groups.NAME.config", "topic": "topics.NAME.config", "broker": "cluster.config",
    "group": "groups.NAME.group_config", "old consumer": "groups.NAME.config with protocol: zookeeper",
}  # fmt: skip
_OF_OTHERS: Final = {
    "name": "a scenario is called what its file is called",
    "description": "what a scenario is about is its question",
    "title": "what a scenario is about is its question",
    "duration": "how long a run lasts is its horizon",
    "seed": "it is given on the command line (--seed 7), or in a sweep",
    "brokers": "it belongs to cluster",
}
"""What other tools have at the top of such a file."""
_PLACES_MAX: Final = 2
"""A key that is at home in more places says nothing of what was meant."""


def home(place: Place, is_near: bool) -> str:
    """What to do about a key that is unknown at ``place``, or the empty string.

    ``is_near``: one of the keys that are known there is nearly the same, and is named unless the key is Kafka's.
    """
    key = str(place[-1])
    if len(place) == 1 and key in _OF_OTHERS:
        return _OF_OTHERS[key]
    return belongs(key) if "." in key or not is_near else ""


def belongs(key: str) -> str:
    """A hint such as ``it belongs to groups.NAME`` for a key that is known elsewhere, or the empty string."""
    found = homes(key)
    return f"it belongs to {' or '.join(found)}" if 0 < len(found) <= _PLACES_MAX else ""


def homes(key: str) -> list[str]:
    """The places that have a key, such as ``groups.NAME.config``."""
    return list(dict.fromkeys(_places().get(key, [])))


@cache
def _places() -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    bodies = (found for verb, body in VERBS.items() for found in _keys_of(body, f"timeline[0].{verb}"))
    for key, place in (*_keys_of(ScenarioFile, ""), *bodies):
        found.setdefault(key, []).append(place)
    for kind, place in _CONFIGS.items():
        for key in known_keys(kind):
            if kind == "old consumer" and key in known_keys("consumer"):
                continue
            found.setdefault(key, []).append(place)
    return found


def _keys_of(model: Any, place: str) -> Iterator[tuple[str, str]]:
    """Every key of a model and of what is below it, and the path of the mapping that has it."""
    for name, field in model.model_fields.items():
        key = field.alias or name
        yield key, place or "the top of the file"
        for below, step in _models_in(field.annotation):
            yield from _keys_of(below, f"{place}.{key}{step}".lstrip("."))


def _models_in(annotation: Any) -> Iterator[tuple[type[FileModel], str]]:
    """The models that stand at an annotation, and the step that leads there."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, FileModel):
        yield annotation, ""
    elif origin is Annotated:
        yield from _models_in(arguments[0])
    elif origin in (Union, types.UnionType):
        for one in arguments:
            yield from _models_in(one)
    elif origin is dict:
        yield from ((model, ".NAME") for model, _ in _models_in(arguments[1]))
    elif origin is list:
        yield from ((model, "[0]") for model, _ in _models_in(arguments[0]))
