"""The bugs that are planted: each is other code, and what only people read is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutation.mutants import mutants_of


@pytest.mark.parametrize(
    ("line", "others"),
    [
        ("return a < 1 and not b", {"return (a < 1 or not b)", "return (a <= 1) and not b", "return a < 2 and not b",
                                    "return a < 1 and (b)"}),
        ("return min(a, b) + 1", {"return (max(a, b)) + 1", "return (min(a, b) - 1)", "return min(a, b) + 2"}),
        ("a.é = b is None; a += b", {"pass; a += b", "a.é = (b is not None); a += b", "a.é = b is None; pass"}),
        ("print(a, end=True)", {"pass", "print(a, end=False)"}),
        ("assert a == 1, f'{a + 1}'", set()),
        ("raise ValueError(1)", set()),
    ],
)  # fmt: skip
def test_each_bug_is_one_expression_or_statement_that_reads_otherwise(
    tmp_path: Path, line: str, others: set[str]
) -> None:
    source = f'"""1 < 2."""\n\n\ndef f(self, a: int, b) -> bool:\n    {line}\n'
    (tmp_path / "a.py").write_text(source)
    found = list(mutants_of(tmp_path, Path("a.py")))
    assert {one.of(source.encode()).decode() for one in found} == {source.replace(line, other) for other in others}
    assert {(one.function, one.line) for one in found} <= {(4, 5)}
