"""Clients of groups that ZooKeeper holds together."""
