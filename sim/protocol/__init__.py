"""Kafka's rules as pure machines: now and messages in, replies out, one readable deadline. No SimPy, no clock."""
