"""Kafka's client-side assignors, partition by partition as 4.4.0: range, roundrobin, sticky, cooperative-sticky."""
