"""What models pass to tools, understood as far as it can be: one id for a list, a text for a number, JSON in a text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

NAMES = {
    "read_outline": "read_outline",
    "outline": "read_outline",
    "expand_sections": "expand_sections",
    "expand_section": "expand_sections",
    "expand": "expand_sections",
    "search_sections": "search_sections",
    "search": "search_sections",
}
"""The tools, by the names that models give them."""


def tool_name(name: object) -> str | None:
    """Give the tool that is meant."""
    return NAMES.get(name.strip().lower().rpartition(".")[2][:40]) if isinstance(name, str) else None


def mapping(arguments: object, alone: str) -> Mapping[str, object]:
    """Give the arguments by name; what is no mapping is taken for the one called `alone`."""
    if isinstance(arguments, (str, bytes)):
        try:
            read = json.loads(arguments)
        except (ValueError, RecursionError):
            read = arguments
        # A bare id may be all digits, or look like 12e45678.
        arguments = arguments if isinstance(read, (int, float)) else read
    if isinstance(arguments, Mapping):
        return {str(key): value for key, value in list(arguments.items())[:_MOST]}
    return {} if arguments is None else {alone: arguments}


def ids_of(value: object) -> list[str]:
    """Give the ids in an argument, each once, in order: a list of them, a text with commas, one alone."""
    return list(dict.fromkeys(_ids(value, 0)))[:_MOST]


def first(arguments: Mapping[str, object], *names: str) -> object:
    """Give the first argument of these names that says something."""
    return next((arguments[name] for name in names if arguments.get(name) not in (None, "", [], {})), None)


def number(value: object, default: int, least: int, most: int) -> int:
    """Give a whole number between two others."""
    if isinstance(value, str):
        value = int(value) if re.fullmatch(r"\s*[+-]?[0-9]{1,9}\s*", value) else default
    if isinstance(value, float):
        value = int(value) if -1e9 < value < 1e9 else default
    if isinstance(value, bool) or not isinstance(value, int):
        return default
    return min(max(value, least), most)


def _ids(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, bytes):
        value = value[:_LONGEST].decode("utf-8", "replace")
    if isinstance(value, str):
        text = value[:_LONGEST]
        pieces = [piece.strip(" \t\r\n\"'`[](){}<>") for piece in re.split(r"[,;\n]", text)]
        for piece in pieces:
            yield from piece.split() if _ALL_IDS.fullmatch(piece) else [piece] if piece else []
    elif isinstance(value, int) and not isinstance(value, bool):
        yield f"{value:08d}" if abs(value) < 10**8 else str(abs(value) % 10**20)
    elif isinstance(value, Mapping) and depth < _DEEPEST:
        for name in ("id", "section_id", "ids"):
            if name in value:
                yield from _ids(value[name], depth + 1)
    elif isinstance(value, (list, tuple)) and depth < _DEEPEST:
        for item in value[:_MOST]:
            yield from _ids(item, depth + 1)


_MOST = 64
_LONGEST = 2_000
_DEEPEST = 3
_ALL_IDS = re.compile(r"(?:[0-9a-fA-F]{8}\+?\s+)+[0-9a-fA-F]{8}\+?")
