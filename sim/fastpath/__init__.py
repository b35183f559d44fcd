"""Members that nobody looks at: what they do is computed, many at a time, when somebody does look."""
