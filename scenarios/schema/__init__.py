"""What a scenario file may hold, as pydantic models: one file a section, and the value types they share."""
