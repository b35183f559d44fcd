"""A process that is killed at any instant: what it has left is taken up or swept away, and the results are the same."""

from __future__ import annotations

import json
from functools import partial
from itertools import count
from pathlib import Path

from groupsim.scenarios.files.new_folder import complete_or_absent
from groupsim.scenarios.files.result_folder import run_files, write_files
from groupsim.scenarios.sweep.execution import Listener, carry_out_sweep
from groupsim.scenarios.sweep.outcome import Simulate
from tests.support import fake_simulation as fake
from tests.support.deaths import killed_before_change
from tests.support.sweeps import sweep_of


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def sweep(folder: Path, simulate: Simulate = fake.fail_on_second) -> None:
    carry_out_sweep(sweep_of(2, ("range",)), folder, None, simulate, resume=True, listener=Listener())


def test_a_sweep_killed_before_any_change_of_a_file_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    sweep(tmp_path / "whole")
    whole = contents(tmp_path / "whole")
    own = {"manifest.json", "sweep.json"}  # how long it took
    for number in count():
        folder = tmp_path / f"{number}"
        if not killed_before_change(partial(sweep, folder), tmp_path, number):
            break
        sweep(folder)
        there = contents(folder)
        assert set(there) == set(whole), number
        assert {name for name in whole if there[name] != whole[name]} <= own, number
        digests = [json.loads(one["manifest.json"])["digests"] for one in (there, whole)]
        assert digests[0] == digests[1], number
    assert number > 20


def run(folder: Path) -> None:
    with complete_or_absent(folder) as unfinished:
        write_files(unfinished, run_files(fake.simulate(fake.scenario(), seed=1, replication=0)))


def test_a_run_killed_before_any_change_of_a_file_leaves_all_or_nothing_and_no_rubbish(tmp_path: Path) -> None:
    run(tmp_path / "whole")
    whole, left = contents(tmp_path / "whole"), []
    for number in count():
        place = tmp_path / f"{number}/out"
        if not killed_before_change(partial(run, place), tmp_path, number):
            break
        if not place.exists():
            run(place)
        assert {name: content for name, content in contents(place).items() if name != ".groupsim"} == whole, number
        left += [path for path in place.parent.iterdir() if path != place]
    assert number > 10
    assert [len([*path.rglob("*")]) for path in left] == [0, 1], "before the file that says whose the folder is"
