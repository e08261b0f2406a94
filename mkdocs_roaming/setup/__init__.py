"""`roaming init`: detection of a project's generator and hosts, and the edits that add mkdocs-roaming to it."""
