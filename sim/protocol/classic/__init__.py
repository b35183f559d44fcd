"""The classic group protocol, both sides, as pure machines."""
