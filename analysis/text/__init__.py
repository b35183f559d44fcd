"""Tables and sentences for a terminal, for Markdown and for CSV."""
