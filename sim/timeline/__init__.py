"""What happens to the cluster: entries of the timeline as SimPy processes."""
