"""A text of Markdown as sentences: what can be compared, one by one, with what another text says.

Reads line by line and in time that grows with the text alone, whatever the text is: an answer may come from anyone.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Stretch:
    """A sentence, a heading, a row of a table or a line of code: `start` and `end` are character offsets."""

    kind: Literal["sentence", "heading", "row", "code"]
    start: int
    end: int


def sentences(text: str) -> list[Stretch]:
    """Give the sentences of a text in its order, and its headings, rows of tables and lines of fenced code."""
    return [piece for stretch in _Reading(text).stretches() for piece in _cut(text, stretch)]


def code_spans(text: str) -> list[tuple[int, int, int]]:
    """Give inline code: where each span starts, where it ends, and how many backticks enclose it."""
    runs = [(match.start(), match.end()) for match in _BACKTICKS.finditer(text)]
    by_length: dict[int, list[int]] = {}
    for start, end in runs:
        by_length.setdefault(end - start, []).append(start)
    found, edge = list[tuple[int, int, int]](), 0
    for start, end in runs:
        if start < edge:
            continue
        alike = by_length[end - start]
        closing = bisect_left(alike, end)
        if closing < len(alike):
            edge = alike[closing] + end - start
            found.append((start, edge, end - start))
    return found


def _cut(text: str, stretch: Stretch) -> Iterator[Stretch]:
    """Cut what is longer than sentences are: the work on one grows with its square."""
    start = stretch.start
    while stretch.end - start > _LONGEST:
        space = text.rfind(" ", start + _LONGEST // 2, start + _LONGEST)
        stop = space if space > 0 else start + _LONGEST
        yield Stretch(stretch.kind, start, stop)
        start = stop + (space > 0)
    if start < stretch.end:
        yield Stretch(stretch.kind, start, stretch.end)


_LONGEST = 800


class _Reading:
    """One pass over the lines of a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._begun: int | None = None  # where the paragraph starts that is being read
        self._end = 0

    def stretches(self) -> Iterator[Stretch]:
        fence = ""
        for line in _LINE.finditer(self._text):
            prefix = _QUOTED.match(line[0])
            lead = prefix.end() if prefix else 0
            body, start, end = line[0][lead:].rstrip(), line.start() + lead, line.start() + len(line[0].rstrip())
            if fence:
                closing = _FENCE.match(body)
                if closing and closing[1].startswith(fence) and not body[closing.end(1) :].strip():
                    fence = ""
                elif body:
                    yield Stretch("code", start + len(body) - len(body.lstrip()), end)
                continue
            opening = _FENCE.match(body)
            if opening and not (opening[1][0] == "`" and "`" in body[opening.end(1) :]):
                yield from self._paragraph()
                fence = opening[1]
            else:
                yield from self._line(body, start, end)
        yield from self._paragraph()

    def _line(self, body: str, start: int, end: int) -> Iterator[Stretch]:
        heading, item = _HEADING.match(body), _ITEM.match(body)
        if not body or heading or item or body.startswith("|") or _LABEL.match(body):
            yield from self._paragraph()
        if heading:
            yield Stretch("heading", start + heading.end(), end)
        elif body.startswith("|"):
            if not _RULER.fullmatch(body):
                yield Stretch("row", start, end)
        elif body and not _LABEL.fullmatch(body):
            mark = item or _LABEL.match(body)
            at = mark.end() if mark else 0
            at += len(body[at:]) - len(body[at:].lstrip())
            if self._begun is None:
                self._begun = start + at
            self._end = end

    def _paragraph(self) -> Iterator[Stretch]:
        """Cut the paragraph that has been read into sentences; code and addresses hide what looks like their end."""
        if self._begun is None:
            return
        begun, text = self._begun, self._text[self._begun : self._end]
        self._begun = None
        hidden = _ADDRESS.sub(lambda match: "x" * len(match[0]), text)
        parts, last = list[str](), 0
        for start, end, _ in code_spans(hidden):
            parts += [hidden[last:start], "x" * (end - start)]
            last = end
        hidden = "".join([*parts, hidden[last:]])
        stops = [*(match.end() for match in _SENTENCE_END.finditer(hidden)), len(text)]
        edge, cut = 0, list[tuple[int, int]]()
        for stop in stops:
            piece = text[edge:stop]
            if piece.strip():
                span = edge + len(piece) - len(piece.lstrip()), edge + len(piece.rstrip())
                if cut and not _LETTER.search(piece):  # `[#12]` says something about what stands before it
                    cut[-1] = cut[-1][0], span[1]
                else:
                    cut.append(span)
            edge = stop
        yield from (Stretch("sentence", begun + start, begun + end) for start, end in cut)


_LETTER = re.compile(r"[^\W\d_]")
_LINE = re.compile(r"[^\n]+\n?|\n")
_QUOTED = re.compile(r"[ \t]*(?:>[ \t]?)+|[ \t]*")
_FENCE = re.compile(r"(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}|~{3,})")
_HEADING = re.compile(r"#{1,6}(?:[ \t]+|$)")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_LABEL = re.compile(r"\[!\w+\]|(?:\[\^[^\]\s]{1,40}\]|:)(?::[ \t]+|[ \t]{3})")
_RULER = re.compile(r"[|:\- \t]+")
_BACKTICKS = re.compile("`+")
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>()\[\]`]+|\]\([^()\s`]{0,500}\)|<[^<>\s`]{1,500}>")
_SENTENCE_END = re.compile(
    r"(?:(?<![\s.(][A-Za-z])(?<!e\.g)(?<!i\.e)(?<!z\.B)(?<!\bvs)(?<!\bcf)(?<!\bca)(?<!\betc)(?<!\bapprox)(?<!\bbzw)"
    r"(?<!\bNr)(?<!\bp\. ej)\.|[!?])[\"'”’»)*_]*(?=\s+[^\sa-z])|[。！？]"
)
