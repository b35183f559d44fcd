"""ZooKeeper as a pure machine: copies that lag, watches that fire once, sessions that end, servers that go."""

from __future__ import annotations

import pytest

from groupsim.sim.protocol.zookeeper.ensemble import Ensemble
from groupsim.sim.protocol.zookeeper.messages import Answer, Code, Op, Request, Watched
from groupsim.sim.units import FOREVER, S

LEADER, FOLLOWER = 2, 0


def write(ensemble: Ensemble, op: Op, path: str = "", data: object = None, *, session: int = 0) -> Answer:
    """A write that is committed, which nobody has applied yet."""
    request = Request(op, path, data, is_ephemeral=bool(session), session=session, timeout_us=6 * S)
    return ensemble.commit(0, LEADER, request)[0]


def opened(ensemble: Ensemble, now: int = 0, timeout_us: int = 6 * S, node: int = LEADER) -> int:
    """A new session at a server."""
    return int(ensemble.commit(now, node, Request(Op.CREATE_SESSION, timeout_us=timeout_us))[0].value)


def ensemble() -> Ensemble:
    """Three servers, with a node /a."""
    one = Ensemble(3, 2 * S)
    write(one, Op.CREATE, "/a")
    for node in range(3):
        one.apply(node, 1)
    return one


def children(one: Ensemble, node: int, path: str = "/a", *, session: int = 0) -> Answer:
    """What a server lists, watched if there is a session."""
    return one.read(node, Request(Op.GET_CHILDREN, path, watches=bool(session), session=session))


def test_a_follower_shows_a_write_when_it_has_applied_it() -> None:
    one = ensemble()
    zxid = write(one, Op.CREATE, "/a/x").zxid
    one.apply(LEADER, zxid)
    assert children(one, LEADER).value == ("x",)
    assert children(one, FOLLOWER).value == ()
    assert one.is_stale(FOLLOWER, "/a")
    one.apply(FOLLOWER, zxid)
    assert children(one, FOLLOWER).value == ("x",)
    assert not one.is_stale(FOLLOWER, "/a")


def test_writes_are_answered_by_what_has_been_committed_not_by_what_a_server_shows() -> None:
    one = ensemble()
    assert write(one, Op.CREATE, "/a/x").error is Code.NONE
    assert write(one, Op.CREATE, "/a/x").error is Code.NODE_EXISTS
    assert write(one, Op.CREATE, "/b/x").error is Code.NO_NODE
    assert write(one, Op.SET_DATA, "/b", 1).error is Code.NO_NODE
    assert write(one, Op.DELETE, "/a/x").error is Code.NONE
    assert write(one, Op.DELETE, "/a/x").error is Code.NO_NODE


def test_a_watch_fires_once_where_it_was_set_and_when_that_server_applies() -> None:
    one = ensemble()
    session = opened(one)
    children(one, FOLLOWER, session=session)
    first, second = (write(one, Op.CREATE, f"/a/{name}").zxid for name in "xy")
    assert one.apply(LEADER, second) == []
    (fired,) = one.apply(FOLLOWER, first)
    assert (fired.session, fired.watch) == (session, (Watched.CHILDREN, "/a"))
    assert one.apply(FOLLOWER, second) == []


def test_a_child_watch_hears_of_children_and_a_data_watch_of_data() -> None:
    one = ensemble()
    session = opened(one)
    one.read(LEADER, Request(Op.GET_DATA, "/a", watches=True, session=session))
    assert one.apply(LEADER, write(one, Op.CREATE, "/a/x").zxid) == []
    assert len(one.apply(LEADER, write(one, Op.SET_DATA, "/a", 1).zxid)) == 1


def test_exists_watches_a_node_that_is_not_there_and_other_reads_do_not() -> None:
    one = ensemble()
    session = opened(one)
    one.read(LEADER, Request(Op.EXISTS, "/b", watches=True, session=session))
    one.read(LEADER, Request(Op.GET_DATA, "/c", watches=True, session=session))
    assert len(one.apply(LEADER, write(one, Op.CREATE, "/b").zxid)) == 1
    assert one.apply(LEADER, write(one, Op.CREATE, "/c").zxid) == []


