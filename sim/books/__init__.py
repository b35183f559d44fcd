"""What is written down while a run goes on: offsets and lag, availability by cause, rebalances, requests."""
