"""YAML's traps are refused, each with its line."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from groupsim.scenarios.errors import ScenarioFileError
from groupsim.scenarios.files.yaml_text import parse_yaml, path_text, read_yaml


def _problems(text: str) -> list[tuple[int, str, str]]:
    with pytest.raises(ScenarioFileError) as caught:
        parse_yaml(text, "s.yaml")
    return [(one.line, one.path, one.message) for one in caught.value.problems]


@pytest.mark.parametrize(
    ("text", "line", "path", "message"),
    [
        ("a: 1\nb: 1e3\n", 2, "b", "reads this as text: write it without an exponent"),
        ("a: -1.5E3\n", 1, "a", "reads this as text"),
        ("a: 1:30\n", 1, "a", "base 60"),
        ("a: 1:30.5\n", 1, "a", "base 60"),
        ("a: 010\n", 1, "a", "base 8"),
        ("a: [x, yes]\n", 1, "a[1]", "truth value"),
        ("a: {b.c: Off}\n", 1, "a[b.c]", "truth value"),
        ("a: NO\n", 1, "a", "write true or false"),
        ("a: .inf\n", 1, "a", "finite number"),
        ("a: .NaN\n", 1, "a", "finite number"),
        ("a: -0.0\n", 1, "a", "is zero: write 0, without a sign"),
        ("a: -0\n", 1, "a", "is zero: write 0, without a sign"),
        ("a: -0.0e+5\n", 1, "a", "is zero: write 0, without a sign"),
        ("a: 2026-01-01\n", 1, "a", "a date"),
        ("on: 1\n", 1, "", "a key must be text"),
        ("1: x\n", 1, "", "a key must be text"),
        ("? [a]\n: 1\n", 1, "", "a key must be text"),
        ("a: 1\nb: 2\na: 3\n", 3, "a", "given twice, first in line 1"),
        ("a:\n  b: 1\n  c: 2\n  b: 3\n", 4, "a.b", "given twice, first in line 2"),
        ("a:\n\tb: 1\n", 2, "", "never with tabs"),
        ("a: [1\n", 2, "", "is not YAML"),
        ("a: 1\n---\nb: 2\n", 2, "", "another document"),
        ("a: 1\nb: !!python/object/apply:os.system [echo]\n", 2, "", "a tag"),
        ("a: &x [*x]\n", 1, "", "unfold without end"),
        ("a: \x00\n", 0, "", "special characters are not allowed"),
        ("a: !!int ''\n", 1, "", "a tag"),
        ("a: !!bool x\n", 1, "", "a tag"),
        ("a: !!float nan\n", 1, "", "a tag"),
        ("a: !!binary eA==\n", 1, "", "a tag"),
        ("a: !!set {b}\n", 1, "", "a tag"),
        ("a: !!omap [b: 1]\n", 1, "", "a tag"),
        ("a: ! x\n", 1, "", "a tag"),
        ('a: "\\uD800"\n', 1, "a", "half of a surrogate pair"),
        ('"\\uDfff": 1\n', 1, "", "a key must be text"),
    ],
)
def test_a_trap_is_refused_with_its_line(text: str, line: int, path: str, message: str) -> None:
    (found,) = _problems(text)
    assert found[:2] == (line, path)
    assert message in found[2]


def test_all_traps_of_a_file_are_told_at_once() -> None:
    assert [line for line, _, _ in _problems("a: 1e3\nb: yes\nc: ok\nd: 1:30\n")] == [1, 2, 4]


def multiplying(form: str, levels: int) -> str:
    """Lines each of which names the one before several times."""
    return "\n".join(["a0: &a0 {k: 1}", *(form.format(own=n, below=f"*a{n - 1}") for n in range(1, levels))])


@pytest.mark.parametrize(
    "form",
    [
        "a{own}: &a{own} [{below}, {below}, {below}]",
        "a{own}: &a{own} {{x: {below}, y: {below}}}",
        "a{own}: &a{own} {{<<: [{below}, {below}]}}",
    ],
)
def test_aliases_that_multiply_are_counted_and_never_unfolded(form: str) -> None:
    tracemalloc.start()
    (found,) = _problems(multiplying(form, 45))
    assert found[2] == "holds more than 100,000 values, aliases unfolded"
    assert 8 < found[0] < 20
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()


def test_aliases_that_nest_ever_deeper_are_stopped() -> None:
    (found,) = _problems(multiplying("a{own}: &a{own} [{below}]", 200))
    assert found == (50, "", "is nested too deeply: at most 50 levels, aliases unfolded")


def test_nesting_is_stopped_before_python_gives_up() -> None:
    (found,) = _problems("a: " + "[" * 100_000)
    assert found == (1, "", "is nested too deeply: at most 50 levels, aliases unfolded")


def test_a_list_longer_than_any_scenario_is_told() -> None:
    assert "more than 100,000 values" in _problems("a: [" + "1," * 100_001 + "]")[0][2]


def test_a_long_file_is_not_even_read(tmp_path: Path) -> None:
    (tmp_path / "long.yaml").write_bytes(b"#" * (2 << 20) + b"\n")
    with pytest.raises(ScenarioFileError, match="is longer than 2 MiB"):
        read_yaml(tmp_path / "long.yaml")


@pytest.mark.parametrize("number", ["9" * 5000, "0x" + "f" * 5000, "9" * 5000 + ".0", "-" + "1" * 41])
def test_a_number_that_nobody_means_is_told_with_its_line(number: str) -> None:
    assert _problems(f"a: 1\nb: {{c: {number}}}\n") == [(2, "b.c", "is a number of more than 40 characters")]


@pytest.mark.parametrize("number", ["1.0e+400", "-1.0E+999", "1_0.0e+309"])
def test_a_number_beyond_floats_is_no_number(number: str) -> None:
    assert _problems(f"a: 1\nb: {number}\n")[0][:2] == (2, "b")


def test_what_only_looks_like_a_trap_is_left_alone() -> None:
    text = 'a: "yes"\nb: "1:30"\nc: -1.0E+3\nd: 1_000\ne: 0\nf: -0.05\ng: true\nh: null\ni: 1e3s\nj: 10:00am\n'
    assert parse_yaml(text, "s.yaml").data == {
        "a": "yes", "b": "1:30", "c": -1000.0, "d": 1000, "e": 0, "f": -0.05, "g": True, "h": None, "i": "1e3s",
        "j": "10:00am",
    }  # fmt: skip


def test_anchors_and_merges_work() -> None:
    text = "base: &base {a: 1, b: 2}\nmore: {<<: *base, b: 3}\n"
    assert parse_yaml(text, "s.yaml").data["more"] == {"a": 1, "b": 3}


def test_every_value_knows_its_line() -> None:
    lines = parse_yaml("a:\n  - x\n  - b:\n      c: 1\n", "s.yaml").lines
    assert lines[("a", 0)] == 2
    assert lines[("a", 1, "b", "c")] == 4


def test_an_empty_text_is_an_empty_document() -> None:
    assert parse_yaml("# nothing\n", "s.yaml").data is None


def test_a_file_that_is_not_utf_8_is_told_where(tmp_path: Path) -> None:
    file = tmp_path / "latin.yaml"
    file.write_bytes(b"version: 1\nquestion: f\xfcr\n")
    with pytest.raises(ScenarioFileError, match=r"not UTF-8: byte 0xfc at offset 22") as caught:
        read_yaml(file)
    assert caught.value.problems[0].line == 2


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    file = tmp_path / "bom.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read_yaml(file).data == {"a": 1}


@pytest.mark.parametrize("name", ["nowhere.yaml", "."])
def test_what_cannot_be_read_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioFileError, match="cannot be read"):
        read_yaml(tmp_path / name)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ((), ""),
        (("a", "b_c", "d-e"), "a.b_c.d-e"),
        (("groups", "b.c", "config", "session.timeout.ms"), "groups[b.c].config[session.timeout.ms]"),
        (("timeline", 0, "at"), "timeline[0].at"),
    ],
)
def test_places_are_written_as_paths(place: tuple[str | int, ...], text: str) -> None:
    assert path_text(place) == text


def test_list_elements_may_go_by_a_name() -> None:
    assert path_text(("timeline", 0, "at"), {("timeline", 0): "deploy"}) == "timeline[deploy].at"
