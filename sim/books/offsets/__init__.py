"""How far a group has read and committed each partition, and who served it: as vectors, and as a log."""
