"""Clients that produce: producers by themselves, and consumers that produce in transactions."""
