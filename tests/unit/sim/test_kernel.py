"""Virtual time: the order of one instant, alarms, and messages on connections."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.sim.errors import EventBudgetExceeded, ProtocolMisuse
from groupsim.sim.kernel.alarm import Alarm
from groupsim.sim.kernel.environment import Environment, Kind, deadline_key, message_key, process_key
from groupsim.sim.kernel.network import Connection, Exchange, Path
from groupsim.sim.model import Distribution, Network
from groupsim.sim.randomness import Streams, name_hash
from groupsim.sim.units import FOREVER, MS, S

ENTITY = name_hash("member", "g/0")
KEYS = {"message": message_key, "process": process_key, "deadline": deadline_key}


def environment(budget: int = 10_000) -> Environment:
    return Environment(budget)


# --- the order of an instant ------------------------------------------------------------------------------------------


EVENTS = [(rank, entity, kind) for rank in KEYS for entity in (3, 9) for kind in (Kind.START, Kind.POLL)]


@given(st.permutations(EVENTS))
def test_an_instant_has_messages_then_processes_then_deadlines(asked: list[tuple[str, int, Kind]]) -> None:
    env, seen = environment(), []
    for one in asked:
        rank, entity, kind = one
        env.at(7, KEYS[rank](entity, kind), seen.append, one)
    env.run_before(8)
    order = list(KEYS)
    assert seen == sorted(asked, key=lambda one: (order.index(one[0]), one[1], one[2]))


def test_earlier_instants_come_first_whatever_their_keys() -> None:
    env, seen = environment(), []
    env.at(2, message_key(1, Kind.REQUEST), seen.append, "later")
    env.at(1, deadline_key(ENTITY, Kind.SAMPLE), seen.append, "earlier")
    env.run_before(3)
    assert seen == ["earlier", "later"]
    assert env.now == 2


def test_the_moment_is_the_one_that_is_carried_out() -> None:
    env, seen = environment(), []
    key = process_key(ENTITY, Kind.FAULT)
    env.at(5, key, lambda _: seen.append(env.moment))
    env.run_before(6)
    assert seen == [(5, key)]
    env.close_at(9)
    assert env.moment == (9, 0)


def test_a_run_stops_before_its_horizon() -> None:
    env, seen = environment(), []
    for time in (9, 10):
        env.at(time, process_key(1, Kind.FAULT), seen.append, time)
    env.run_before(10)
    assert seen == [9]


def test_nothing_can_be_asked_of_the_past() -> None:
    env = environment()
    env.at(5, process_key(1, Kind.FAULT), lambda _: None)
    env.run_before(6)
    with pytest.raises(ProtocolMisuse, match=r"4 us.*5 us"):
        env.at(4, process_key(1, Kind.FAULT), lambda _: None)
    assert env.until(4, process_key(1, Kind.FAULT)) is not None  # a process may say "at once"


def test_a_dropped_occurrence_calls_nobody() -> None:
    env, seen = environment(), []
    env.at(5, process_key(1, Kind.FAULT), seen.append, 1).drop()
    env.run_before(6)
    assert seen == []
    assert env.events == 0  # what cannot change anything is no event


def test_what_is_carried_out_late_is_an_event_within_the_budget() -> None:
    env, seen = environment(budget=2), []
    key = process_key(1, Kind.FAULT)

    def act() -> None:
        for time in (2, 3):
            env.at(time, key, seen.append, time)

    env.at(5, key, lambda _: env.replay((1, key), act))
    with pytest.raises(EventBudgetExceeded):
        env.run_before(6)
    assert seen == [2]


def test_a_budget_ends_a_run_that_would_not_end() -> None:
    env = environment(budget=100)
    key = process_key(1, Kind.FAULT)

    def again(_: Any) -> None:
        env.at(env.now + 1, key, again)

    env.at(0, key, again)
    with pytest.raises(EventBudgetExceeded, match="more than 100 events"):
        env.run_before(1_000)
    assert env.events == 101


# --- alarms -----------------------------------------------------------------------------------------------------------


def alarm(env: Environment) -> tuple[Alarm, list[int]]:
    rung: list[int] = []
    return Alarm(env, deadline_key(ENTITY, Kind.TIMER), rung.append), rung


def test_moving_an_alarm_later_costs_no_event_until_it_surfaces() -> None:
    env = environment()
    bell, rung = alarm(env)
    for deadline in range(1_000, 2_000):
        bell.set(deadline)
    assert len(env._queue) == 1
    env.run_before(5_000)
    assert rung == [1_999]
    assert env.events == 2  # once where it was first set, once where it is due


def test_a_session_renewed_for_an_hour_costs_one_event_a_session() -> None:
    env = environment(budget=100_000)
    bell, rung = alarm(env)
    key = message_key(ENTITY, Kind.REQUEST)
    for time in range(0, 3_600 * S, 3 * S):
        env.at(time, key, lambda _: bell.set(env.now + 45 * S))
    env.run_before(3_600 * S)
    assert rung == []
    assert env.events - 1_200 <= 3_600 // 42


def test_an_alarm_whose_deadline_is_taken_away_is_no_event() -> None:
    env = environment()
    bell, rung = alarm(env)
    bell.set(10)
    bell.set(FOREVER)
    env.run_before(20)
    assert (rung, env.events) == ([], 0)
    bell.set(30)
    env.run_before(40)
    assert (rung, env.events) == ([30], 1)


def test_an_alarm_that_is_wanted_again_goes_on_with_what_is_queued() -> None:
    env = environment()
    bell, rung = alarm(env)
    for deadline in (10, FOREVER, 12):
        bell.set(deadline)
    assert len(env._queue) == 1
    env.run_before(20)
    assert rung == [12]


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(-5, 50) | st.just(FOREVER)), max_size=20))
def test_an_alarm_rings_at_its_last_deadline_and_at_no_other_time(steps: list[tuple[int, int]]) -> None:
    env = environment()
    bell, rung = alarm(env)
    expected, due, now = [], FOREVER, 0
    for gap, ahead in steps:
        now += gap
        if due < now:
            expected.append(due)
            due = FOREVER
        # the setter is a message: it comes before a deadline of the same instant
        due = FOREVER if ahead == FOREVER else max(now + ahead, now)
        env.at(now, message_key(1, Kind.REQUEST), bell.set, FOREVER if ahead == FOREVER else now + ahead)
    # setters of one instant share a key, and then the order of asking decides
    env.run_before(10_000)
    expected += [due] if due < FOREVER else []
    assert rung == expected
    assert bell.deadline == FOREVER


def test_an_alarm_may_set_itself_again() -> None:
    env = environment()
    rung: list[int] = []
    bell = Alarm(env, deadline_key(ENTITY, Kind.TIMER), lambda now: (rung.append(now), bell.set(now + 10))[0])
    bell.set(10)
    env.run_before(35)
    assert rung == [10, 20, 30]


# --- connections ------------------------------------------------------------------------------------------------------


class Ends:
    """A broker that answers by hand, a client that listens, and the connection between them."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.worked: list[tuple[int, str]] = []
        self.heard: list[tuple[int, str]] = []
        self.open: dict[str, Exchange] = {}
        self.connection = Connection(env, 0, ENTITY, self.receive, self.deliver)

    def receive(self, exchange: Exchange) -> None:
        self.worked.append((self.env.now, exchange.body))
        self.open[exchange.body] = exchange

    def deliver(self, exchange: Exchange, response: Any) -> None:
        self.heard.append((self.env.now, exchange.body))

    def send(self, name: str, up_us: int = 10, down_us: int = 10) -> None:
        self.connection.send(Exchange(self.connection, "api", name, "g", 0, self.env.now, up_us, down_us, FOREVER))

    def answer(self, name: str, after_us: int = 0) -> None:
        self.connection.reply(self.open[name], "fine", self.env.now + after_us)

    def run(self, until: int) -> None:
        self.env.run_before(until)


