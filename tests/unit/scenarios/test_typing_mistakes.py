"""What a new user types and means: understood, or answered with the right spelling and the line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from groupsim.scenarios.build.loading import load, parse
from groupsim.scenarios.build.paths import set_path
from groupsim.scenarios.errors import Problem, ScenarioFileError
from groupsim.scenarios.schema.key_places import belongs
from groupsim.scenarios.sweep.design import short_names
from groupsim.scenarios.sweep.loading import load_sweep
from tests.support.command_line import CommandLine

TEXT = """\
version: 1
question: What happens?
horizon: 10min
measure: {from: 1min}
topics:
  my.orders: {partitions: 6, rate: {per_partition: 5}}
groups:
  billing:
    topics: [my.orders]
    members: {count: 4}
timeline:
  - id: deploy
    at: 1min
    rolling_restart: {target: billing}
  - at: 2min
    kill: {target: billing/0}
"""
SESSION = "groups.billing.config[session.timeout.ms]"


def _set(path: str, value: Any) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(TEXT)
    set_path(document, path, value)
    return document


def _problems(document: dict[str, Any]) -> list[Problem]:
    with pytest.raises(ScenarioFileError) as caught:
        parse(document, file="s.yaml", name="s")
    return list(caught.value.problems)


def _refused(path: str, value: Any) -> Problem:
    with pytest.raises(ScenarioFileError) as caught:
        _set(path, value)
    (problem,) = caught.value.problems
    return problem


def _written(folder: Path, text: str) -> list[Problem]:
    (folder / "s.yaml").write_text(text)
    with pytest.raises(ScenarioFileError) as caught:
        load(folder / "s.yaml")
    return list(caught.value.problems)


class TestPaths:
    @pytest.mark.parametrize(
        ("path", "place"),
        [
            ("groups.billing.config.session.timeout.ms", ("groups", "billing", "config", "session.timeout.ms")),
            ("groups.billing.config[session.timeout.ms]", ("groups", "billing", "config", "session.timeout.ms")),
            ("cluster.config.group.max.size", ("cluster", "config", "group.max.size")),
            ("topics.my.orders.config.retention.ms", ("topics", "my.orders", "config", "retention.ms")),
            ("topics.my.orders.partitions", ("topics", "my.orders", "partitions")),
            ("topics[my.orders].rate.per_partition", ("topics", "my.orders", "rate", "per_partition")),
            ("groups.billing.topics.0", ("groups", "billing", "topics", 0)),
            ("timeline[0].at", ("timeline", 0, "at")),
            ("timeline.1.kill.target", ("timeline", 1, "kill", "target")),
            ("timeline[deploy].at", ("timeline", 0, "at")),
            ("timeline[kill-1].at", ("timeline", 1, "at")),
        ],
    )
    def test_need_no_brackets_around_kafkas_keys_and_take_positions(self, path: str, place: tuple[Any, ...]) -> None:
        document = yaml.safe_load(TEXT)
        assert set_path(document, path, 5) == place
        for step in place:
            document = document[step]
        assert document == 5

    def test_of_timeline_entries_go_by_id_where_an_id_is_a_number(self) -> None:
        document = yaml.safe_load(TEXT)
        document["timeline"][1]["id"] = "0"
        assert set_path(document, "timeline[0].at", "3min") == ("timeline", 1, "at")

    def test_of_a_group_called_config_are_none_of_kafkas(self) -> None:
        document = yaml.safe_load(TEXT.replace("billing", "config"))
        assert set_path(document, "groups.config.members.count", 5) == ("groups", "config", "members", "count")

    @pytest.mark.parametrize(
        ("path", "message"),
        [
            ("timeline[2].at", "timeline has no '2'; known: deploy, kill-1"),
            (
                "groups.billing.session.timeout.ms",
                "has no 'session.timeout.ms': write groups.billing.config.session.timeout.ms",
            ),
            ("session.timeout.ms", "has no 'session.timeout.ms': write groups.billing.config.session.timeout.ms"),
            ("group.max.size", "has no 'group.max.size': write cluster.config.group.max.size"),
            ("rebalance.max.retries", "it belongs to groups.NAME.config with protocol: zookeeper"),
            ("groups.billing.retention.ms", "write topics.my.orders.config.retention.ms"),
            ("groups.billing.static", "groups.billing has no 'static': it belongs to groups.NAME.members"),
            ("assignor_failure", "a scenario has no 'assignor_failure': write groups.billing.assignor_failure"),
            ("groups.billing.members.replicas", "groups.billing.members has no 'replicas'; did you mean 'count'?"),
            ("billing.members.count", "a scenario has no 'billing': write groups.billing.members.count"),
            ("my.orders.partitions", "a scenario has no 'my': write topics.my.orders.partitions"),
        ],
    )
    def test_that_lead_nowhere_are_told_where_the_key_belongs(self, path: str, message: str) -> None:
        assert message in _refused(path, 1).message

    def test_of_one_group_of_several_are_told_which_there_are(self) -> None:
        document = yaml.safe_load(TEXT)
        document["groups"]["other"] = document["groups"]["billing"]
        with pytest.raises(ScenarioFileError, match=r"timeout.ms \(NAME: billing, other\)"):
            set_path(document, "session.timeout.ms", 1)

    def test_and_values_with_a_blank_between_them_are_told_so(self, groupsim: CommandLine) -> None:
        told = groupsim("run", "kill-detection", "--set", "groups.billing.members.count", "20")
        assert told.code == 2
        assert "write --set groups.billing.members.count=20" in " ".join(told.err.replace("│", " ").split())

    def test_of_a_misspelt_key_of_kafkas_are_told_the_nearest(self) -> None:
        (problem,) = _problems(_set("groups.billing.config.sesion.timeout.ms", 10_000))
        assert problem.path == "groups.billing.config[sesion.timeout.ms]"
        assert "did you mean 'session.timeout.ms'?" in problem.message

    def test_have_short_names_with_brackets_and_without(self) -> None:
        without = "groups.billing.config.session.timeout.ms"
        assert short_names([without]) == {without: "session.timeout.ms"}
        assert short_names([SESSION]) == {SESSION: "session.timeout.ms"}


class TestMisspeltKeys:
    def test_are_not_missing_as_well(self, tmp_path: Path) -> None:
        text = TEXT.replace("horizon:", "horizn:").replace("count: 4", "cuont: 4")
        assert [one.path for one in _written(tmp_path, text)] == ["horizn", "groups.billing.members.cuont"]

    def test_hide_no_other_key_that_is_missing(self, tmp_path: Path) -> None:
        text = TEXT.replace("horizon:", "horizn:").replace("question: What happens?\n", "")
        assert [one.path for one in _written(tmp_path, text)] == ["horizn", "question"]

    @pytest.mark.parametrize(
        ("text", "path", "place"),
        [
            (TEXT.replace("{count: 4}", "{count: 4, assignor_failure: refuse}"),
             "groups.billing.members.assignor_failure", "groups.NAME;"),
            (TEXT.replace("    members:", "    config: {assignor_failure: refuse}\n    members:"),
             "groups.billing.config.assignor_failure", "groups.NAME"),
            (TEXT.replace("    members:", "    session.timeout.ms: 9000\n    members:"),
             "groups.billing[session.timeout.ms]", "groups.NAME.config;"),
            (TEXT.replace("    members:", "    boot: 1s\n    members:"), "groups.billing.boot", "groups.NAME.members;"),
        ],
    )  # fmt: skip
    def test_that_belong_elsewhere_are_told_where(self, tmp_path: Path, text: str, path: str, place: str) -> None:
        (problem,) = _written(tmp_path, text)
        assert problem.path == path
        assert f"it belongs to {place}" in problem.message

    @pytest.mark.parametrize(
        ("line", "says"),
        [
            ("duration: 5min", "is no key of this mapping: how long a run lasts is its horizon"),
            (
                "seed: 7",
                "is no key of this mapping: it is given on the command line (--seed 7), or in a sweep; allowed: ",
            ),
            ("name: mine", "is no key of this mapping: a scenario is called what its file is called; allowed: "),
        ],
    )
    def test_of_other_tools_are_told_what_is_meant(self, tmp_path: Path, line: str, says: str) -> None:
        (problem,) = _written(tmp_path, f"{line}\n{TEXT}")
        assert problem.message.startswith(says)

    def test_of_many_homes_are_told_none(self) -> None:
        assert belongs("for") == belongs("config") == belongs("nonsense") == ""


class TestLines:
    def test_of_measure(self, tmp_path: Path) -> None:
        (problem,) = _written(tmp_path, TEXT.replace("from: 1min", "from: 11min"))
        assert (problem.path, problem.line) == ("measure", 4)

    def test_of_ids_that_are_alike(self, tmp_path: Path) -> None:
        (problem,) = _written(tmp_path, TEXT.replace("id: deploy", "id: kill-1"))
        assert (problem.path, problem.line) == ("timeline[kill-1].id", 15)

    def test_of_what_a_sweep_varies_and_sets(self, tmp_path: Path) -> None:
        (tmp_path / "s.yaml").write_text(TEXT)
        (tmp_path / "sweep.yaml").write_text(
            "scenario: s.yaml\n"
            "variants:\n"
            "  good: {groups.billing.members.static: true}\n"
            "  bad: {groups.billing.members.static: 3}\n"
            "vary:\n"
            "  groups.billing.config.max.poll.recordz: [1, 2]\n"
            "  groups.billing.membrs.count: [1, 2]\n"
            "  groups.billing.members.count: [1, two]\n"
        )
        with pytest.raises(ScenarioFileError) as caught:
            load_sweep(tmp_path / "sweep.yaml")
        assert {one.path: one.line for one in caught.value.problems} == {
            "groups.billing.config[max.poll.recordz]": 6,
            "groups.billing.membrs.count": 7,
            "groups.billing.members.count": 8,
            "groups.billing.members.static": 4,
        }

    def test_of_the_scenario_are_not_those_of_the_sweep(self, tmp_path: Path) -> None:
        (tmp_path / "s.yaml").write_text(TEXT.replace("horizon: 10min", "horizon: 10"))
        (tmp_path / "sweep.yaml").write_text("scenario: s.yaml\nvary: {groups.billing.members.count: [1, 2]}\n")
        with pytest.raises(ScenarioFileError) as caught:
            load_sweep(tmp_path / "sweep.yaml")
        assert [(one.path, one.line) for one in caught.value.problems] == [("horizon", 0)]


@pytest.mark.parametrize(
    ("count", "target", "message"),
    [
        (0, "billing/0", "billing has no members: members.count is 0"),
        (1, "billing/1", "billing has 1 member, number 0"),
        (4, "billing/4", "billing has 4 members, 0 to 3"),
    ],
)
def test_a_member_that_is_not_there_is_told_with_those_that_are(count: int, target: str, message: str) -> None:
    document = yaml.safe_load(TEXT)
    document["groups"]["billing"]["members"]["count"] = count
    document["timeline"] = [{"at": "1s", "kill": {"target": target}}]
    (problem,) = _problems(document)
    assert problem.message == message


def test_an_override_of_a_group_without_members_is_told_so() -> None:
    document = yaml.safe_load(TEXT)
    document["groups"]["billing"] |= {"members": {"count": 0}, "overrides": [{"members": "0", "rack": "a"}]}
    document["timeline"] = []
    (problem,) = _problems(document)
    assert problem.message == "billing has no members: members.count is 0"


class TestLognormal:
    def test_takes_p95_instead_of_p99(self) -> None:
        document = _set("groups.billing.processing.per_record", {"lognormal": {"median": "1ms", "p95": "5ms"}})
        drawn = parse(document, file="s", name="s").groups[0].processing.per_record
        # ln(p99 / median) = ln(5) * 2.326348 / 1.644854, by the quantiles of the normal distribution
        assert (drawn.kind, drawn.values[0]) == ("lognormal", 1000)
        assert drawn.values[1] == pytest.approx(9741, abs=1)

    @pytest.mark.parametrize("tails", [{}, {"p95": "5ms", "p99": "6ms"}])
    def test_takes_one_of_the_two(self, tails: dict[str, str]) -> None:
        value = {"lognormal": {"median": "1ms", **tails}}
        (problem,) = _problems(_set("groups.billing.processing.per_record", value))
        assert "needs exactly one of p95 and p99" in problem.message

    @pytest.mark.parametrize(("median", "p95"), [("5ms", "1ms"), ("0s", "1ms"), ("1us", "36500d")])
    def test_has_its_quantiles_in_order_and_in_bounds(self, median: str, p95: str) -> None:
        (problem,) = _problems(_set("cluster.network.latency", {"lognormal": {"median": median, "p95": p95}}))
        assert problem.path == "cluster.network.latency.lognormal"


class TestAllowCode:
    def test_is_named_where_an_assignor_is_unknown(self) -> None:
        (problem,) = _problems(_set("groups.billing.config[partition.assignment.strategy]", ["dealer"]))
        assert problem.message.endswith("; --allow-code MODULE:CLASS brings in one of your own")
        (problem,) = _problems(_set("cluster.config[group.consumer.assignors]", ["dealer"]))
        assert problem.message.endswith("; --allow-code MODULE:CLASS brings in one of your own")

    @pytest.mark.parametrize(
        ("given", "says"),
        [
            ("mine", "name a module and a class in it, MODULE:CLASS, such as mine:Dealer"),
            ("mine:", "MODULE:CLASS"),
            (":Dealer", "MODULE:CLASS"),
            ("mine.py:Dealer", "name the module without .py: mine:Dealer"),
            ("of.mine:Dealer", "No module named 'of': it is neither installed nor a file of /"),
        ],
    )
    def test_without_module_and_class_asks_for_them(self, groupsim: CommandLine, given: str, says: str) -> None:
        told = groupsim("run", "kill-detection", "--allow-code", given)
        assert told.code == 2
        assert says in told.said

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("import sys; sys.exit(7)", "SystemExit: 7 (own_broken.py, line 1)"),
            ("class Quit(BaseException): ...\nraise Quit('now')", "Quit: now (own_broken.py, line 2)"),
            ("def (:\n", "SyntaxError: invalid syntax (own_broken.py, line 1)"),
            ("\nraise ValueError('\\x1b[31mno')", "ValueError: \\x1b[31mno (own_broken.py, line 2)"),
            ("import nowhere", "ModuleNotFoundError: No module named 'nowhere' (own_broken.py, line 1)"),
            (
                "import sys\nsys.nothing",
                "AttributeError: module 'sys' has no attribute 'nothing' (own_broken.py, line 2)",
            ),
        ],
    )
    def test_whose_module_cannot_be_imported_is_wrong_input(
        self, groupsim: CommandLine, importable: Path, text: str, says: str
    ) -> None:
        (importable / "own_broken.py").write_text(text)
        told = groupsim("run", "kill-detection", "--allow-code", "own_broken:Dealer")
        assert (told.code, told.said) == (2, f"error: --allow-code own_broken:Dealer: {says}\n")


class TestNamesWithCommas:
    def test_are_metrics(self, groupsim: CommandLine, tmp_path: Path) -> None:
        assert "unknown metric 'foo'" in groupsim("sensitivity", tmp_path, "--metric", "losses,foo").err
        assert "unknown metric 'foo'" in groupsim("compare", tmp_path, "--metric", "losses, foo").err

    @pytest.mark.parametrize("given", ["", " ", "losses, ,"])
    @pytest.mark.parametrize("command", ["compare", "sensitivity"])
    def test_that_are_none_do_not_mean_all(
        self, groupsim: CommandLine, given: str, command: str, tmp_path: Path
    ) -> None:
        told = groupsim(command, tmp_path, "--metric", given, "--metric", " ")
        assert told.code == 2
        assert "write a name, or several with commas, or leave it out" in told.said

    def test_are_assignors(self, groupsim: CommandLine) -> None:
        small = ("--members", 3, "--partitions", 6, "--json")
        told = groupsim("assignors", "compare", "--assignor", "range,sticky", *small).json
        assert {one["assignor"] for one in told["outcomes"]} == {"range", "sticky"}


@pytest.mark.parametrize("command", ["compare", "sensitivity"])
def test_an_unknown_metric_is_answered_with_those_there_are(
    groupsim: CommandLine, tmp_path: Path, command: str
) -> None:
    told = groupsim(command, tmp_path, "--metric", "foo")
    assert told.code == 2
    assert "unavailable_gap_s_max" in told.err
    meant = groupsim(command, tmp_path, "--metric", "max gap").err
    assert "did you mean 'unavailable_gap_s_max'?" in " ".join(meant.split())
    assert "recovery_s" in told.err
    assert max(map(len, told.err.splitlines())) <= 80
