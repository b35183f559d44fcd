"""From what the books hold to result tables, summary and manifest."""
