"""Small bugs that can be planted in a source file: each is one expression or statement that reads otherwise."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_OTHER_COMPARISON: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OTHER_SUM: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}
_OTHER_CALL = {"min": "max", "max": "min"}
_NOT_CODE = ("annotation", "returns", "decorator_list")
_TEXT_ONLY = (ast.JoinedStr, ast.Raise, ast.Assert, ast.Import, ast.ImportFrom)
"""What is in them is text for people, or has no place of its own in the source (f-strings in 3.11)."""


class Mutant(NamedTuple):
    """``path`` (below the root) with other text between two places; columns count UTF-8 bytes.

    ``function`` is the first line of the function that they are in, 0 outside of functions.
    """

    path: Path
    function: int
    line: int
    start: int
    end_line: int
    end: int
    text: str

    def of(self, source: str) -> str:
        """The file with the bug in it."""
        lines = source.encode().splitlines(keepends=True)
        head, tail = lines[self.line - 1][: self.start], lines[self.end_line - 1][self.end :]
        return b"".join([*lines[: self.line - 1], head + self.text.encode() + tail, *lines[self.end_line :]]).decode()


def mutants_of(root: Path, path: Path) -> Iterator[Mutant]:
    """Every bug that can be planted in one file."""
    for node, function in _inside(ast.parse((root / path).read_text()), 0):
        for text in _others(node, in_function=bool(function)):
            yield Mutant(path, function, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset, text)


def _inside(node: ast.AST, function: int) -> Iterator[tuple[ast.AST, int]]:
    """Statements and expressions that decide something, with the first line of their function."""
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if field in _NOT_CODE or not isinstance(child, ast.AST) or isinstance(child, _TEXT_ONLY):
                continue
            inner = function
            if isinstance(child, ast.FunctionDef):
                inner = min(one.lineno for one in [child, *child.decorator_list])
            yield child, inner
            yield from _inside(child, inner)


def _others(node: ast.AST, *, in_function: bool) -> Iterator[str]:
    """What could stand there instead."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in _OTHER_COMPARISON:
            yield _with(node, ops=[_OTHER_COMPARISON[type(op)]()])
        case ast.BoolOp(op=op):
            yield _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield f"({ast.unparse(operand)})"
        case ast.BinOp(op=op) if type(op) in _OTHER_SUM:
            yield _with(node, op=_OTHER_SUM[type(op)]())
        case ast.Constant(value=bool(value)):
            yield str(not value)
        case ast.Constant(value=int(value)):
            yield str(value + 1)
        case ast.Call(func=ast.Name(id=name), args=[_, _, *_]) if name in _OTHER_CALL:
            yield _with(node, func=ast.Name(_OTHER_CALL[name]))
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Assign(targets=[ast.Attribute()]) if in_function:
            yield "pass"


def _with(node: ast.expr, **fields: object) -> str:
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return f"({ast.unparse(other)})"
