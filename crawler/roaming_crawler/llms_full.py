"""Splits somebody's llms-full.txt into pages, by the conventions that are in use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from mkdocs_roaming.publish.markdown_source import split_front_matter
from roaming_crawler.scope import canonical_url


@dataclass(frozen=True, slots=True)
class FullTextPage:
    """A page's part of the text, its address where one is told."""

    title: str
    markdown: str
    url: str | None = None


@dataclass(frozen=True, slots=True)
class FullText:
    """The pages of a text, and the convention that they were told apart by."""

    pieces: tuple[FullTextPage, ...]
    convention: str

    def by_url(self) -> dict[str, FullTextPage]:
        """Give the pieces that have an address; none for an address that several have."""
        found: dict[str, FullTextPage] = {}
        twice: set[str] = set()
        for piece in self.pieces:
            if piece.url is not None:
                twice |= {piece.url} & found.keys()
                found[piece.url] = piece
        return {url: piece for url, piece in found.items() if url not in twice}


def split_llms_full(text: str, base: str) -> FullText:
    """Split an llms-full.txt that was found at `base`.

    The convention that gives the most pages an address wins; one H1 a page comes last, then rules. A text that fits
    none is one page.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    code = _in_code(lines)
    found = [
        FullText(tuple(split(lines, code, base)), name)
        for name, split in (
            ("front matter", _front_matter),
            ("<doc>", _docs),
            ("Source: before the title", _sources_before),
            ("Source: after the title", _sources_after),
            ("Source: before a second-level title", partial(_sources_before, level=2)),
            ("Source: after a second-level title", partial(_sources_after, level=2)),
        )
    ]
    best = max(found, key=lambda one: len(one.by_url()))
    addressed = [piece for piece in best.pieces if piece.url is not None]
    if len(addressed) > 1 or any(2 * len(piece.markdown) > len(text) for piece in addressed):  # else it quotes a source
        return best
    titled = FullText(tuple(_titles(lines, code)), "one H1 a page")
    if len(titled.pieces) > 1:
        return titled
    ruled = FullText(tuple(_rules(lines, code)), "rules")
    return ruled if len(ruled.pieces) > 1 else FullText((_piece(lines, None),), "one page")


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
_H1 = re.compile(r" {0,3}#[ \t]+(.*?)[ \t]*#*[ \t]*$")
_TITLES = {1: _H1, 2: re.compile(r" {0,3}##[ \t]+(.*?)[ \t]*#*[ \t]*$")}
_SOURCE = re.compile(
    r"(?:>|\s)*(?:[*_]{0,2})(?:Source|URL|Link)(?:[*_]{0,2}):(?:[*_]{0,2})\s*(?:\[[^\]]*\]\()?<?([^\s<>()]+)", re.I
)
_DOC = re.compile(r"\s*<(?:doc|document|page)\b([^>]*)>\s*$", re.IGNORECASE)
_DOC_END = re.compile(r"\s*</(?:doc|document|page)>\s*$", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([\w-]+)\s*=\s*["']([^"']*)["']""")
_KEY = re.compile(r"(url|source|link|permalink|canonical|canonical_url|source_url)$", re.IGNORECASE)
_ADDRESS = re.compile(r"[>\s]*[*_]*[A-Z][\w ]{0,20}:[*_]*[ \t]*<?https?://\S+\s*$")
_BAR = re.compile(r"-{3,}|={3,}")
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


def _front_matter(lines: Sequence[str], code: Sequence[bool], base: str) -> Iterable[FullTextPage]:
    """Each page begins with a block between rules that has an address in it, wherever in the text it stands.

    The rules may be longer than front matter's, or of equals signs, and the keys commented out.
    """
    starts: list[tuple[int, str, tuple[int, str]]] = []
    at = 0
    while at < len(lines):
        bar = lines[at].rstrip()
        if _BAR.fullmatch(bar) and not code[at]:
            end = next((to for to in range(at + 1, min(at + 60, len(lines))) if lines[to].rstrip() == bar), None)
            inner = [line.removeprefix("# ") for line in lines[at + 1 : end]] if end is not None else []
            keys = split_front_matter("\n".join(["---", *inner, "---", ""]))[1] if inner else {}
            urls = [value for key, value in keys.items() if _KEY.match(key) and value]
            urls.sort(key=lambda value: "://" not in value)  # the file that it was made of may be told, too
            if end is not None and urls and all(_key_like(line) for line in inner):
                starts.append((at, urls[0], (end, keys.get("title", ""))))
                at = end
        at += 1
    for (_, url, (close, title)), end in _to_next(starts, len(lines)):
        yield _piece(_without_banner(lines[close + 1 : end]), canonical_url(url, base), title)


Last = TypeVar("Last")


