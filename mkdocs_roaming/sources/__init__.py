"""Sources of pages other than MkDocs."""
