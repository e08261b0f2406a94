"""Conversion of HTML pages to Markdown."""
