"""Publish documentation that language models, agents and readers can walk, and answer questions from it."""

__version__ = "0.1.0"