def test_requests_of_a_connection_cannot_overtake_one_another() -> None:
    ends = Ends(environment())
    ends.send("slow", up_us=100)
    ends.send("fast", up_us=1)
    ends.run(100)
    assert ends.worked == []
    ends.run(101)
    assert ends.worked == [(100, "slow")]
    ends.answer("slow")
    ends.run(200)
    assert ends.worked == [(100, "slow"), (101, "fast")]


def test_a_parked_request_mutes_the_connection() -> None:
    ends = Ends(environment())
    ends.send("join")
    ends.send("heartbeat")
    ends.run(1_000)
    assert ends.worked == [(10, "join")]
    ends.env.at(1_000, process_key(1, Kind.FAULT), lambda _: ends.answer("join", after_us=5))
    ends.run(2_000)
    assert ends.worked[1] == (1_005, "heartbeat")  # when the answer has left
    assert ends.heard == [(1_015, "join")]


def test_answers_come_back_in_order() -> None:
    ends = Ends(environment())
    ends.send("first", down_us=500)
    ends.run(20)
    ends.answer("first")
    ends.send("second", down_us=1)
    ends.run(40)
    ends.answer("second")
    ends.run(2_000)
    assert [name for _, name in ends.heard] == ["first", "second"]
    assert ends.heard[1][0] == ends.heard[0][0] + 1


