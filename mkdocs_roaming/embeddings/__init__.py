"""Embeddings: models in the process and on servers, a table of word-piece vectors, and the vectors of a site."""
