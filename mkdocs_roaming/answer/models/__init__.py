"""Language models of providers, and replies from a file."""
