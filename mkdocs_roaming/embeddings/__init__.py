"""Embeddings: a client for embeddings APIs, and the file of vectors that a site publishes."""
