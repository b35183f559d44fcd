"""Flows: as much as possible, as cheaply as possible, and what that says about the edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from groupsim.assignors.own.flow_network import FlowNetwork


def test_the_cheap_way_is_filled_first() -> None:
    network = FlowNetwork(4)
    cheap = [network.add_edge(0, 1, 2, 0), network.add_edge(1, 3, 9, 1)]
    dear = [network.add_edge(0, 2, 5, 1), network.add_edge(2, 3, 4, 1)]
    assert network.push(0, 3) == 6
    assert [network.flow(edge) for edge in cheap + dear] == [2, 2, 4, 4]


def test_a_flow_is_led_around_when_another_needs_its_way() -> None:
    """The first path would block the only way of the second."""
    network = FlowNetwork(6)
    for source, target in [(0, 1), (0, 2), (1, 3), (1, 4), (2, 3), (3, 5), (4, 5)]:
        network.add_edge(source, target, 1, cost=int((source, target) == (1, 4)))
    assert network.push(0, 5) == 2


def test_detours_tell_which_edges_any_cheapest_flow_leaves_empty_or_full() -> None:
    network = FlowNetwork(3)
    supply, cheap, dear = network.add_edge(0, 1, 3), network.add_edge(1, 2, 2, 1), network.add_edge(1, 2, 9, 4)
    never = network.add_edge(1, 2, 9, 5)
    assert network.push(0, 2) == 3
    assert [network.flow(edge) for edge in (supply, cheap, dear, never)] == [3, 2, 1, 0]
    assert network.detour(cheap) < network.detour(dear) == 0 < network.detour(never)


def test_what_is_reachable_is_on_the_near_side_of_the_bottleneck() -> None:
    network = FlowNetwork(4)
    for source, target, capacity in [(0, 1, 5), (1, 2, 2), (2, 3, 5)]:
        network.add_edge(source, target, capacity)
    assert network.push(0, 3) == 2
    assert network.reachable(0) == [True, True, False, False]


@pytest.mark.parametrize("seed", range(40))
def test_flows_are_as_large_and_cheap_as_a_linear_program_finds(seed: int) -> None:
    draw = np.random.default_rng(seed)
    n_nodes = int(draw.integers(3, 8))
    ends = [(i, j) for i in range(n_nodes) for j in range(n_nodes) if i != j and draw.random() < 0.5]
    capacity, cost = draw.integers(0, 6, len(ends)), draw.integers(0, 4, len(ends))
    network = FlowNetwork(n_nodes)
    edges = [
        network.add_edge(*pair, int(room), int(each)) for pair, room, each in zip(ends, capacity, cost, strict=True)
    ]
    value = network.push(0, n_nodes - 1)
    flow = np.array([network.flow(edge) for edge in edges])
    balance = np.array([[(j == node) - (i == node) for i, j in ends] for node in range(n_nodes)])
    assert (balance @ flow).tolist() == [-value, *[0] * (n_nodes - 2), value]
    bounds = np.column_stack([np.zeros(len(ends)), capacity])
    inner = balance[1:-1]
    most = linprog(-balance[-1], A_eq=inner, b_eq=np.zeros(len(inner)), bounds=bounds)
    cheapest = linprog(cost, A_eq=balance[1:], b_eq=[*[0] * (n_nodes - 2), value], bounds=bounds)
    assert value == round(-most.fun)
    assert (flow * cost).sum() == round(cheapest.fun)
