"""How help looks: paragraphs, flags without a type beside them, ``-h``, and ``--version``."""

from __future__ import annotations

import re
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

CONTEXT: Final = {"help_option_names": ["-h", "--help"]}


class _Plain:
    """A flag takes no value, so its help shows none; paragraphs are as wide as the terminal, not as the source."""

    def __init__(self, *args: Any, help: str | None = None, **others: Any) -> None:  # noqa: A002
        text = re.sub(r"(?<!\n)\n(?!\n)", " ", help.strip()) if help else help
        super().__init__(*args, help=text, **others)  # type: ignore[call-arg]

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters of the command."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for one in found:
            if getattr(one, "is_flag", False):
                one.metavar = ""
        return found


class Command(_Plain, TyperCommand):
    """A command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; a value that ``--set`` has behind a blank is told as such, not as one argument more."""
        for option, path, value in zip(args, args[1:], args[2:], strict=False):
            if option == "--set" and "=" not in path and not value.startswith("-"):
                raise typer.BadParameter(f"must be PATH=VALUE, without a blank: write --set {path}={value}", ctx=ctx)
        return super().parse_args(ctx, args)


class Group(_Plain, TyperGroup):
    """A command that has sub-commands."""


def dress(app: typer.Typer) -> typer.Typer:
    """The application with all its commands, as they should look."""
    for command in app.registered_commands:
        command.cls = Command
    for group in app.registered_groups:
        group.cls = Group
        if group.typer_instance is not None:
            dress(group.typer_instance)
    return app


def show_version(asked: bool) -> None:
    """Print the version, and leave."""
    if asked:
        from importlib.metadata import version

        print(f"groupsim {version('groupsim')}")
        raise typer.Exit
