"""The widget as it is published: without comments and needless white space, else as it is written.

Strings, template literals and regular expressions stay as they are, but for style sheets: template literals that a name
in capitals ending in STYLE holds. Ends of lines stay, since JavaScript reads some of them as semicolons. A template
literal inside of another is not understood, and refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator


def stripped(source: str) -> str:
    """Give JavaScript without comments, indentation, empty lines, and blanks beside signs."""
    kept: list[str] = []
    for kind, text in _pieces(source):
        last = kept[-1] if kept else "\n"
        if kind == "comment":
            continue
        if kind == "space":
            if "\n" in text:
                if last == " ":
                    kept.pop()
                kept += ["\n"] if kept and kept[-1] != "\n" else []
            elif last[-1] not in _SIGNS and not last.isspace():
                kept.append(" ")
            continue
        if last == " " and text[0] in _SIGNS:
            kept.pop()
        if kind == "template" and text.count("{") != text.count("}"):
            raise ValueError(f"a template inside of a template; give the inner one a name: {text}")
        is_style = kind == "template" and _STYLE.search("".join(kept[-4:]))
        kept.append(_css(text) if is_style else text)
    return "".join(kept).strip() + "\n"


_SIGNS = "(){}[];,:?=<>!&|*%"  # not + and -: `a + +b` is not `a ++b`; not /: two of them begin a comment
_STYLE = re.compile(r"STYLE\s*=\s*$")
_PIECE = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)"
    r"|(?P<string>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
    r"|(?P<template>`(?:[^`\\]|\\.)*`)"
    r"|(?P<slash>/)"
    r"|(?P<word>[\w$]+)"
    r"|(?P<space>\s+)"
    r"|(?P<sign>.)",
    re.DOTALL,
)
_REGEX = re.compile(r"/(?![*/])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
_VALUE_FOLLOWS = re.compile(r"(?:[(,=:\[!&|?{};+\-*%~^<>]|\b(?:return|typeof|case|in|of|await|yield))$|^$")


def _pieces(source: str) -> Iterator[tuple[str, str]]:
    """Give the pieces of JavaScript; a slash begins a regular expression where a value may stand, else it divides."""
    at, before = 0, ""
    while match := _PIECE.match(source, at):
        kind, text = str(match.lastgroup), match[0]
        if kind == "slash" and _VALUE_FOLLOWS.search(before) and (regex := _REGEX.match(source, at)):
            kind, text = "regex", regex[0]
        at += len(text)
        if kind not in ("comment", "space"):
            before = (before + text)[-12:] if kind in ("word", "sign") else text[-1]
        yield kind, text


def _css(text: str) -> str:
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return re.sub(r"\s*([{};,])\s*|(?<=[\w-]:)\s+", r"\1", re.sub(r"\s+", " ", text))
