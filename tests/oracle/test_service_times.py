"""What is made of the facts of a measurement of service times."""

from __future__ import annotations

from tests.oracle.service_times import METRICS, event_loop, request_metrics


def spent(took_us: float, requests: int, *, members: int = 10) -> dict[str, object]:
    return {
        "what": "event loop", "protocol": "classic", "kind": "Heartbeat", "members": members, "requests": requests,
        "at_once": False, "took_us": took_us,
    }  # fmt: skip


def test_the_event_loops_time_is_told_a_request_over_repetitions() -> None:
    (ten, hundred) = event_loop([spent(100, 10), spent(90, 30), spent(40, 2), spent(7, 1, members=100)])
    assert (ten["members"], ten["repetitions"], ten["requests"], ten["at_once"]) == (10, 3, 42, 0)
    assert (ten["min_us"], ten["median_us"], ten["max_us"]) == (3.0, 10.0, 20.0)
    assert (hundred["members"], hundred["median_us"]) == (100, 7.0)


def test_request_metrics_of_all_repetitions_are_put_together_in_microseconds() -> None:
    fact = {"what": "request times", "protocol": "classic", "kind": "Heartbeat", "members": 1}
    times = {metric[0].lower() + metric[1:]: [0.01, 0.03] for metric in METRICS}
    rows = request_metrics([{**fact, **times}, {**fact, **times, "localTimeMs": [0.002]}, spent(1, 1)])
    assert [row["metric"] for row in rows] == sorted(METRICS)
    local = next(row for row in rows if row["metric"] == "LocalTimeMs")
    assert (local["requests"], local["median_us"], local["p95_us"]) == (3, 10.0, 30.0)
