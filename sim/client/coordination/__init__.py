"""With the coordinator: looking for it, requests to it, commits, and what the leader of a group does for it."""
