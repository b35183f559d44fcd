"""The examples that books and Kafka's own documentation explain assignors with, by Kafka 4.4's answers.

Tables show partitions by number, in the order of each member's list.
"""

from __future__ import annotations

import pytest

from groupsim.assignors import Assignor, MemberSubscription, RangeAssignor, RoundRobinAssignor, StickyAssignor, Topics
from groupsim.assignors.evaluation.group_history import GroupHistory
from tests.unit.assignors.building import assigned, equal_group, group, labels

THREE_AND_FOUR = equal_group({"t0": 3, "t1": 4}, "C0", "C1")
ONE_TWO_THREE = group(
    Topics.of({"t0": 1, "t1": 2, "t2": 3}),
    MemberSubscription("C0", ("t0",)),
    MemberSubscription("C1", ("t0", "t1")),
    MemberSubscription("C2", ("t0", "t1", "t2")),
)
FOUR_OF_TWO = equal_group({"t0": 2, "t1": 2, "t2": 2, "t3": 2}, "C0", "C1", "C2")
ORDER_AND_STOCK = equal_group({"Order": 7, "Stock": 5}, "C1", "C2", "C3")


def after(living: GroupHistory, leaver: str) -> dict[str, str]:
    """Everybody's list when one has left and the others have rebalanced."""
    living.change(members=[member for member in living.snapshot.members if member.member_id != leaver])
    answer = labels(living.rebalance())
    return dict(zip(living.snapshot.member_ids, answer, strict=True))


def test_range_cuts_topics_of_three_and_four() -> None:
    """Two members subscribe to both topics; the first one gets the odd partition of t0.

    ====== ======= =======
    member t0 (3)  t1 (4)
    ====== ======= =======
    C0     0 1     0 1
    C1     2       2 3
    ====== ======= =======
    """
    assert assigned(RangeAssignor(), THREE_AND_FOUR) == {"C0": "t0-0 t0-1 t1-0 t1-1", "C1": "t0-2 t1-2 t1-3"}


def test_roundrobin_deals_topics_of_three_and_four() -> None:
    """Two members subscribe to both topics; the turn goes on from t0 to t1.

    ====== ======= =======
    member t0 (3)  t1 (4)
    ====== ======= =======
    C0     0 2     1 3
    C1     1       0 2
    ====== ======= =======
    """
    assert assigned(RoundRobinAssignor(), THREE_AND_FOUR) == {"C0": "t0-0 t0-2 t1-1 t1-3", "C1": "t0-1 t1-0 t1-2"}


@pytest.mark.parametrize("assignor", [RangeAssignor(), RoundRobinAssignor()], ids=["range", "roundrobin"])
def test_unequal_subscriptions_are_shared_unevenly(assignor: Assignor) -> None:
    """C0 subscribes to t0, C1 to t0 and t1, C2 to all three. Both old assignors give the last one four of six.

    ====== ======= ======= =======
    member t0 (1)  t1 (2)  t2 (3)
    ====== ======= ======= =======
    C0     0
    C1             0
    C2             1       0 1 2
    ====== ======= ======= =======
    """
    assert assigned(assignor, ONE_TWO_THREE) == {"C0": "t0-0", "C1": "t1-0", "C2": "t1-1 t2-0 t2-1 t2-2"}


def test_sticky_shares_unequal_subscriptions_better() -> None:
    """The same group: sticky sees that C1 can have both partitions of t1. When C0 leaves, nothing else moves.

    ====== ======= ======= ======= ===============
    member t0 (1)  t1 (2)  t2 (3)  after C0 left
    ====== ======= ======= ======= ===============
    C0     0
    C1             0 1             also t0-0
    C2                     0 1 2   the same
    ====== ======= ======= ======= ===============
    """
    living = GroupHistory(StickyAssignor, ONE_TWO_THREE)
    assert labels(living.rebalance()) == ["t0-0", "t1-0 t1-1", "t2-0 t2-1 t2-2"]
    assert after(living, "C0") == {"C1": "t1-0 t1-1 t0-0", "C2": "t2-0 t2-1 t2-2"}


def test_roundrobin_moves_what_need_not_move_when_a_member_leaves_unequal_ones() -> None:
    """The same group: after C0 left, t1 changes hands although its owners are still there.

    ====== ======= ======= =======
    member t0 (1)  t1 (2)  t2 (3)
    ====== ======= ======= =======
    C1     0       1
    C2             0       0 1 2
    ====== ======= ======= =======
    """
    living = GroupHistory(RoundRobinAssignor, ONE_TWO_THREE)
    living.rebalance()
    assert after(living, "C0") == {"C1": "t0-0 t1-1", "C2": "t1-0 t2-0 t2-1 t2-2"}


FIRST_OF_EIGHT = ["t0-0 t1-1 t3-0", "t0-1 t2-0 t3-1", "t1-0 t2-1"]


