"""What makes results those of one sweep and of no other: model, sweep file, scenarios, seeds, the user's own code."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from groupsim.sim.versions import source_digest, versions

if TYPE_CHECKING:
    from groupsim.scenarios.sweep.loading import Sweep
    from groupsim.sim.model import Scenario

FORMAT: Final = 1
"""Of a sweep's folder."""

_DECIDING: Final = ("groupsim", "simpy", "numpy")
"""Packages whose version may change a number."""
_NOT_RUN: Final = ("document", "remarks")
"""Of a scenario: what no run reads."""
_SHOWN: Final = 4
_DIGESTS: Final = {
    "sources": "the rules of the model have changed ({path})",
    "scenario": "what is simulated is another scenario ({path})",
}
"""What is said where the values are digests, which tell nobody anything."""


def identity_of(sweep: Sweep) -> dict[str, Any]:
    """The identity of a sweep as plain data.

    The first variant's scenario is in it as a document, so that a difference can be named; of all variants there are
    digests, which see through the names of files to what was read from them.
    """
    return {
        "format": FORMAT,
        "model": {name: versions()[name] for name in _DECIDING} | {"sources": source_digest()},
        "sweep": dict(sweep.document),
        "scenario": dict(sweep.variants[0].scenario.document),
        "variants": {one.name: {"seed": one.seed, "scenario": fingerprint(one.scenario)} for one in sweep.variants},
        "code": {path: _source(path.partition(":")[0]) for path in sweep.allow_code},
    }


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """What tells two identities apart, in words; empty if nothing does.

    Parameters
    ----------
    there, here : mapping
        Of the folder, and of the sweep that is to go on in it.
    """
    found = list(_differing(there, json.loads(json.dumps(here))))
    if not found:
        return ""
    more = [f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    return "; ".join([*found[:_SHOWN], *more])


def _differing(there: Any, here: Any, path: str = "") -> Iterator[str]:
    if isinstance(there, Mapping) and isinstance(here, Mapping):
        for key in dict.fromkeys([*there, *here]):
            own = f"{path}.{key}" if path else key
            if key not in here or key not in there:
                yield f"{own} is {'new' if key in here else 'gone'}"
            else:
                yield from _differing(there[key], here[key], own)
    elif there != here:
        yield _DIGESTS.get(path.rpartition(".")[2], "{path} was {there}, is {here}").format(
            path=path, there=_short(there), here=_short(here)
        )


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 24 else f"{text[:20]}..."


def fingerprint(scenario: Scenario) -> str:
    """SHA-256 over all that a run takes from a scenario: equal for equal scenarios, in every process."""
    own = {one.name: _plain(getattr(scenario, one.name)) for one in fields(scenario) if one.name not in _NOT_RUN}
    return sha256(json.dumps(own, sort_keys=True).encode()).hexdigest()


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return [type(value).__name__, *(_plain(getattr(value, one.name)) for one in fields(value))]
    if isinstance(value, Mapping):
        return [[_plain(key), _plain(one)] for key, one in value.items()]
    if isinstance(value, frozenset | set):
        return sorted(_plain(one) for one in value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(one) for one in value]
    return value


def _source(module: str) -> str:
    """Digest of the file of a module that has been imported."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return sha256(Path(file).read_bytes()).hexdigest() if file else ""
