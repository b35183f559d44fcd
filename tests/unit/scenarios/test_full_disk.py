"""Where results cannot be written: told in a line, with an exit code, and nothing half done is left."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from groupsim.scenarios.files.new_folder import OccupiedFolder, complete_or_absent
from groupsim.scenarios.sweep.folder import sweep_folder
from tests.support.command_line import SCENARIO, CommandLine


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "small.yaml").write_text(SCENARIO)
    (tmp_path / "sweep.yaml").write_text("scenario: small.yaml\nreplications: 2\n")
    monkeypatch.chdir(tmp_path)


def full(self: Path, content: bytes) -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))


@pytest.mark.parametrize("times", [(), ("--replications", "2")])
def test_a_run_on_a_full_disk_says_so_and_leaves_nothing(
    groupsim: CommandLine, monkeypatch: pytest.MonkeyPatch, times: tuple[str, ...]
) -> None:
    monkeypatch.setattr(Path, "write_bytes", full)
    told = groupsim("run", "small.yaml", "--out", "out", *times)
    assert (told.code, told.out) == (3, "")
    assert told.err.startswith("error: OSError: [Errno 28] No space left on device")
    assert told.said.count("\n") == 1
    assert sorted(path.name for path in Path().iterdir()) == ["small.yaml", "sweep.yaml"]


def test_a_sweep_on_a_full_disk_says_so_and_goes_on_when_there_is_room(
    groupsim: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        told = groupsim("sweep", "sweep.yaml", "--inline", "--out", "out")
    assert (told.code, told.out) == (3, "")
    assert "No space left on device" in told.said
    assert "--resume goes on" in told.said
    assert "Traceback" not in told.err
    assert groupsim("sweep", "sweep.yaml", "--inline", "--out", "out", "--resume").code == 0


@pytest.fixture
def nobody(tmp_path: Path) -> Iterator[None]:
    """Nobody in particular, who may look at the folder of the test and change nothing in it."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody who may write nowhere")
    (tmp_path / "closed").mkdir(mode=0o700)
    (tmp_path / "empty").mkdir(mode=0o755)
    for folder in [tmp_path, *tmp_path.parents][:3]:  # what pytest makes is for its user alone
        folder.chmod(0o755)
    os.seteuid(65534)
    yield
    os.seteuid(0)


@pytest.mark.usefixtures("nobody")
@pytest.mark.parametrize("out", ["out", "closed/out", "empty"])
def test_a_folder_that_may_not_be_written_is_refused_before_anything_runs(tmp_path: Path, out: str) -> None:
    with pytest.raises(OccupiedFolder, match="Permission denied"), complete_or_absent(tmp_path / out):
        pytest.fail("nothing may be computed for a folder that cannot be")
    with (
        pytest.raises(OccupiedFolder, match="Permission denied"),
        sweep_folder(tmp_path / out, {}, lambda: pytest.fail("nothing may be computed"), resume=False),
    ):
        pass