def _to_next(starts: Sequence[tuple[int, str, Last]], end: int) -> Iterable[tuple[tuple[int, str, Last], int]]:
    """Give each start with the line at which the next one stands."""
    return zip(starts, [*(one[0] for one in starts), end][1:], strict=True)


def _key_like(line: str) -> bool:
    return not line.strip() or bool(re.match(r"[A-Za-z_][\w-]*:|\s+\S|- |#", line))


def _docs(lines: Sequence[str], code: Sequence[bool], base: str) -> Iterable[FullTextPage]:
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


def _of_doc(lines: Sequence[str], attributes: str, base: str) -> FullTextPage:
    pairs = {key.lower(): value for key, value in _ATTRIBUTE.findall(attributes)}
    url = next((value for key, value in pairs.items() if _KEY.match(key) or key in ("href", "path")), "")
    return _piece(lines, canonical_url(url, base) if url else None, pairs.get("title", ""))


def _sources_before(lines: Sequence[str], code: Sequence[bool], base: str, level: int = 1) -> Iterable[FullTextPage]:
    """A line `Source: URL` and then, after blank lines, rules and a quote at most, the page's title."""
    starts: list[tuple[int, str, int]] = []
    for at, line in enumerate(lines):
        found = _SOURCE.match(line) if not code[at] else None
        url = canonical_url(found[1], base) if found else None
        if url is None:
            continue
        to = at + 1
        while to < len(lines) and to < at + 12 and (_between(lines[to]) or _RULE.match(lines[to])):
            to += 1
        if to < len(lines) and _TITLES[level].match(lines[to]):
            starts.append((at, url, at + 1))
    for (_, url, begin), end in _to_next(starts, len(lines)):
        yield _piece(_titled(_without_rule(lines[begin:end]), level), url)


def _sources_after(lines: Sequence[str], code: Sequence[bool], base: str, level: int = 1) -> Iterable[FullTextPage]:
    """The page's title and then, after blank lines and a quote at most, a line `Source: URL`."""
    starts: list[tuple[int, str, int]] = []
    for at, line in enumerate(lines):
        if code[at] or not _TITLES[level].match(line):
            continue
        to = at + 1
        while to < min(at + 8, len(lines)) and _between(lines[to]) and not _SOURCE.match(lines[to]):
            to += 1
        found = _SOURCE.match(lines[to]) if to < len(lines) else None
        url = canonical_url(found[1], base) if found else None
        if url is not None:
            starts.append((at, url, to))
    for (start, url, source), end in _to_next(starts, len(lines)):
        after = source + 1
        while after < end and _ADDRESS.match(lines[after]):
            after += 1
        text = [*_without_blanks(lines[start:source]), *_without_rule(lines[after:end])]
        yield _piece(_titled(text, level), url)


def _between(line: str) -> bool:
    return not line.strip() or line.lstrip()[:1] == ">"


def _titled(lines: Sequence[str], level: int) -> Sequence[str]:
    """Give a page's lines with its title as the first level's."""
    if level == 1:
        return lines
    at = next((at for at, line in enumerate(lines) if _TITLES[level].match(line)), 0)
    return [*lines[:at], re.sub(r"^( {0,3})##", r"\1#", lines[at]), *lines[at + 1 :]]


def _titles(lines: Sequence[str], code: Sequence[bool]) -> Iterable[FullTextPage]:
    starts = [at for at, line in enumerate(lines) if not code[at] and _H1.match(line)]
    for start, end in zip(starts, [*starts, len(lines)][1:], strict=True):
        yield _piece(_without_rule(lines[start:end]), None)


def _rules(lines: Sequence[str], code: Sequence[bool]) -> Iterable[FullTextPage]:
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
    end = len(_without_blanks(lines))
    return lines[: end - 1] if end > 1 and _RULE.match(lines[end - 1]) and not lines[end - 2].strip() else lines[:end]


def _without_blanks(lines: Sequence[str]) -> Sequence[str]:
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return lines[:end]


def _without_banner(lines: Sequence[str]) -> Sequence[str]:
    """Leave out the heading between two rules that begins the next part of the whole text."""
    end = len(_without_blanks(lines))
    if end > 2 and _BAR.fullmatch(lines[end - 1].rstrip()) and lines[end - 3].rstrip() == lines[end - 1].rstrip():
        return lines[: end - 3]
    return lines


def _piece(lines: Sequence[str], url: str | None, title: str = "") -> FullTextPage:
    markdown = "\n".join(lines).strip("\n") + "\n"
    heading = next((found for line in lines if (found := re.match(r" {0,3}#{1,2}[ \t]+(.*?)[ \t#]*$", line))), None)
    return FullTextPage(title or (heading[1] if heading else ""), markdown, url)
