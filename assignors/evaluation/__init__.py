"""How good an assignment is, why it is so, and the list of checks for every assignor."""
