"""Which of several knobs matters."""
