"""``groupsim scenarios``: what comes with groupsim, and help with files of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from groupsim.scenarios.cli.completion import names_or_files
from groupsim.scenarios.cli.exits import WRONG_INPUT
from groupsim.scenarios.cli.output import print_json, print_pairs, say, say_wrapped

app = typer.Typer(help="List, show and check scenario files.", no_args_is_help=True)


@app.command("list")
def list_(as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False) -> None:
    """List the built-in scenarios and sweeps with their questions."""
    from groupsim.scenarios.build import loading
    from groupsim.scenarios.files.yaml_text import read_yaml
    from groupsim.scenarios.sweep import loading as sweeps

    libraries = {"scenario": loading.LIBRARY, "sweep": sweeps.LIBRARY}
    paths = [
        (kind, loading.built_in(name, folder))
        for kind, folder in libraries.items()
        for name in loading.names_in(folder)
    ]
    found = [
        {"kind": kind, "name": path.stem, "question": read_yaml(path).data.get("question", "")} for kind, path in paths
    ]
    if as_json:
        print_json(found)
        return
    for kind, use in (("scenario", "run NAME"), ("sweep", "sweep NAME --out DIR")):
        print(f"{kind}s, for groupsim {use}:")
        print_pairs((one["name"], one["question"]) for one in found if one["kind"] == kind)


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", autocompletion=names_or_files(), help="A built-in scenario.")],
    sweep: Annotated[
        bool, typer.Option("--sweep", help="The sweep of that name, where a scenario has it too.")
    ] = False,
) -> None:
    """Print a built-in file, as YAML that loads again."""
    from groupsim.scenarios.build import loading
    from groupsim.scenarios.sweep import loading as sweeps

    of_sweeps = sweep or (name in loading.names_in(sweeps.LIBRARY) and name not in loading.list_names())
    path = loading.built_in(name, sweeps.LIBRARY if of_sweeps else loading.LIBRARY)
    print(path.read_text(encoding="utf-8"), end="")


@app.command()
def validate(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE ...", autocompletion=names_or_files(), help="Scenario, sweep and suite files."),
    ],
) -> None:
    """Check files; show everything that is wrong with them, and what is allowed but unwise."""
    from groupsim.scenarios.errors import ScenarioFileError

    refused = False
    for file in files:
        try:
            warnings = _warnings(file)
            print(f"{file}: valid")
            for warning in warnings:
                say_wrapped(f"{file}: warning: {warning}")
        except ScenarioFileError as error:
            refused = True
            say(str(error))
    if refused:
        raise typer.Exit(WRONG_INPUT)


def _warnings(file: str) -> tuple[str, ...]:
    """What is unwise about a file of whichever kind; a refusal if it is worse."""
    from groupsim.scenarios.build.loading import load, load_document
    from groupsim.scenarios.build.notes import warnings_of
    from groupsim.scenarios.gate.suite import load_suite
    from groupsim.scenarios.sweep.loading import load_sweep

    document = load_document(file)
    if "scenarios" in document:
        return load_suite(Path(file)).warnings()
    return load_sweep(file).warnings() if "scenario" in document else warnings_of(load(file))


@app.command()
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors."""
    from groupsim.scenarios.schema.scenario_file import json_schema

    print_json(json_schema())
