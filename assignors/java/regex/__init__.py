r"""Patterns of ``java.util.regex`` held against names of topics, in a number of steps that is known beforehand.

A consumer that subscribes by pattern asks ``pattern.matcher(topic).matches()`` of every topic of the cluster
(``SubscriptionState.matchesSubscribedPattern``, Kafka 4.4). Python's `re` has other rules (possessive quantifiers,
``\Q..\E``, ``[a-z&&[^b]]``, ``\p{Alpha}``), and ``(a+)+$`` held against forty letters would keep it for hours: it
runs in C, where neither a signal nor a thread can end it, and a worker process with a deadline would give other answers
on a slow machine than on a fast one. So patterns are matched here.

`syntax` reads a pattern as ``java.util.regex.Pattern`` of OpenJDK 17 reads it, `program` makes instructions of it,
`matcher` follows them and never comes to the same instruction at the same character twice: at most instructions times
characters, whatever the pattern is. Only where a group is referred to again (``(a)\1``) does it matter how a place was
reached. There every way is tried, as in Java, and a budget of steps ends it: the same on every machine.

Names of topics are made of ASCII letters, digits, dots, underscores and hyphens (``Topic.validate``), so a class of
characters is a set of the 128 characters of ASCII.
"""

from groupsim.assignors.java.regex.matcher import JavaPattern, TooManySteps, java_pattern
from groupsim.assignors.java.regex.nodes import PatternError

__all__ = ["JavaPattern", "PatternError", "TooManySteps", "java_pattern"]
