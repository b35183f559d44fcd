"""The poll loop: when the application is inside poll(), how fast it goes through passes, when heartbeats go out."""
