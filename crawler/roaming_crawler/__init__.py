"""Crawls documentation sites of any origin and publishes them."""
