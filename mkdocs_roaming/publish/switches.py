"""Comments in a page's source that switch rules of the linter off there: kept, where all other comments go."""

from __future__ import annotations

import re


def with_switches(pointer: str, page: str) -> str:
    """Give a page's pointer line with the switches in the page behind it: before the title they are in no section."""
    found = dict.fromkeys(" ".join(comment.split()) for comment in _SWITCH.findall(page))
    return f"{pointer.removesuffix(chr(10))} {' '.join(found)}\n" if found else pointer


def is_switch(comment: str | None) -> bool:
    """Tell whether the text of a comment is a switch."""
    return comment is not None and _SWITCH.fullmatch(f"<!--{comment}-->") is not None


_SWITCH = re.compile(r"<!--\s*roaming-lint:\s*off\b[a-z ,-]*-->")
