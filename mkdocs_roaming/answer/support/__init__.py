"""Comparison of an answer with the sections that were opened for it."""