def test_a_session_ends_at_the_tick_after_its_timeout_and_takes_its_nodes_along() -> None:
    one = ensemble()
    session = opened(one, now=1 * S)
    write(one, Op.CREATE, "/a/mine", session=session)
    write(one, Op.CREATE, "/a/yours")
    assert one.deadline == 8 * S, "1 s and 6 s, rounded up to a tick of 2 s"
    one.touch(3 * S, session)
    assert one.deadline == 10 * S
    assert one.expired(9 * S) == []
    assert one.expired(10 * S) == [session]
    _, changes = one.commit(10 * S, LEADER, Request(Op.CLOSE_SESSION, session=session))
    assert [change.path for change in changes] == ["/a/mine"]
    assert write(one, Op.CREATE, "/a/late", session=session).error is Code.SESSION_EXPIRED
    assert one.deadline == FOREVER


def test_timeouts_are_between_two_and_twenty_ticks() -> None:
    one = ensemble()
    assert [one.sessions[opened(one, timeout_us=wanted)].timeout_us for wanted in (S, 90 * S)] == [4 * S, 40 * S]


def test_who_comes_back_to_another_server_hears_of_what_it_has_missed() -> None:
    one = ensemble()
    session = opened(one, node=FOLLOWER)
    seen = children(one, FOLLOWER, session=session).zxid
    zxid = write(one, Op.CREATE, "/a/x").zxid
    one.apply(1, zxid)
    armed = ((Watched.CHILDREN, "/a"), (Watched.DATA, "/a"))
    answer, missed = one.reconnect(S, 1, Request(Op.RECONNECT, session=session, seen=seen, armed=armed))
    assert answer.error is Code.NONE
    assert [one.watch for one in missed] == [(Watched.CHILDREN, "/a")]
    assert len(one.apply(1, write(one, Op.SET_DATA, "/a", 1).zxid)) == 1, "the other one is watched on"
    assert one.apply(FOLLOWER, zxid) == [], "and no longer there"


def test_who_comes_back_hears_of_nodes_that_are_gone() -> None:
    """``DataTree.setWatches``: a watch of data or children whose node is no longer there fires NodeDeleted."""
    one = ensemble()
    session = opened(one, node=FOLLOWER)
    seen = children(one, FOLLOWER, session=session).zxid
    one.apply(1, write(one, Op.DELETE, "/a").zxid)
    armed = ((Watched.CHILDREN, "/a"), (Watched.DATA, "/a"))
    _, missed = one.reconnect(S, 1, Request(Op.RECONNECT, session=session, seen=seen, armed=armed))
    assert [fired.watch for fired in missed] == list(armed)


@pytest.mark.parametrize("is_made_meanwhile", [False, True])
def test_who_waits_for_a_node_and_comes_back_hears_of_it_once_it_is_there(is_made_meanwhile: bool) -> None:
    """``DataTree.setWatches``, ``existWatches``: fires NodeCreated if there is a node by now, else is set again."""
    one = ensemble()
    session = opened(one, node=FOLLOWER)
    if is_made_meanwhile:
        one.apply(1, write(one, Op.CREATE, "/a/late").zxid)
    armed = ((Watched.CREATION, "/a/late"),)
    _, missed = one.reconnect(S, 1, Request(Op.RECONNECT, session=session, armed=armed))
    fired = missed or one.apply(1, write(one, Op.CREATE, "/a/late").zxid)
    assert bool(missed) == is_made_meanwhile
    assert [(each.session, each.watch) for each in fired] == [(session, (Watched.DATA, "/a/late"))]


def test_a_server_that_is_behind_a_client_does_not_take_it() -> None:
    one = ensemble()
    session = opened(one)
    seen = write(one, Op.CREATE, "/a/x").zxid
    answer, _ = one.reconnect(S, FOLLOWER, Request(Op.RECONNECT, session=session, seen=seen))
    assert answer.error is Code.BEHIND


def test_without_the_leader_or_a_majority_nobody_serves_and_sessions_wait() -> None:
    one = ensemble()
    session = opened(one)
    zxid = write(one, Op.CREATE, "/a/x").zxid
    assert not one.stop(FOLLOWER), "two of three are enough"
    assert one.stop(LEADER)
    assert not one.has_quorum
    assert one.deadline == FOREVER
    one.start(FOLLOWER)
    one.elect(100 * S)
    assert one.leader == 1, "the highest number that is up"
    assert one.replicas[FOLLOWER].zxid == zxid, "what was committed is there"
    assert one.sessions[session].expires_us == 108 * S, "sessions begin anew"
