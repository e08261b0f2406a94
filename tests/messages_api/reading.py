"""Patterns to read sections and outlines in the text of a request."""

from __future__ import annotations

import hashlib
import re

QUESTION = "Question: "
RECORDED = {
    form for name in ("kept", "rules", "prefetch") for form in (name, hashlib.sha256(name.encode()).hexdigest()[:9])
}
"""The ids of calls that were made before the first request, and the form of nine letters or digits."""
LINE = re.compile(r"^\s*\[([0-9a-f]{8})\] (.+)$", re.MULTILINE)
"""A line of an outline or of a search result."""
SECTION = re.compile(r"^<section ([0-9a-f]{8})>\n(.*?)^</section \1>$", re.MULTILINE | re.DOTALL)
"""A section as text: a line with its breadcrumb, a blank line, its text."""


def sections(text: str) -> dict[str, str]:
    """Return the sections in a text, by id."""
    return {id_: body.partition("\n\n")[2] for id_, body in SECTION.findall(text)}
