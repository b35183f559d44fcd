"""Who an entry of the timeline is done to, and where its file says so."""

from __future__ import annotations

from collections.abc import Iterator

from groupsim.scenarios.files.yaml_text import Place
from groupsim.scenarios.schema.verbs import CutFile, TargetedFile
from groupsim.sim.model import Target


def entry_targets(body: object, place: Place) -> Iterator[tuple[Place, Target]]:
    """Targets in the body of a verb that stands at ``place``, each with its own place; a cut has two."""
    if isinstance(body, CutFile):
        yield from (((*place, "between", side), target) for side, target in enumerate(body.between))
    elif isinstance(body, TargetedFile):
        yield (*place, "target"), body.target
