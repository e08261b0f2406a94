"""Public evaluation sets, and the command `all` that measures them."""