def test_sticky_moves_the_leavers_partitions_alone() -> None:
    """Three members subscribe to four topics of two partitions, and C1 leaves: its three partitions are shared out.

    ====== ==================== ============================
    member at first             after C1 left
    ====== ==================== ============================
    C0     t0-0 t1-1 t3-0       t0-0 t3-0 t1-1 and t0-1
    C1     t0-1 t2-0 t3-1
    C2     t1-0 t2-1            t1-0 t2-1 and t2-0 t3-1
    ====== ==================== ============================

    The class's own documentation gives t2-0 to C0 and t0-1 to C2 instead; it is older than the algorithm for equal
    subscriptions, which deals in turn.
    """
    living = GroupHistory(StickyAssignor, FOUR_OF_TWO)
    assert labels(living.rebalance()) == FIRST_OF_EIGHT
    assert after(living, "C1") == {"C0": "t0-0 t3-0 t1-1 t0-1", "C2": "t1-0 t2-1 t2-0 t3-1"}


def test_roundrobin_moves_five_of_eight_when_the_leaver_had_three() -> None:
    """The same group with roundrobin: it begins alike, and then t1-1 and t1-0 change hands, too.

    ====== ==================== =====================
    member at first             after C1 left
    ====== ==================== =====================
    C0     t0-0 t1-1 t3-0       t0-0 t1-0 t2-0 t3-0
    C1     t0-1 t2-0 t3-1
    C2     t1-0 t2-1            t0-1 t1-1 t2-1 t3-1
    ====== ==================== =====================
    """
    living = GroupHistory(RoundRobinAssignor, FOUR_OF_TWO)
    assert labels(living.rebalance()) == FIRST_OF_EIGHT
    assert after(living, "C1") == {"C0": "t0-0 t1-0 t2-0 t3-0", "C2": "t0-1 t1-1 t2-1 t3-1"}


def test_range_cuts_order_and_stock() -> None:
    """Seven partitions of Order, five of Stock; both topics' excess goes to those who come first.

    ====== ========== ========== ========== ==========
    member at first              after C3 left
    ------ --------------------- ---------------------
    member Order (7)  Stock (5)  Order (7)  Stock (5)
    ====== ========== ========== ========== ==========
    C1     0 1 2      0 1        0 1 2 3    0 1 2
    C2     3 4        2 3        4 5 6      3 4
    C3     5 6        4
    ====== ========== ========== ========== ==========
    """
    living = GroupHistory(RangeAssignor, ORDER_AND_STOCK)
    assert labels(living.rebalance()) == [
        "Order-0 Order-1 Order-2 Stock-0 Stock-1",
        "Order-3 Order-4 Stock-2 Stock-3",
        "Order-5 Order-6 Stock-4",
    ]
    assert after(living, "C3") == {
        "C1": "Order-0 Order-1 Order-2 Order-3 Stock-0 Stock-1 Stock-2",
        "C2": "Order-4 Order-5 Order-6 Stock-3 Stock-4",
    }


FIRST_OF_TWELVE = [
    "Order-0 Order-3 Order-6 Stock-2",
    "Order-1 Order-4 Stock-0 Stock-3",
    "Order-2 Order-5 Stock-1 Stock-4",
]


def test_roundrobin_deals_order_and_stock() -> None:
    """Seven partitions of Order, five of Stock, dealt in one turn; after C3 left, in another one.

    ====== ========== ========== ========== ==========
    member at first              after C3 left
    ------ --------------------- ---------------------
    member Order (7)  Stock (5)  Order (7)  Stock (5)
    ====== ========== ========== ========== ==========
    C1     0 3 6      2          0 2 4 6    1 3
    C2     1 4        0 3        1 3 5      0 2 4
    C3     2 5        1 4
    ====== ========== ========== ========== ==========
    """
    living = GroupHistory(RoundRobinAssignor, ORDER_AND_STOCK)
    assert labels(living.rebalance()) == FIRST_OF_TWELVE
    assert after(living, "C3") == {
        "C1": "Order-0 Order-2 Order-4 Order-6 Stock-1 Stock-3",
        "C2": "Order-1 Order-3 Order-5 Stock-0 Stock-2 Stock-4",
    }


def test_sticky_leaves_order_and_stock_where_they_are() -> None:
    """Seven partitions of Order, five of Stock; after C3 left, C1 and C2 keep theirs and take turns with its four.

    ====== ========== ========== ============ ============
    member at first              after C3 left
    ------ --------------------- -------------------------
    member Order (7)  Stock (5)  Order (7)    Stock (5)
    ====== ========== ========== ============ ============
    C1     0 3 6      2          0 3 6 and 2  2 and 1
    C2     1 4        0 3        1 4 and 5    0 3 and 4
    C3     2 5        1 4
    ====== ========== ========== ============ ============

    A table that is often copied gives other answers for "after C3 left"; this is Kafka's.
    """
    living = GroupHistory(StickyAssignor, ORDER_AND_STOCK)
    assert labels(living.rebalance()) == FIRST_OF_TWELVE
    assert after(living, "C3") == {
        "C1": "Order-0 Stock-2 Order-3 Order-6 Order-2 Stock-1",
        "C2": "Stock-0 Order-1 Stock-3 Order-4 Order-5 Stock-4",
    }
