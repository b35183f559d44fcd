"""Outages of brokers on real clusters, and the model's: what all recordings have in common, and some replays."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

from groupsim.sim import simulate
from groupsim.sim.units import MS, S
from tests.oracle.broker_instants import before_outages, instants, names, node_of
from tests.oracle.failures import CannotPlay
from tests.oracle.fencing import allowed, fencings, votes
from tests.oracle.measures import beats_late_ms, unread
from tests.oracle.outage_measures import LOADED, NO_COMMITS, NO_COMMITS_OF_ONE, durations, outages
from tests.oracle.outage_report import RECORDINGS, REPORT, Outage, page, rebalances, study
from tests.oracle.outage_report import names as recorded
from tests.oracle.stage import together
from tests.oracle.study import is_fit, played, recordings
from tests.oracle.trace import Fact, Trace
from tests.oracle.translation import plan, read

SCENARIOS = Path(__file__).with_name("scenarios") / "outages"


def fit(name: str) -> list[Trace]:
    return [one for one in recordings(name, RECORDINGS) if is_fit(one)]


# --- recordings -------------------------------------------------------------------------------------------------------


def test_every_scenario_is_recorded_and_mostly_fit() -> None:
    assert recorded() == sorted(path.stem for path in SCENARIOS.glob("*.yaml"))
    assert [name for name in recorded() if len(fit(name)) < 3] == []


def test_nobody_rebalances_when_brokers_fail() -> None:
    """What Kafka's system tests of consumers expect of a broker's failure and of a rolling bounce."""
    assert {name: rebalances(one.facts) for name in recorded() for one in fit(name) if rebalances(one.facts)} == {}


def test_killed_brokers_are_fenced_when_the_sessions_rule_says() -> None:
    found = [one for name in recorded() for each in fit(name) for one in fencings(each.facts)]
    low, high = allowed(played("coordinator-killed-range", RECORDINGS))
    assert {one.was_controller for one in found} == {True, False}
    assert [one for one in found if not low <= one.session <= high] == []


def test_controllers_are_elected_in_one_vote_or_in_two() -> None:
    told = [one.elected for name in recorded() for each in fit(name) for one in fencings(each.facts)]
    found, bounds = [one for one in told if one is not None], votes(played("coordinator-killed-range", RECORDINGS))
    kinds = [[low <= one <= high for low, high in bounds] for one in found]
    assert {tuple(one) for one in kinds} == {(True, False), (False, True)}


@pytest.mark.parametrize("name", ["coordinator-killed-range", "coordinator-killed-cooperative"])
def test_members_look_for_a_killed_coordinator_as_often_as_real_ones(name: str) -> None:
    """Each poll() does so anew, three members some 300 times; with a backoff from poll to poll they did forty times."""
    real = [sum(one.get("api") == "FindCoordinator" for one in each.facts) for each in fit(name)]
    requests = simulate(played(name, RECORDINGS), seed=1).tables["requests"]
    asked = requests.loc[requests["api"] == "FindCoordinator", "count"].sum()
    assert min(real) <= asked <= max(real)


@pytest.mark.parametrize("name", ["coordinator-killed-range", "consumer-coordinator-killed"])
def test_a_kill_that_takes_the_active_controller_too_lasts_longer(name: str) -> None:
    loaded: dict[bool, list[float]] = {True: [], False: []}
    for one in fit(name):
        (fencing,) = fencings(one.facts)
        loaded[fencing.was_controller].append(durations(one.facts)[LOADED])
    assert max(loaded[False]) < 10.2 < 11 < min(loaded[True])


def test_the_worst_partition_of_a_roll_is_read_again_when_one_of_another_group_is() -> None:
    """Up to three groups share a cluster: what ends at the same instant for other clients, brokers have ended."""
    rolled = [(name, _gaps(one)) for name in recorded() if "rolled" in name for one in fit(name)]
    apart = []
    for name, mine in rolled:
        end_us = max(mine, key=lambda gap: gap[1] - gap[0])[1]
        apart.append(min(abs(end - end_us) for other, some in rolled if other != name for _, end in some))
    assert len(apart) == 14
    assert sum(one < 5 * MS for one in apart) == 10
    assert sum(one < 30 * MS for one in apart) == 12


def _gaps(one: Trace) -> list[tuple[int, int]]:
    """When nothing was read of some partition for a second or longer, from the outage on, microseconds since 1970."""
    zero_us = round(datetime.fromisoformat(one.header["zero"]).timestamp() * 1e6)
    begun_us = outages(one.facts)[0]["at_us"] - 300 * MS
    gaps = [(one["at_us"], one["to_us"]) for one in one.facts if one["what"] == "gap" and one["at_us"] > begun_us]
    return [(zero_us + since, zero_us + until) for since, until in gaps if until - since >= S]


# --- replays ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "repetition", "close_s"), [("coordinator-killed-range", 2, 0.6), ("consumer-coordinator-closed", 1, 0.6)]
)
def test_a_replay_comes_near_its_recording(name: str, repetition: int, close_s: float) -> None:
    (one,) = study(name, only=[repetition]).replays
    real, mine = durations(one.recording), durations(one.told)
    assert set(real) == set(mine)
    assert {
        figure: (length, mine[figure]) for figure, length in real.items() if abs(mine[figure] - length) > close_s
    } == {}
    assert rebalances(one.told) == 0


@pytest.mark.slow
def test_the_page_is_of_the_present_model() -> None:
    found: list[Outage] = [study(name) for name in recorded()]
    assert sum(rebalances(each.told) for one in found for each in one.replays) == 0
    assert REPORT.read_text(encoding="utf-8") == "\n".join(page(found)) + "\n"


def test_a_replay_has_who_led_what_under_its_own_names() -> None:
    scenario, one = played("coordinator-killed-range", RECORDINGS), fit("coordinator-killed-range")[0]
    roles = next(fact for fact in one.facts if fact["what"] == "roles")
    called = names(scenario, one.facts)
    told = instants(scenario, one.facts, lambda at_us: at_us + 7)
    (kill,) = [fact for fact in one.facts if fact["what"] == "action" and fact["verb"] == "kill"]
    victim = called[roles["coordinators"]["g"]]
    assert sorted(called.values()) == [0, 1, 2]
    assert told.leaders["orders"] == [called[node] for node in roles["leaders"]["orders"]]
    assert told.controllers[0] == called[roles["controller"]]
    assert kill["at_us"] - 2_100_000 < told.last_beats[victim] - 7 <= kill["at_us"] < told.fenced[victim]
    assert max(fact["at_us"] for fact in before_outages(one.facts)) < kill["at_us"]


def test_a_replayed_roll_goes_on_with_brokers_that_are_in_sync() -> None:
    scenario, one = played("brokers-rolled-range", RECORDINGS), fit("brokers-rolled-range")[0]
    told, called = instants(scenario, one.facts, lambda at_us: at_us), names(scenario, one.facts)
    took = {node: some for (what, node), some in told.took.items() if what == "catch_up"}
    closes = [fact for fact in one.facts if fact["what"] == "action" and fact["verb"] == "close"]
    unfenced = [fact["at_us"] for fact in one.facts if fact["what"] == "broker" and fact["change"] == "unfenced"]
    assert sorted(took) == sorted(called[node_of(fact["target"])] for fact in closes[:2])
    for fact, later in pairwise(closes):
        (one_us,) = took[called[node_of(fact["target"])]]
        back_us = max(at_us for at_us in unfenced if at_us < later["at_us"])
        assert later["at_us"] - 200_000 < back_us + one_us < later["at_us"]


# --- what is measured -------------------------------------------------------------------------------------------------


def committed(member: str, *times_s: float) -> list[Fact]:
    return [{"what": "committed", "at_us": int(one * 1e6), "member": member, "incarnation": 0} for one in times_s]


KILL = {"what": "action", "at_us": 10_000_000, "entry": "fault", "verb": "kill", "target": "broker:1"}


def test_how_long_no_commit_is_accepted_counts_from_the_last_one_before_the_outage() -> None:
    facts = [*committed("g/0", 1, 9, 20), *committed("g/1", 2, 9.5, 9.8, 21), KILL]
    loaded = {"what": "coordinator", "at_us": 19_000_000, "node": 0, "change": "loaded", "group": "g"}
    found = durations(sorted([*facts, loaded], key=lambda fact: fact["at_us"]))
    assert found == {LOADED: 9.0, NO_COMMITS: pytest.approx(10.2), NO_COMMITS_OF_ONE: pytest.approx(11.2)}


def test_without_an_outage_there_is_nothing_to_measure() -> None:
    assert durations(committed("g/0", 1, 9)) == {}


def test_a_gap_is_time_in_which_nobody_reads() -> None:
    read_ = {
        "what": "read", "member": "g/0", "incarnation": 0, "partition": "t-0", "from_us": 0, "first_fetch_us": 10,
        "to_us": 1_000,
    }  # fmt: skip
    assert unread([read_, {"what": "gap", "at_us": 100, "partition": "t-0", "to_us": 700}]) == {"t-0": [(100, 700)]}
    assert unread([read_, {"what": "gap", "at_us": 100, "partition": "t-1", "to_us": 700}]) == {"t-0": []}


def beats(*times_s: float) -> list[Fact]:
    whose = {"what": "request", "api": "Heartbeat", "error": None, "member": "g/0", "incarnation": 0}
    return [{**whose, "at_us": int(one * 1e6)} for one in times_s]


def test_heartbeats_that_wait_for_a_coordinator_do_not_count_as_late() -> None:
    assert beats_late_ms([*beats(1, 4, 7, 10.5)]) == 500
    assert beats_late_ms([*beats(1, 4, 7, 10.5), KILL]) == 0
    brokers = [{"what": "broker", "at_us": one, "node": 0, "change": "beat"} for one in (0, 2_000_000, 4_040_000)]
    assert beats_late_ms([*beats(1, 4, 7, 10.5), *brokers, KILL]) == 20


# --- plays ------------------------------------------------------------------------------------------------------------


def test_brokers_are_targets_but_not_drawn_ones(tmp_path: Path) -> None:
    text = (SCENARIOS / "coordinator-killed-range.yaml").read_text()
    source = read(SCENARIOS / "coordinator-killed-range.yaml")
    assert source.fails
    (outage,) = plan(source, 1).outages
    assert (str(outage.entry.verb.target), outage.targets) == ("broker:coordinator/g", ())
    drawn = tmp_path / "drawn.yaml"
    drawn.write_text(text.replace("broker:coordinator/g", "broker:random"))
    with pytest.raises(CannotPlay, match="a drawn broker"):
        read(drawn)


def test_only_plays_of_one_outage_share_a_cluster() -> None:
    sources = [read(SCENARIOS / f"{name}.yaml") for name in ("coordinator-closed-range", "consumer-coordinator-closed")]
    plans = [plan(source, number) for source in sources for number in (1, 2)]
    batches = [{(one.scenario.name, one.repetition) for one in batch} for batch in together(plans, 3)]
    assert sorted(map(sorted, batches)) == [
        [("consumer-coordinator-closed", number), ("coordinator-closed-range", number)] for number in (1, 2)
    ]
