"""What becomes of records that are made: by producers, and in transactions."""
