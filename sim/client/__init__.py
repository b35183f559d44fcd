"""Consumer side: processes, poll loop, requests, fetching, commits, suspensions."""
