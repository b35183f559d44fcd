"""Transactions that nobody looks at: those of calm members are worked out ahead, a column over members at a time.

A member that produces goes from one transaction to the next: poll(), process, send, commit, poll(). Nothing of that
depends on anybody else while its group is stable, its partitions are produced to at a constant rate, and brokers stay
as they are. So where nothing can disturb it for a while it is *parked* when its thread is back from a commit
(`parking`), one *cycle* after the other is worked out (`cycle`, with its `passes` through poll(), and the heartbeats of
its other thread, `beats`), the books are told what these leave (`books`), and the member goes on from the last one
(`resumption`)::

    loud --back from commitTransaction(), calm, nothing in sight--> parked
    parked --every other member that is calm has come back too--> worked out ahead, up to before what is in sight
    worked out --its time has come--> loud, back from commitTransaction()

Message fidelity parks nobody and shows that tables are the same.
"""
