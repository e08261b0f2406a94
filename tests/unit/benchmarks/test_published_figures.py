"""The pages state the figures that were recorded."""

from __future__ import annotations

import os

from public.all import make_pages


def test_pages_have_the_recorded_figures() -> None:
    """UPDATE=1 writes them into the pages."""
    pages = make_pages()
    if os.environ.get("UPDATE"):
        for file, text in pages.items():
            file.write_text(text, "utf-8")
    assert [file.name for file, text in pages.items() if file.read_text("utf-8") != text] == []
