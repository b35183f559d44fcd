"""Properties files are read as Java reads them.

The expectations of `JAVA` were printed by ``java.util.Properties.load`` of OpenJDK 17.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.scenarios.files.properties_text import parse_properties, read_properties, repeated_keys

JAVA = [
    ("a=b", {"a": "b"}),
    ("a = b c ", {"a": "b c "}),
    ("a:b", {"a": "b"}),
    ("a b", {"a": "b"}),
    ("a\t=\tb", {"a": "b"}),
    ("a", {"a": ""}),
    ("a=", {"a": ""}),
    ("a==b", {"a": "=b"}),
    ("a=b=c", {"a": "b=c"}),
    ("  a=b", {"a": "b"}),
    ("# c\n! d\n\na=b # no comment", {"a": "b # no comment"}),
    ("a=b,\\\n    c", {"a": "b,c"}),
    ("a=b\\\n# c", {"a": "b# c"}),
    ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
    ("a=b\\", {"a": "b"}),
    ("a\\ b=c", {"a b": "c"}),
    ("a\\:b\\=c=d", {"a:b=c": "d"}),
    ("a=\\u0041\\t\\q", {"a": "A\tq"}),
    ("a=1\na=2", {"a": "2"}),
    ("a=b\r\nc=d\re=f", {"a": "b", "c": "d", "e": "f"}),
    ("a : = b", {"a": "= b"}),
    ("\\\n#\n!", {}),
    ("\\\n \na=b", {"a": "b"}),
    ("a=\\ud83d\\ude00 \\uFEFF", {"a": "\U0001f600 \ufeff"}),
]


@pytest.mark.parametrize(("text", "pairs"), JAVA)
def test_a_text_is_read_as_java_reads_it(text: str, pairs: dict[str, str]) -> None:
    assert parse_properties(text) == pairs


def test_a_broken_escape_is_refused() -> None:
    with pytest.raises(ValueError, match="malformed"):
        parse_properties("a=\\u00")


@pytest.mark.parametrize("text", ["a=\\ud83d", "a=\\ude00\\ud83d", "\\ud83dx=1"])
def test_half_of_a_surrogate_pair_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="half of a surrogate pair"):
        parse_properties(text)


_PLAIN = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="\\=:#! "), min_size=1)


@given(st.dictionaries(_PLAIN, _PLAIN))
def test_plain_pairs_come_back(pairs: dict[str, str]) -> None:
    assert parse_properties("".join(f"{key}={value}\n" for key, value in pairs.items())) == pairs


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "latin.properties").write_bytes(b"a=\xfc")
    with pytest.raises(ValueError, match=r"latin.properties: is not UTF-8"):
        read_properties(tmp_path / "latin.properties")
    with pytest.raises(ValueError, match=r"nowhere.properties: cannot be read"):
        read_properties(tmp_path / "nowhere.properties")


def test_keys_that_are_given_more_than_once_are_found_with_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "twice.properties"
    file.write_text("# a=0\na=1\nb: 1\nc=1,\\\n  2\na : 2\nb 3\n\\u0061=4\n")
    assert repeated_keys(file) == {"a": [2, 6, 8], "b": [3, 7]}
    assert read_properties(file) == {"a": "4", "b": "3", "c": "1,2"}
