"""The consumer protocol (KIP-848): a group machine, `group`, and a member machine, `member`."""
