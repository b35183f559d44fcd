"""Flows through a network of whole capacities and costs, exactly."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush


class FlowNetwork:
    """A network through which as much as possible is pushed, as cheaply as possible.

    Parameters
    ----------
    n_nodes : int
        Nodes are numbered from 0.

    Source: the primal-dual method; shortest paths after Dijkstra with prices, flows that block them after Dinic.
    Equal input gives equal flows: edges are tried in the order in which they were added.
    """

    def __init__(self, n_nodes: int) -> None:
        self._edges: list[list[int]] = [[] for _ in range(n_nodes)]  # what leaves a node; edge ^ 1 is the way back
        self._target: list[int] = []
        self._room: list[int] = []
        self._cost: list[int] = []
        self._price = [0] * n_nodes

    def add_edge(self, source: int, target: int, capacity: int, cost: int = 0) -> int:
        """Add an edge and return its number.

        Parameters
        ----------
        source, target : int
            Nodes.
        capacity, cost : int
            Not negative; the cost is one unit's.
        """
        number = len(self._target)
        self._edges[source].append(number)
        self._edges[target].append(number + 1)
        self._target += (target, source)
        self._room += (capacity, 0)
        self._cost += (cost, -cost)
        return number

    def flow(self, edge: int) -> int:
        """How much goes through an edge."""
        return self._room[edge ^ 1]

    def push(self, source: int, sink: int) -> int:
        """Push as much as fits, among such flows a cheapest one, and return how much it is."""
        total = 0
        while self._reprice(source, sink):
            while pushed := self._block(source, sink):
                total += pushed
        return total

    def detour(self, edge: int) -> int:
        """What a unit through an edge costs beyond the cheapest way, after `push`.

        A flow that fits is a cheapest one if and only if edges above 0 are empty and edges below 0 full.
        """
        return self._cost[edge] + self._price[self._target[edge ^ 1]] - self._price[self._target[edge]]

    def reachable(self, source: int) -> list[bool]:
        """Which nodes something more could be pushed to."""
        seen, queue = [False] * len(self._edges), deque([source])
        seen[source] = True
        while queue:
            for edge in self._edges[queue.popleft()]:
                node = self._target[edge]
                if self._room[edge] and not seen[node]:
                    seen[node] = True
                    queue.append(node)
        return seen

    def _reprice(self, source: int, sink: int) -> bool:
        """Raise prices by the distances from the source; whether the sink can still be reached."""
        distance: dict[int, int] = {source: 0}
        settled: set[int] = set()
        heap = [(0, source)]
        while heap:
            here, node = heappop(heap)
            if node in settled:
                continue
            settled.add(node)
            if node == sink:
                break
            self._relax(node, here, distance, heap)
        if sink not in settled:
            return False
        farthest = distance[sink]
        for node in range(len(self._edges)):
            self._price[node] += min(distance.get(node, farthest), farthest)
        return True

    def _relax(self, node: int, here: int, distance: dict[int, int], heap: list[tuple[int, int]]) -> None:
        here += self._price[node]
        for edge in self._edges[node]:
            if self._room[edge]:
                target = self._target[edge]
                there = here + self._cost[edge] - self._price[target]
                if target not in distance or there < distance[target]:
                    distance[target] = there
                    heappush(heap, (there, target))

    def _block(self, source: int, sink: int) -> int:
        """Push along shortest paths of fewest edges until each has a full edge; how much that was."""
        level = self._levels(source, sink)
        turn, total = [0] * len(level), 0
        while level[sink] >= 0 and (path := self._path(level, turn, source, sink)):
            pushed = min(self._room[edge] for edge in path)
            for edge in path:
                self._room[edge] -= pushed
                self._room[edge ^ 1] += pushed
            total += pushed
        return total

    def _levels(self, source: int, sink: int) -> list[int]:
        """Each node's number of edges from the source along edges that cost what the prices say, -1 for none."""
        level, queue = [-1] * len(self._edges), deque([source])
        level[source] = 0
        while queue and level[sink] < 0:
            node = queue.popleft()
            for edge in self._edges[node]:
                target = self._target[edge]
                if (
                    level[target] < 0
                    and self._room[edge]
                    and self._cost[edge] == self._price[target] - self._price[node]
                ):
                    level[target] = level[node] + 1
                    queue.append(target)
        return level

    def _path(self, level: list[int], turn: list[int], source: int, sink: int) -> list[int]:
        """Edges of a path with room along the levels, empty if there is none; `turn` counts each node's dead ends."""
        path: list[int] = []
        node = source
        while node != sink:
            edges = self._edges[node]
            while turn[node] < len(edges) and not self._leads_on(edges[turn[node]], level):
                turn[node] += 1
            if turn[node] < len(edges):
                path.append(edges[turn[node]])
                node = self._target[path[-1]]
            elif not path:
                break
            else:
                node = self._target[path.pop() ^ 1]
                turn[node] += 1
        return path

    def _leads_on(self, edge: int, level: list[int]) -> bool:
        node, target = self._target[edge ^ 1], self._target[edge]
        return (
            self._room[edge] > 0
            and level[target] == level[node] + 1
            and self._cost[edge] == self._price[target] - self._price[node]
        )
