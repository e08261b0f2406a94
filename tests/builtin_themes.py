"""A change of the built-in themes."""

from functools import cache

import pytest

from mkdocs_roaming.html import themes


def add_builtin_theme(monkeypatch: pytest.MonkeyPatch, toml: str) -> None:
    """Append a table to the built-in themes as if it were in `themes.toml`."""
    text = themes._read_builtin_themes()
    monkeypatch.setattr(themes, "_read_builtin_themes", lambda: f"{text}\n{toml}")
    for name in ("builtin_themes", "_load_themes"):  # with an empty cache
        monkeypatch.setattr(themes, name, cache(getattr(themes, name).__wrapped__))
