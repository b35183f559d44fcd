"""groupsim's own assignors: weighted, leader-rack, random, broadcast."""
