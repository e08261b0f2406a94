"""Splits somebody's llms-full.txt into pages, by the conventions that are in use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from mkdocs_roaming.publish.markdown import without_front_matter
from roaming_crawler.scope import canonical


@dataclass(frozen=True, slots=True)
class Piece:
    """A page's part of the text, its address where one is told."""

    title: str
    markdown: str
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pages of a text, and the convention that they were told apart by."""

    pieces: tuple[Piece, ...]
    convention: str

    def by_url(self) -> dict[str, Piece]:
        """Give the pieces that have an address; none for an address that several have."""
        found: dict[str, Piece] = {}
        twice: set[str] = set()
        for piece in self.pieces:
            if piece.url is not None:
                twice |= {piece.url} & found.keys()
                found[piece.url] = piece
        return {url: piece for url, piece in found.items() if url not in twice}


def split_full(text: str, base: str) -> Pieces:
    """Split an llms-full.txt that was found at `base`.

    The convention that gives the most pages an address wins; one H1 a page comes last, then rules. A text that fits
    none is one page.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    code = _in_code(lines)
    found = [
        Pieces(tuple(split(lines, code, base)), name)
        for name, split in (
            ("front matter", _front_matter),
            ("<doc>", _docs),
            ("Source: before the title", _sources_before),
            ("Source: after the title", _sources_after),
        )
    ]
    best = max(found, key=lambda one: len(one.by_url()))
    if best.by_url():
        return best
    titled = Pieces(tuple(_titles(lines, code)), "one H1 a page")
    if len(titled.pieces) > 1:
        return titled
    ruled = Pieces(tuple(_rules(lines, code)), "rules")
    return ruled if len(ruled.pieces) > 1 else Pieces((_piece(lines, None),), "one page")


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
_H1 = re.compile(r" {0,3}#[ \t]+(.*?)[ \t]*#*[ \t]*$")
_SOURCE = re.compile(
    r"\s*(?:[*_]{0,2})(?:Source|URL|Link)(?:[*_]{0,2}):(?:[*_]{0,2})\s*(?:\[[^\]]*\]\()?<?([^\s<>()]+)", re.I
)
_DOC = re.compile(r"\s*<(?:doc|document|page)\b([^>]*)>\s*$", re.IGNORECASE)
_DOC_END = re.compile(r"\s*</(?:doc|document|page)>\s*$", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([\w-]+)\s*=\s*["']([^"']*)["']""")
_KEY = re.compile(r"(url|source|link|permalink|canonical|canonical_url|source_url)$", re.IGNORECASE)
_RULE = re.compile(r"\s*(-{3,}|={3,}|\*{3,}|_{3,})\s*$")


def _in_code(lines: Sequence[str]) -> list[bool]:
    """Tell for each line whether it stands in a fence; one that is never closed is none."""
    code = [False] * len(lines)
    fence, start = "", 0
    for at, line in enumerate(lines):
        found = _FENCE.match(line)
        if fence and found and found[1].startswith(fence) and not found[2].strip():
            code[start : at + 1] = [True] * (at + 1 - start)
            fence = ""
        elif not fence and found and not (found[1][0] == "`" and "`" in found[2]):
            fence, start = found[1], at
    return code


def _front_matter(lines: Sequence[str], code: Sequence[bool], base: str) -> Iterable[Piece]:
    """Each page begins with a block between rules that has an address in it, wherever in the text it stands."""
    starts: list[tuple[int, str, str]] = []
    at = 0
    while at < len(lines):
        if lines[at].rstrip() == "---" and not code[at]:
            end = next((to for to in range(at + 1, min(at + 60, len(lines))) if lines[to].rstrip() == "---"), None)
            block = "\n".join([*lines[at : end + 1], ""]) if end is not None else ""
            keys = without_front_matter(block)[1] if block else {}
            urls = [value for key, value in keys.items() if _KEY.match(key) and value]
            if end is not None and urls and all(_key_like(line) for line in lines[at + 1 : end]):
                starts.append((at, urls[0], keys.get("title", "")))
                at = end
        at += 1
    for (start, url, title), end in _to_next(starts, len(lines)):
        close = next(to for to in range(start + 1, end) if lines[to].rstrip() == "---")
        yield _piece(lines[close + 1 : end], canonical(url, base), title)


Last = TypeVar("Last")


def _to_next(starts: Sequence[tuple[int, str, Last]], end: int) -> Iterable[tuple[tuple[int, str, Last], int]]:
    """Give each start with the line at which the next one stands."""
    return zip(starts, [*(one[0] for one in starts), end][1:], strict=True)


def _key_like(line: str) -> bool:
    return not line.strip() or bool(re.match(r"[A-Za-z_][\w-]*:|\s+\S|- |#", line))


def _docs(lines: Sequence[str], code: Sequence[bool], base: str) -> Iterable[Piece]:
    start, attributes = None, ""
    for at, line in enumerate(lines):
        if code[at]:
            continue
        opened = _DOC.match(line)
        if start is not None and (opened or _DOC_END.match(line)):
            yield _of_doc(lines[start:at], attributes, base)
            start = None
        if opened:
            start, attributes = at + 1, opened[1]
    if start is not None:
        yield _of_doc(lines[start:], attributes, base)


def _of_doc(lines: Sequence[str], attributes: str, base: str) -> Piece:
    pairs = {key.lower(): value for key, value in _ATTRIBUTE.findall(attributes)}
    url = next((value for key, value in pairs.items() if _KEY.match(key) or key in ("href", "path")), "")
    return _piece(lines, canonical(url, base) if url else None, pairs.get("title", ""))


def _sources_before(lines: Sequence[str], code: Sequence[bool], base: str) -> Iterable[Piece]:
    """A line `Source: URL` and then, after blank lines, rules and a quote at most, the page's H1."""
    starts: list[tuple[int, str, int]] = []
    for at, line in enumerate(lines):
        found = _SOURCE.match(line) if not code[at] else None
        url = canonical(found[1], base) if found else None
        if url is None:
            continue
        to = at + 1
        while (
            to < len(lines)
            and to < at + 12
            and (not lines[to].strip() or _RULE.match(lines[to]) or lines[to][:1] == ">")
        ):
            to += 1
        if to < len(lines) and _H1.match(lines[to]):
            starts.append((at, url, at + 1))
    for (_, url, begin), end in _to_next(starts, len(lines)):
        yield _piece(_without_rule(lines[begin:end]), url)


def _sources_after(lines: Sequence[str], code: Sequence[bool], base: str) -> Iterable[Piece]:
    """The page's H1 and then, after blank lines at most, a line `Source: URL`."""
    starts: list[tuple[int, str, int]] = []
    for at, line in enumerate(lines):
        if code[at] or not _H1.match(line):
            continue
        to = next((to for to in range(at + 1, min(at + 4, len(lines))) if lines[to].strip()), None)
        found = _SOURCE.match(lines[to]) if to is not None else None
        url = canonical(found[1], base) if found else None
        if to is not None and url is not None:
            starts.append((at, url, to))
    for (start, url, source), end in _to_next(starts, len(lines)):
        yield _piece([lines[start], *_without_rule(lines[source + 1 : end])], url)


def _titles(lines: Sequence[str], code: Sequence[bool]) -> Iterable[Piece]:
    starts = [at for at, line in enumerate(lines) if not code[at] and _H1.match(line)]
    for start, end in zip(starts, [*starts, len(lines)][1:], strict=True):
        yield _piece(_without_rule(lines[start:end]), None)


def _rules(lines: Sequence[str], code: Sequence[bool]) -> Iterable[Piece]:
    """Pages between rules: rules of one kind, each with a heading right below it."""
    cuts = [at for at, line in enumerate(lines) if not code[at] and _RULE.match(line) and _heading_below(lines, at)]
    if not cuts:
        return
    starts = [0, *(cut + 1 for cut in cuts)]
    for start, end in zip(starts, [*cuts, len(lines)], strict=True):
        if any(line.strip() for line in lines[start:end]):
            yield _piece(lines[start:end], None)


def _heading_below(lines: Sequence[str], at: int) -> bool:
    below = next((line for line in lines[at + 1 : at + 4] if line.strip()), "")
    return bool(re.match(r" {0,3}#{1,2}[ \t]", below))


def _without_rule(lines: Sequence[str]) -> Sequence[str]:
    """Leave out the rule that stands between a page and the next one."""
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return lines[: end - 1] if end > 1 and _RULE.match(lines[end - 1]) and not lines[end - 2].strip() else lines[:end]


def _piece(lines: Sequence[str], url: str | None, title: str = "") -> Piece:
    markdown = "\n".join(lines).strip("\n") + "\n"
    heading = next((found for line in lines if (found := re.match(r" {0,3}#{1,2}[ \t]+(.*?)[ \t#]*$", line))), None)
    return Piece(title or (heading[1] if heading else ""), markdown, url)
