"""Broker side: brokers, the coordinators and groups they host, producers, retention."""
