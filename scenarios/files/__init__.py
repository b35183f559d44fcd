"""Files that users name and groupsim writes: text, YAML, properties, result folders."""
