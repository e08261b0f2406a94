"""Public evaluation sets: a command for each set, and what the commands share."""
