"""Small bugs that can be planted in a source file: each is one expression or statement that reads otherwise."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

_PAIRS = [(ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn)]
_OTHER_COMPARISON: dict[type[ast.cmpop], type[ast.cmpop]] = {a: b for pair in _PAIRS for a, b in (pair, pair[::-1])}
_NOT_CODE = ("annotation", "returns", "decorator_list")
_NOT_DECIDING = (ast.JoinedStr, ast.Raise, ast.Assert, ast.Import, ast.ImportFrom)


class Mutant(NamedTuple):
    """``path`` with other text between two places (bytes), on a line, in the function that begins at a line, or 0."""

    path: Path
    function: int
    line: int
    start: int
    end: int
    text: str

    def of(self, source: bytes) -> bytes:
        """The file with the bug in it."""
        return source[: self.start] + self.text.encode() + source[self.end :]


def mutants_of(root: Path, path: Path) -> Iterator[Mutant]:
    """Every bug that can be planted in one file."""
    source = (root / path).read_bytes()
    begins = [0, 0, *accumulate(map(len, source.splitlines(keepends=True)))]
    for node, function in _inside(ast.parse(source), 0):
        for text in _others(node, in_function=bool(function)):
            start, end = begins[node.lineno] + node.col_offset, begins[node.end_lineno] + node.end_col_offset
            yield Mutant(path, function, node.lineno, start, end, text)


def _inside(node: ast.AST, function: int) -> Iterator[tuple[ast.AST, int]]:
    """Statements and expressions that decide something, with the first line of their function."""
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if field in _NOT_CODE or not isinstance(child, ast.AST) or isinstance(child, _NOT_DECIDING):
                continue
            is_function = isinstance(child, ast.FunctionDef)
            inner = min(one.lineno for one in [child, *child.decorator_list]) if is_function else function
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
        case ast.BinOp(op=ast.Add() | ast.Sub() as op):
            yield _with(node, op=ast.Sub() if isinstance(op, ast.Add) else ast.Add())
        case ast.Constant(value=int(value)):
            yield str(not value if isinstance(value, bool) else value + 1)
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=[_, _, *_]):
            yield _with(node, func=ast.Name("max" if name == "min" else "min"))
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Assign(targets=[ast.Attribute()]) if in_function:
            yield "pass"


def _with(node: ast.expr, **fields: object) -> str:
    other = copy.copy(node)
    vars(other).update(fields)
    return f"({ast.unparse(other)})"
