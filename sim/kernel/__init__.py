"""Time and delivery on SimPy: the environment, re-armable alarms, the network. Knows no protocol."""