def test_a_request_that_comes_while_an_answer_is_leaving_waits_for_it() -> None:
    ends = Ends(environment())
    ends.send("first")
    ends.run(11)
    ends.answer("first", after_us=50)  # leaves at 60
    ends.send("second", up_us=1)
    ends.run(1_000)
    assert ends.worked == [(10, "first"), (60, "second")]


@pytest.mark.parametrize("when", ["on the way", "parked", "answered"])
def test_nothing_arrives_on_a_connection_that_has_ended(when: str) -> None:
    ends = Ends(environment())
    ends.send("request")
    ends.run(5 if when == "on the way" else 11)
    if when == "answered":
        ends.answer("request")
    ends.connection.end()
    ends.run(1_000)
    if when == "parked":
        ends.answer("request")
        ends.run(2_000)
    assert ends.heard == []
    assert len(ends.worked) == (0 if when == "on the way" else 1)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 60), st.integers(0, 40), st.integers(1, 60)), max_size=12))
def test_any_traffic_is_worked_on_and_answered_once_and_in_order(traffic: list[tuple[int, int, int, int]]) -> None:
    env = environment()
    ends = Ends(env)
    consumption = [each[2] for each in traffic]
    ends.connection._receive = lambda exchange: (  # answered after its own service time
        ends.receive(exchange), ends.answer(exchange.body, consumption[int(exchange.body)])
    )[0]  # fmt: skip
    time = 0
    for index, (gap, up, _, down) in enumerate(traffic):
        time += gap
        # sent by the client itself, in order: a key of its own for each
        env.at(time, message_key(index, Kind.START), lambda one: ends.send(*one), (str(index), up, down))
    ends.run(100_000)
    names = [str(index) for index in range(len(traffic))]
    assert [name for _, name in ends.worked] == names == [name for _, name in ends.heard]
    for (begin, name), (next_, _) in zip(ends.worked, ends.worked[1:], strict=False):
        assert next_ >= begin + consumption[int(name)]


# --- latency ----------------------------------------------------------------------------------------------------------


def path(latency: Distribution, loss: float = 0.0) -> Path:
    network = Network(latency=latency, loss=loss, retransmission_us=200 * MS)
    return Path(Streams(1), network, latency, "g/0#1")


def test_latency_is_at_least_a_microsecond_and_at_most_the_longest() -> None:
    assert path(Distribution.constant(0)).latency("heartbeat", 0) == 1
    one = path(Distribution("lognormal", (500, 5_000)))
    drawn = [one.latency(kind, number) for kind in ("heartbeat", "commit", "other") for number in range(500)]
    assert min(drawn) >= 1
    assert max(drawn) <= one.longest_us
    assert len(set(drawn)) > 700


def test_a_loss_is_a_delay_that_doubles() -> None:
    one = path(Distribution.constant(MS), loss=0.3)
    counts = dict.fromkeys((0, 1, 3, 7, 15), 0)
    for number in range(5_000):
        timeouts, rest = divmod(one.latency("other", number) - MS, 200 * MS)
        assert rest == 0
        counts[timeouts] += 1
    assert one.longest_us == MS + 15 * 200 * MS
    assert counts[0] == pytest.approx(3_500, rel=0.05)
    assert counts[1] == pytest.approx(1_050, rel=0.1)
    assert counts[15] == pytest.approx(5_000 * 0.3**4, rel=0.5)
