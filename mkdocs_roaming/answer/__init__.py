"""Cited answers from a published site: the loop, the models that answer, and the support check."""
