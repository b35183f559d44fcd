"""SimPy processes and shells: stories of consumers, coordinators, brokers, producers and faults. No protocol rules."""
