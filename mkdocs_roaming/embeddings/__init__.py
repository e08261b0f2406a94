"""Embeddings: a client for embeddings APIs, a table of word-piece vectors, and the file of vectors of a site."""
