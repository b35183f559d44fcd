"""``groupsim scenarios``: what comes with groupsim, and help with files of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scenarios.cli.exits import WRONG_INPUT
from scenarios.cli.output import print_json, say

app = typer.Typer(help="List, show and check scenario files.", no_args_is_help=True)


@app.command("list")
def list_(as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False) -> None:
    """List the built-in scenarios and sweeps with their questions."""
    from scenarios.loading import list_names, path_of
    from scenarios.sweep import list_sweeps, path_of_sweep
    from scenarios.yaml_text import read_yaml

    paths = [("scenario", path_of(name)) for name in list_names()]
    paths += [("sweep", path_of_sweep(name)) for name in list_sweeps()]
    found = [
        {"kind": kind, "name": path.stem, "question": read_yaml(path).data.get("question", "")} for kind, path in paths
    ]
    if as_json:
        print_json(found)
        return
    wide = max(len(one["name"]) for one in found)
    for one in found:
        print(f"{one['kind']:8}  {one['name']:{wide}}  {one['question']}")


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A built-in scenario.")],
    sweep: Annotated[bool, typer.Option("--sweep", help="The sweep of that name instead.")] = False,
) -> None:
    """Print a built-in file, as YAML that loads again."""
    from scenarios.loading import path_of
    from scenarios.sweep import path_of_sweep

    print((path_of_sweep(name) if sweep else path_of(name)).read_text(encoding="utf-8"), end="")


@app.command()
def validate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE ...", help="Scenario and sweep files.")],
) -> None:
    """Check files; tell everything that is wrong with them, and what is allowed but unwise."""
    from scenarios.errors import ScenarioFileError
    from scenarios.loading import load
    from scenarios.notes import warnings_of
    from scenarios.sweep import load_sweep
    from scenarios.yaml_text import read_yaml

    refused = False
    for file in files:
        try:
            data = read_yaml(file).data
            is_sweep = isinstance(data, dict) and "scenario" in data
            warnings = load_sweep(file).warnings() if is_sweep else warnings_of(load(file))
            print(f"{file}: valid")
            for warning in warnings:
                say(f"{file}: warning: {warning}")
        except ScenarioFileError as error:
            refused = True
            say(str(error))
    if refused:
        raise typer.Exit(WRONG_INPUT)


@app.command()
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors."""
    from scenarios.schema import json_schema

    print_json(json_schema())
