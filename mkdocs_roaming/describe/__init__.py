"""Descriptions of pages and sections, and readers' questions, which a model writes once for each text."""
