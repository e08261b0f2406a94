"""What a reader of a request looks for in its text."""

from __future__ import annotations

import re

QUESTION = "Question: "
LINE = re.compile(r"^\s*\[([0-9a-f]{8})\] (.+)$", re.MULTILINE)
"""A line of an outline or of a search result."""
SECTION = re.compile(r"^<section ([0-9a-f]{8})>\n(.*?)^</section \1>$", re.MULTILINE | re.DOTALL)
"""A section, where text is all there is: a line with its place, a blank one, its text."""


def sections(text: str) -> dict[str, str]:
    """Give the sections that stand in a text, by their ids."""
    return {id_: body.partition("\n\n")[2] for id_, body in SECTION.findall(text)}
