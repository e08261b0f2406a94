"""The widget as it is published: without comments and indentation, else as it is written.

Strings, template literals and regular expressions are left as they are. What is left of a style sheet in a template
literal marked by `/* css */`-like care needs no knowledge of CSS: white space at the beginnings of its lines goes too,
since no template literal of the widget means it.
"""

from __future__ import annotations

import re


def stripped(source: str) -> str:
    """Give JavaScript without comments, indentation and empty lines."""
    kept: list[str] = []
    at = 0
    while at < len(source):
        match = _PIECE.match(source, at)
        if match is None:  # pragma: no cover -- the last alternative takes any character
            raise ValueError(f"nothing matches at {at}")
        kind, text = match.lastgroup, match[0]
        at = match.end()
        if kind == "slash":
            regex = _REGEX.match(source, at - 1) if _expects_value("".join(kept[-40:])) else None
            text = regex[0] if regex else text
            at = at - 1 + len(text)
        if kind == "comment":
            continue
        kept.append(text)
    return _INDENTED.sub("\n", "".join(kept)).strip() + "\n"


_PIECE = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)"
    r"|(?P<string>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
    r"|(?P<template>`(?:[^`\\]|\\.)*`)"
    r"|(?P<slash>/)"
    r"|(?P<word>[\w$]+)"
    r"|(?P<other>.)",
    re.DOTALL,
)
_REGEX = re.compile(r"/(?![*/])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
_INDENTED = re.compile(r"\s*\n\s*")
_BEFORE_VALUE = re.compile(r"(?:[(,=:\[!&|?{};+\-*%~^<>]|=>|\b(?:return|typeof|case|in|of|await|yield))\s*$|^\s*$")


def _expects_value(before: str) -> bool:
    """Tell whether a slash after this begins a regular expression; else it divides."""
    return _BEFORE_VALUE.search(before) is not None
