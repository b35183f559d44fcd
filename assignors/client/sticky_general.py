"""sticky where subscriptions differ: fill the emptiest subscriber, then move partitions until nothing improves.

Members are numbered in id order here, so that "fewest partitions, then id" is a comparison of numbers. Moves are looked
for partition by partition, and as nothing changes between two moves the next one is found for many partitions at once.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import numpy.typing as npt

from groupsim.assignors.client.partition_movements import PartitionMovements
from groupsim.assignors.client.sticky_board import NEVER, Board
from groupsim.assignors.client.sticky_claims import NO_GENERATION, Claims
from groupsim.assignors.core.errors import KafkaAssignorEndless, KafkaAssignorFailure
from groupsim.assignors.core.racks import RackMap
from groupsim.assignors.core.snapshot import Assignment, GroupSnapshot, Positions
from groupsim.assignors.java.ordering import sort_order

_FIRST_LOOK = 256
_FEW_PASSES = 16
"""Hardly any group needs more; what does is watched for going round in circles."""
_GONE = 'Cannot invoke "java.util.List.size()" because the return value of "java.util.Map.get(Object)" is null'


def balance(
    claims: Claims, snapshot: GroupSnapshot, racks: RackMap | None, max_generation: int, *, java_order: bool
) -> Assignment:
    """Assign all partitions to members of unequal subscriptions.

    Parameters
    ----------
    claims : Claims
    snapshot : GroupSnapshot
        With at least one member and one partition to assign.
    racks : RackMap, optional
        Where racks matter.
    max_generation : int
        The youngest generation the assignor has seen.
    java_order : bool
        Whether of several partitions that could go back Kafka's first one is taken, or the one that came first.

    Raises
    ------
    KafkaAssignorFailure
        A partition's older owner can take part in no exchange any more.
    KafkaAssignorEndless
        Exchanges go round in a circle.

    Source: AbstractStickyAssignor.GeneralAssignmentBuilder, `build`, `balance`, Kafka 4.4.
    """
    by_id = np.array(sort_order(snapshot.member_ids), dtype=np.int32)
    board = Board(claims, snapshot, racks, by_id)
    starting = not board.size.any()
    free = board.free_positions()
    board.fill(free)
    board.retire_settled()
    before, score = [list(positions) for positions in board.own], board.score()
    mover = _Mover(board, _older_owners(claims, board.number_of, max_generation), java_order)
    if not board.revoked:
        mover.improve(board.exchangeable(free))
    if mover.improve(board.exchangeable(board.in_topic_order())) and not starting and board.score() >= score:
        board.own = before
    return Assignment.of_lists(claims.topics, [board.own[number] for number in board.number_of.tolist()])


def _older_owners(claims: Claims, number_of: Positions, max_generation: int) -> Positions:
    """Who had each position in the youngest generation before the last, by member number; -1 for nobody."""
    older = np.full(claims.topics.n_partitions, -1, dtype=np.int32)
    generation = [NO_GENERATION if each is None else each for each in claims.generations]
    since: dict[int, int] = {}
    late = np.array([each < max_generation for each in generation])[claims.said_by]
    for member, position in zip(claims.said_by[late].tolist(), claims.said[late].tolist(), strict=True):
        if position not in since or generation[member] > since[position]:
            since[position] = generation[member]
            older[position] = number_of[member]
    return older


class _Mover:
    """Moves partitions from owners to subscribers that have at least two less.

    Parameters
    ----------
    board : Board
    older : ndarray of int32
        Owner in an older generation, by member number, -1 for none: it goes first, subscribed or not.
    java_order : bool

    Source: AbstractStickyAssignor.GeneralAssignmentBuilder.performReassignments, Kafka 4.4. The rack of a better owner
    is looked at there and changes nothing.
    """

    def __init__(self, board: Board, older: Positions, java_order: bool) -> None:
        self._board = board
        self._older = older
        # only claims of older generations and partitions that do not exist can part "balanced" from "no move is left"
        self._irregular = bool((older >= 0).any()) or not board.assignable.all()
        self._movements = PartitionMovements(board.topics, java_order)
        audiences = range(int(board.ranking.audience_of.max(initial=-1)) + 1)
        self._least = np.array([self._smallest_size(audience) for audience in audiences], dtype=np.int64)

    def _smallest_size(self, audience: int) -> int:
        number = self._board.ranking.smallest(audience)
        return NEVER if number is None else int(self._board.size[number])

    def improve(self, positions: Positions) -> bool:
        """Pass over the positions until a pass moves nothing; tells whether anything was moved.

        A partition that is moved for another leaves another owner than the one that has too many: sizes need not get
        any closer by it, and the moves can come round to where they began.

        Raises
        ------
        KafkaAssignorEndless
            They have, as they will again and again.
        """
        passes, before = 0, set[Hashable]()
        while self._pass_over(positions):
            passes += 1
            if passes > _FEW_PASSES:
                state = self._board.owner.tobytes(), self._movements.state()
                if state in before:
                    raise KafkaAssignorEndless("Kafka's sticky assignors move the same partitions round for ever")
                before.add(state)
        return passes > 0

    def _pass_over(self, positions: Positions) -> bool:
        """Move what should move, one position after the other; tells whether anything was moved."""
        moved, at = False, self._next_move(positions, 0)
        while at < len(positions):
            if self._irregular and self._board.balanced():
                break
            self._move(int(positions[at]))
            moved = True
            at = self._next_move(positions, at + 1)
        return moved

    def _next_move(self, positions: Positions, start: int) -> int:
        """Place of the next position that should move, or their number."""
        look = _FIRST_LOOK
        while start < len(positions):
            some = positions[start : start + look]
            found = np.flatnonzero(self._should_move(some))
            if len(found):
                return start + int(found[0])
            start, look = start + look, look * 4
        return len(positions)

    def _should_move(self, positions: Positions) -> npt.NDArray[np.bool_]:
        board = self._board
        size = board.size[board.owner[positions]]
        audience = board.ranking.audience_of[board.topics.topic_of[positions]]
        better = size - 1 > self._least[audience]
        older = self._older[positions]
        return better | (older >= 0) & (~board.active[older] | (size - 1 > board.size[older]))

    def _move(self, position: int) -> None:
        board, older = self._board, int(self._older[position])
        size = board.size[board.owner[position]]
        if older >= 0 and not board.active[older]:
            raise KafkaAssignorFailure("java.lang.NullPointerException", _GONE)
        if older >= 0 and size - 1 > board.size[older]:
            taker = older
        else:
            best = board.ranking.smallest(int(board.ranking.audience_of[board.topics.topic_of[position]]))
            assert best is not None
            taker = best
        position = self._movements.instead_of(position, int(board.owner[position]), taker)
        giver = board.take(position)
        self._movements.record(position, giver, taker)
        board.give(position, taker)
        for audience in {*board.ranking.audiences_of(giver), *board.ranking.audiences_of(taker)}:
            self._least[audience] = self._smallest_size(audience)
