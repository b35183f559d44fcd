"""Texts that are written: all or nothing, and only where nobody else's would be lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupsim.scenarios.files.text_files import refuse_foreign, write_text
from groupsim.sim.errors import ConfigError

MARK = "# ours"


def test_a_text_is_written_with_the_folders_it_needs(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "text"
    write_text(path, "# ours: é\n", MARK)
    assert path.read_text(encoding="utf-8") == "# ours: é\n"
    assert [one.name for one in path.parent.iterdir()] == ["text"]


@pytest.mark.parametrize("there", ["# ours: old\n", ""])
def test_our_own_and_empty_files_are_replaced(tmp_path: Path, there: str) -> None:
    path = tmp_path / "text"
    path.write_text(there)
    write_text(path, "# ours: new\n", MARK)
    assert path.read_text() == "# ours: new\n"


@pytest.mark.parametrize("there", ["mine\n", "# our", " # ours"])
def test_what_is_somebody_elses_is_left_alone(tmp_path: Path, there: str) -> None:
    path = tmp_path / "text"
    path.write_text(there)
    with pytest.raises(ConfigError, match="was not written by groupsim"):
        write_text(path, "# ours: new\n", MARK)
    assert path.read_text() == there


def test_folders_and_devices_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, Path("/dev/null")):
        with pytest.raises(ConfigError, match="is no file"):
            refuse_foreign(path, MARK)


@pytest.mark.parametrize("name", ["file/text", "x" * 300])
def test_a_place_where_no_file_can_be_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"cannot be (written|read)"):
        write_text(tmp_path / name, "# ours\n", MARK)


def test_a_write_that_fails_leaves_what_there_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "text"
    path.write_text("# ours: old\n")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(ConfigError, match="No space left"):
        write_text(path, "# ours: new\n", MARK)
    assert [one.name for one in tmp_path.iterdir()] == ["text"]
    assert path.read_text() == "# ours: old\n"
