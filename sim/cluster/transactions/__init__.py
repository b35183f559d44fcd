"""Coordinators of transactions: requests, their shards, and markers on their way to leaders."""
