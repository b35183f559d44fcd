"""Group coordinators, and the groups that they host."""
