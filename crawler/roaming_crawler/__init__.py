"""Fetches documentation sites that somebody else made."""
