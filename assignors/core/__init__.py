"""What every assignor shares: snapshot, topics, assignment, interface, errors."""
