"""Content of a page as comparable items, extracted from its HTML and from its Markdown; used by `fidelity.py`."""
