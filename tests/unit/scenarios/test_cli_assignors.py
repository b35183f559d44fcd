"""``groupsim assignors``: list, compare and explain."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupsim.assignors import ASSIGNORS, SERVER_ASSIGNORS
from tests.support.command_line import CommandLine

OWN = """
import numpy as np
from groupsim.assignors import Assignment, Assignor

class First(Assignor):
    name = "first"
    def assign(self, snapshot):
        everything = np.arange(snapshot.topics.n_partitions, dtype=np.int32)
        return Assignment.of_pairs(snapshot.topics, snapshot.n_members, everything * 0, everything)

class Torn(Assignor):
    name = "torn"
    def assign(self, snapshot):
        everything = np.arange(snapshot.topics.n_partitions, dtype=np.int32)
        return Assignment.of_pairs(snapshot.topics, snapshot.n_members, everything * 0, everything * 0)
"""
SMALL = ("--members", 5, "--partitions", 20)


@pytest.fixture
def own(importable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (importable / "own_assignors.py").write_text(OWN)
    monkeypatch.chdir(importable)


class TestList:
    def test_has_every_assignor_with_what_it_promises(self, groupsim: CommandLine) -> None:
        told = {one["assignor"]: one for one in groupsim("assignors", "list", "--json").json}
        assert set(told) == {*ASSIGNORS, *(f"server:{name}" for name in SERVER_ASSIGNORS)}
        assert told["cooperative-sticky"]["protocol"] == ["cooperative", "eager"]
        assert (told["server:range"]["name"], told["server:range"]["side"]) == ("range", "server")
        assert "sticky" in told["sticky"]["promises"]
        assert "exclusive" in told["broadcast"]["exceptions"]

    def test_fits_80_columns_with_whole_names(self, groupsim: CommandLine) -> None:
        out = groupsim("assignors", "list").out
        assert max(map(len, out.splitlines())) <= 80
        assert all(name in out for name in (*ASSIGNORS, "server:uniform"))

    @pytest.mark.usefixtures("own")
    def test_has_what_the_user_allows(self, groupsim: CommandLine) -> None:
        told = groupsim("assignors", "list", "--allow-code", "own_assignors:First", "--json").json
        assert told[-1]["assignor"] == "first"


class TestCompare:
    def test_answers_on_one_screen(self, groupsim: CommandLine) -> None:
        told = groupsim("assignors", "compare", "--members", 15, "--partitions", 60, "--many", 5)
        assert told.code == 0
        lines = told.out.splitlines()
        assert lines[0] == "15 members, 1 topic, 60 partitions: what moves (in brackets: the fewest)"
        assert max(map(len, lines)) <= 80
        assert len(lines) <= 45
        assert "join 5" in told.out
        assert "54 (15)" in next(line for line in lines if line.startswith("range"))
        assert "broadcast is left out" in told.said

    def test_in_json_has_every_assignor_and_event(self, groupsim: CommandLine) -> None:
        told = groupsim("assignors", "compare", *SMALL, "--json").json
        assert (told["members"], told["partitions"], told["many"]) == (5, 20, 2)
        sticky = {one["event"]: one for one in told["outcomes"] if one["assignor"] == "sticky"}
        assert list(sticky) == [
            "full", "stable", "join one", "join many", "leave one, first", "leave one, middle", "leave one, last",
            "leave one, mean", "leave many", "partitions added",
        ]  # fmt: skip
        assert (sticky["leave one, mean"]["moved"], sticky["leave one, mean"]["least"]) == (4, 4)
        assert sticky["full"]["seconds"] > 0
        assert {one["assignor"] for one in told["outcomes"]} == {
            *(set(ASSIGNORS) - {"broadcast"}), *(f"server:{name}" for name in SERVER_ASSIGNORS)
        }  # fmt: skip

    def test_takes_a_file(self, groupsim: CommandLine, tmp_path: Path) -> None:
        (tmp_path / "group.yaml").write_text(
            "topics: {t: {partitions: 6, rate: [9, 1, 1, 1, 1, 1], replicas: [[a], [b]]}}\n"
            "members: {x: {rack: a}, y: {rack: b}}"
        )
        told = groupsim("assignors", "compare", tmp_path / "group.yaml")
        assert told.out.startswith("2 members, 1 topic, 6 partitions")
        assert "cross-rack" in told.out
        assert "of partitions (of rates)" in " ".join(told.out.split())
        assert "leave 1" in told.out
        assert max(map(len, told.out.splitlines())) <= 80
        told = groupsim("assignors", "compare", tmp_path / "group.yaml", "--members", 3)
        assert (told.code, told.out) == (2, "")

    def test_tells_rates_read_across_racks(self, groupsim: CommandLine, tmp_path: Path) -> None:
        (tmp_path / "group.yaml").write_text(
            "topics: {t: {partitions: 2, rate: [90, 10], replicas: [[a], [b]]}}\nmembers: {x: {rack: b}}"
        )
        full = groupsim("assignors", "compare", tmp_path / "group.yaml", "--json").json["outcomes"][0]
        assert (full["cross_rack_share"], full["cross_rack_rate"]) == (0.9, 90)

    def test_of_chosen_assignors_has_those(self, groupsim: CommandLine) -> None:
        chosen = ("--assignor", "sticky", "--assignor", "server:range")
        told = groupsim("assignors", "compare", *SMALL, *chosen, "--json")
        assert {one["assignor"] for one in told.json["outcomes"]} == {"sticky", "server:range"}
        assert told.err == ""
        told = groupsim("assignors", "compare", *SMALL, "--assignor", "stiky")
        assert (told.code, told.out) == (2, "")
        assert "did you mean 'sticky'?" in told.said
        told = groupsim("assignors", "compare", *SMALL, "--assignor", "broadcast")
        assert (told.code, told.out) == (2, "")
        assert "broadcast cannot be compared" in told.said

    def test_goes_by_id_without_javas_order(self, groupsim: CommandLine, tmp_path: Path) -> None:
        (tmp_path / "group.yaml").write_text(
            "topics: {t: {partitions: 7, rate: [1, 2, 4, 8, 16, 32, 64]}}\nmembers: {m1: {}, m2: {}, m3: {}, m10: {}}"
        )
        arguments = ("assignors", "compare", tmp_path / "group.yaml", "--assignor", "sticky", "--json")
        java = groupsim(*arguments).json["outcomes"]
        by_id = groupsim(*arguments, "--no-java-order").json["outcomes"]
        assert [one["imbalance_rate"] for one in java] != [one["imbalance_rate"] for one in by_id]

    def test_tells_details_of_every_event(self, groupsim: CommandLine) -> None:
        out = groupsim("assignors", "compare", *SMALL, "--details").out
        for event in ("full", "join many", "leave one, mean", "partitions added"):
            assert f"\n{event}:\n" in out
        assert max(map(len, out.splitlines())) <= 80
        assert [line.split()[:2] for line in out.splitlines()].count(["assignor", "moved"]) == 10

    def test_times_every_event(self, groupsim: CommandLine) -> None:
        outcomes = groupsim("assignors", "compare", *SMALL, "--json").json["outcomes"]
        assert all(one["seconds"] > 0 for one in outcomes)

    def test_of_a_single_member_has_nobody_leave(self, groupsim: CommandLine) -> None:
        told = groupsim("assignors", "compare", "--members", 1, "--partitions", 2)
        assert told.code == 0
        assert "leave" not in told.out

    def test_says_what_is_not_exact_in_large_groups(self, groupsim: CommandLine, tmp_path: Path) -> None:
        assert "the mean is over" not in groupsim("assignors", "compare", *SMALL).err
        (tmp_path / "group.yaml").write_text("topics: {t: 5000, u: 1}\nmembers: {x: {count: 101}, y: {topics: [u]}}")
        told = groupsim("assignors", "compare", tmp_path / "group.yaml").err
        assert "the mean is over 100 members leaving alone" in told
        assert "what had to move is a lower bound" in told

    def test_draws_a_figure(self, groupsim: CommandLine, tmp_path: Path) -> None:
        told = groupsim("assignors", "compare", *SMALL, "--figure", tmp_path / "moves.png")
        assert told.code == 0
        assert (tmp_path / "moves.png").read_bytes().startswith(b"\x89PNG")

    @pytest.mark.usefixtures("own")
    def test_goes_on_when_an_assignor_answers_wrongly(self, groupsim: CommandLine) -> None:
        allowed = ("--allow-code", "own_assignors:First", "--allow-code", "own_assignors:Torn")
        told = groupsim("assignors", "compare", *SMALL, *allowed)
        assert told.code == 0
        assert "torn fails: InvalidAssignment: torn: 'consumer-1' got topic-1-0 twice" in told.said
        first = [line.split() for line in told.out.splitlines() if line.startswith("first")]
        assert first[0] == ["first", "0", "0", "0", "0"]

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["--members", 0], "--members"),
            (["--partitions", "9" * 12], "--partitions"),
            (["--many", 0], "--many"),
            (["nosuch.yaml"], "cannot be read"),
            (["--figure", "moves.pdf"], "must end in .png"),
            (["--figure", "nowhere/moves.png"], "nowhere is not a folder"),
            (["--allow-code", "nosuch:Class"], "nosuch"),
        ],
    )
    def test_refuses_before_anything_is_computed(
        self, groupsim: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[object], says: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(
            "groupsim.scenarios.assignors.trials.settle", lambda *_: pytest.fail("something was computed")
        )
        told = groupsim("assignors", "compare", *arguments)
        assert (told.code, told.out) == (2, "")
        assert says in told.said
        assert "Traceback" not in told.err
        assert list(tmp_path.iterdir()) == []


class TestExplain:
    def test_tells_the_rules_in_order(self, groupsim: CommandLine) -> None:
        told = groupsim("assignors", "explain", "sticky", "topic-1-19", "--event", "leave-one-last", *SMALL)
        assert told.code == 0
        lines = told.out.splitlines()
        assert lines[0] == "5 members, 1 topic, 20 partitions; sticky, leave-one-last:"
        assert lines[1].startswith("topic-1-19 moves from consumer-5 to consumer-")
        assert [line[:4] for line in lines[2:] if line.strip()[:1].isdigit()] == ["  1.", "  2.", "  3.", "  4."]
        assert max(map(len, lines)) <= 80

    def test_of_a_first_assignment(self, groupsim: CommandLine) -> None:
        told = groupsim("assignors", "explain", "range", "topic-1-0", "--event", "full", *SMALL, "--json").json
        assert (told["before"], told["after"], told["moved"]) == (None, "consumer-1", False)
        assert told["rules"][-1] == "Nobody has it yet."

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["stiky", "topic-1-0"], "did you mean 'sticky'?"),
            (["dealer", "topic-1-0"], "is no assignor that is explained"),
            (["sticky", "topic-1-20"], "there are topic-1-0 to topic-1-19"),
            (["sticky", "nonsense"], "there is no partition 'nonsense'"),
            (["sticky", "topic-1-0", "--event", "join-won"], "did you mean 'join-one'?"),
        ],
    )
    def test_refuses_what_it_does_not_know(self, groupsim: CommandLine, arguments: list[str], says: str) -> None:
        told = groupsim("assignors", "explain", *arguments, *SMALL)
        assert (told.code, told.out) == (2, "")
        assert says in told.said

    def test_knows_every_assignor(self, groupsim: CommandLine) -> None:
        for one in groupsim("assignors", "list", "--json").json:
            told = groupsim("assignors", "explain", one["assignor"], "topic-1-19", *SMALL)
            assert (told.code, told.err) == (0, "")

    def test_says_that_everybody_keeps_what_is_broadcast(self, groupsim: CommandLine) -> None:
        told = groupsim("assignors", "explain", "broadcast", "topic-1-0", *SMALL, "--json").json
        assert (told["before"], told["after"], told["moved"]) == ("every member", "every member", False)

    def test_refuses_racks_only_where_they_decide(self, groupsim: CommandLine, tmp_path: Path) -> None:
        (tmp_path / "group.yaml").write_text(
            "topics: {t: {partitions: 4, replicas: [[a], [b]]}}\nmembers: {x: {rack: a}, y: {rack: b}}"
        )
        for name in ("range", "sticky", "cooperative-sticky"):
            told = groupsim("assignors", "explain", name, "t-0", tmp_path / "group.yaml")
            assert (told.code, told.out) == (2, "")
            assert f"what {name} does where racks decide nothing" in told.said
        for name in ("roundrobin", "leader-rack", "server:range", "server:uniform"):
            assert groupsim("assignors", "explain", name, "t-0", tmp_path / "group.yaml").code == 0

    def test_refuses_groups_whose_rules_are_not_told(self, groupsim: CommandLine, tmp_path: Path) -> None:
        (tmp_path / "group.yaml").write_text("topics: {t: 2, u: 2}\nmembers: {x: {}, y: {topics: [t]}}")
        told = groupsim("assignors", "explain", "sticky", "t-0", tmp_path / "group.yaml")
        assert told.code == 2
        assert "all read the same topics" in told.said
