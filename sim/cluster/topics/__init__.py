"""Records of topics: who writes them, who is told of them, and when they are deleted."""
