"""Assignors of the group coordinator, for groups of the consumer protocol (KIP-848).

They decide on target assignments. A `GroupSpec` is what they are given; the order in which Kafka's hash tables hold a
target is kept, because the next assignment starts from it.
"""
