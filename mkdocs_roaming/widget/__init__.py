"""The widget: what a build writes of it, and how a page carries it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources

from mkdocs_roaming.widget.strip import stripped

SCRIPT = "roaming/roaming-ask.js"
MODULES = ("roaming-ask.js", "roaming-find.js", "roaming-done.js")
"""What a page names, and what that loads when it is needed."""
LANGUAGES = ("de", "es", "fr", "ja", "zh")
"""The languages besides English that the widget speaks."""


def files(language: str) -> Iterator[tuple[str, bytes]]:
    """Give the files of the widget by their paths on the site: its modules, and its words in the site's language."""
    folder = resources.files(__name__)
    for name in MODULES:
        yield f"roaming/{name}", stripped((folder / name).read_text("utf-8")).encode()
    code = language.lower().replace("_", "-").partition("-")[0]
    if code in LANGUAGES:
        yield f"roaming/ask.{code}.json", (folder / f"ask.{code}.json").read_bytes()
