"""Causes of unread time by code, in the order of `sim.tables.CAUSES`; what is served has none."""

from __future__ import annotations

NOT_STARTED, SERVED, UNOWNED, DETECTION, AWAY, BARRIER, ASSIGNMENT, RESUME = -1, 0, 1, 2, 3, 4, 5, 6
