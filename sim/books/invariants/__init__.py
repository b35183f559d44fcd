"""What must hold of any run; checked after each event when a run is watched."""
