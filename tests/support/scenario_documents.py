"""A small scenario file, with changes: what it becomes, or what is wrong with it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from groupsim.scenarios import ScenarioFileError, parse
from groupsim.scenarios.build.paths import set_path
from groupsim.scenarios.errors import Problem
from groupsim.sim.model import Scenario


class ScenarioDocument:
    """A file that is fine as it is; ``changes`` are values by their paths, as ``--set`` has them.

    Parameters
    ----------
    base : str
        YAML.
    """

    def __init__(self, base: str) -> None:
        self._base = base

    def changed(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Its data."""
        document: dict[str, Any] = yaml.safe_load(self._base)
        for path, value in changes.items():
            set_path(document, path, value)
        return document

    def loaded(self, changes: dict[str, Any]) -> Scenario:
        """What it becomes, which is the same once more when it has been resolved."""
        scenario = parse(self.changed(changes), file="s.yaml", name="s")
        again = parse(dict(scenario.document), file="s.yaml", name="s")
        assert again == scenario, "a resolved document says the same again"
        return scenario

    def problems(self, changes: dict[str, Any]) -> list[Problem]:
        """All that is wrong with it."""
        with pytest.raises(ScenarioFileError) as caught:
            parse(self.changed(changes), file="s.yaml", name="s")
        return list(caught.value.problems)

    def only(self, changes: dict[str, Any]) -> Problem:
        """The one thing that is wrong with it."""
        (problem,) = self.problems(changes)
        return problem
