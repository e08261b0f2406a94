"""Text for the support check: Markdown as segments, and segments as tokens.

A segment is what can be compared with another text, such as a sentence or a row. A token is a word or a literal: a
number, a version, a flag, a path, an identifier, a URL. All functions take time linear in the length of the text,
whatever the text is: an answer may contain anything.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal
from unicodedata import normalize

from mkdocs_roaming.text.languages import base_language, fold, load_table, load_words, strip_clitics
from mkdocs_roaming.text.tokenizer import is_stop_word, stem

# Segments

_MAX_SEGMENT_CHARS = 800  # the time to compare a segment grows with the square of its length

_LETTER = re.compile(r"[^\W\d_]")
_LINE = re.compile(r"[^\n]+\n?|\n")
_QUOTE_PREFIX = re.compile(r"[ \t]*(?:>[ \t]?)+|[ \t]*")
_FENCE = re.compile(r"(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}|~{3,})")
_HEADING = re.compile(r"#{1,6}(?:[ \t]+|$)")
_LIST_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_LABEL = re.compile(r"\[!\w+\]|(?:\[\^[^\]\s]{1,40}\]|:)(?::[ \t]+|[ \t]{3})")
_TABLE_RULE = re.compile(r"[|:\- \t]+")
_BACKTICKS = re.compile("`+")
_URL_OR_TAG = re.compile(r"(?:https?://|www\.)[^\s<>()\[\]`]+|\]\([^()\s`]{0,500}\)|<[^<>\s`]{1,500}>")
_SENTENCE_END = re.compile(
    r"(?:(?<![\s.(][A-Za-z])(?<!e\.g)(?<!i\.e)(?<!z\.B)(?<!\bvs)(?<!\bcf)(?<!\bca)(?<!\betc)(?<!\bapprox)(?<!\bbzw)"
    r"(?<!\bNr)(?<!\bp\. ej)\.|[!?])[\"'”’»)*_]*(?=\s+[^\sa-z])|[。！？]"
)


@dataclass(frozen=True, slots=True)
class Segment:
    """A sentence, a heading, a table row or a line of code; `start` and `end` are character offsets."""

    kind: Literal["sentence", "heading", "row", "code"]
    start: int
    end: int


def split_segments(text: str) -> list[Segment]:
    """Return the segments of Markdown text in order."""
    return [piece for segment in _SegmentReader(text).read() for piece in _limit_length(text, segment)]


def find_sentences(text: str) -> list[tuple[int, int]]:
    """Return start and end of each sentence of a paragraph.

    Code and URLs are masked, as they may contain what looks like the end of a sentence.
    """
    masked = _URL_OR_TAG.sub(lambda match: "x" * len(match[0]), text)
    parts, last = list[str](), 0
    for start, end, _ in find_code_spans(masked):
        parts += [masked[last:start], "x" * (end - start)]
        last = end
    masked = "".join([*parts, masked[last:]])
    sentences = list[tuple[int, int]]()
    edge = 0
    for stop in [*(match.end() for match in _SENTENCE_END.finditer(masked)), len(text)]:
        piece = text[edge:stop]
        if piece.strip():
            start, end = edge + len(piece) - len(piece.lstrip()), edge + len(piece.rstrip())
            if sentences and not _LETTER.search(piece):  # a reference such as `[#12]` belongs to the sentence before
                start, _ = sentences.pop()
            sentences.append((start, end))
        edge = stop
    return sentences


def find_code_spans(text: str) -> list[tuple[int, int, int]]:
    """Return start and end of each span of inline code, and its number of backticks on each side."""
    runs = [(match.start(), match.end()) for match in _BACKTICKS.finditer(text)]
    by_length: dict[int, list[int]] = {}
    for start, end in runs:
        by_length.setdefault(end - start, []).append(start)
    spans, edge = list[tuple[int, int, int]](), 0
    for start, end in runs:
        if start < edge:
            continue
        same_length = by_length[end - start]
        closing = bisect_left(same_length, end)
        if closing < len(same_length):
            edge = same_length[closing] + end - start
            spans.append((start, edge, end - start))
    return spans


def _limit_length(text: str, segment: Segment) -> Iterator[Segment]:
    """Split a segment that exceeds the maximum length."""
    start = segment.start
    while segment.end - start > _MAX_SEGMENT_CHARS:
        space = text.rfind(" ", start + _MAX_SEGMENT_CHARS // 2, start + _MAX_SEGMENT_CHARS)
        stop = space if space > 0 else start + _MAX_SEGMENT_CHARS
        yield Segment(segment.kind, start, stop)
        start = stop + (space > 0)
    if start < segment.end:
        yield Segment(segment.kind, start, segment.end)


class _SegmentReader:
    """Reads a text line by line."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._paragraph_start: int | None = None
        self._paragraph_end = 0

    def read(self) -> Iterator[Segment]:
        fence = ""
        for line in _LINE.finditer(self._text):
            prefix = _QUOTE_PREFIX.match(line[0])
            indent = prefix.end() if prefix else 0
            body, start, end = line[0][indent:].rstrip(), line.start() + indent, line.start() + len(line[0].rstrip())
            if fence:
                closing = _FENCE.match(body)
                if closing and closing[1].startswith(fence) and not body[closing.end(1) :].strip():
                    fence = ""
                elif body:
                    yield Segment("code", start + len(body) - len(body.lstrip()), end)
                continue
            opening = _FENCE.match(body)
            if opening and not (opening[1][0] == "`" and "`" in body[opening.end(1) :]):
                yield from self._end_paragraph()
                fence = opening[1]
            else:
                yield from self._read_line(body, start, end)
        yield from self._end_paragraph()

    def _read_line(self, body: str, start: int, end: int) -> Iterator[Segment]:
        heading, item = _HEADING.match(body), _LIST_ITEM.match(body)
        if not body or heading or item or body.startswith("|") or _LABEL.match(body):
            yield from self._end_paragraph()
        if heading:
            yield Segment("heading", start + heading.end(), end)
        elif body.startswith("|"):
            if not _TABLE_RULE.fullmatch(body):
                yield Segment("row", start, end)
        elif body and not _LABEL.fullmatch(body):
            mark = item or _LABEL.match(body)
            offset = mark.end() if mark else 0
            offset += len(body[offset:]) - len(body[offset:].lstrip())
            if self._paragraph_start is None:
                self._paragraph_start = start + offset
            self._paragraph_end = end

    def _end_paragraph(self) -> Iterator[Segment]:
        if self._paragraph_start is not None:
            offset, text = self._paragraph_start, self._text[self._paragraph_start : self._paragraph_end]
            self._paragraph_start = None
            yield from (Segment("sentence", offset + start, offset + end) for start, end in find_sentences(text))


# Tokens

Kind = Literal["word", "break", "number", "version", "flag", "path", "identifier", "url"]

_GROUPED_NUMBER = re.compile(r"(-?\d{1,3}(?:[.,'’_\u00a0\u202f ]\d{3})+)((?:[.,]\d+)?)")
_CAMEL_CASE = re.compile(r"[a-z][A-Z]|[A-Z]{2,}[a-z]{2,}")
_ABBREVIATION = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")

_SCRIPTS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_SPACELESS = re.compile(f"[{_SCRIPTS}\uf900-\ufaff\U00020000-\U0003ffff]")
_SPACELESS_RUN = re.compile(f"{_SPACELESS.pattern}+|[^{_SPACELESS.pattern[1:]}+")

_URL = r"(?P<url>(?:https?|ftps?|file|wss?)://[^\s<>\"'`)\]|]+)"
_FLAG = r"(?P<flag>(?<![\w-])--?[A-Za-z](?:[\w-]*\w)?)"
_PATH = r"(?P<path>(?<![\w/.-])(?:~|\.\.?(?=/)|[$@]?(?:[\w-]|\.(?=\w))++)?(?:/(?:[\w%+~{}$@:-]|\.(?=\w))++)++/?)"
_NUMBER = (
    r"(?P<number>(?:(?<![\w)\].-])[-−](?=\d))?(?<![\w.])(?:[vV](?=\d))?"
    r"(?:\d{1,2}:\d\d(?::\d\d)?(?![\d:])|\d{4}-\d\d-\d\d(?![\d-])|\d{1,3}(?:[,'’_\u00a0\u202f]\d{3})+(?![\d.])|\d++)(?:\.\d++)*+"
    r"(?:\.[xX*](?!\w))?(?:(?<=\d)[-.]?(?:a|b|c|rc|alpha|beta|dev|post|pre)\.?\d+(?!\w))?"
    r"(?![^\W_]*[A-Za-z]\d)(?!\w{6})(?!_))"
)
_NAME = (
    r"(?P<name>[^\W\d_]++(?:['’][^\W\d_]++)+|(?:(?<![\w.)\]])[$@.](?=[^\W\d]))?"
    r"(?:\w|\\_)++(?:(?:\.|::)(?=[^\W\d])(?:\w|\\_)++)*+(?:\(\))?)"
)
_BREAK = r"(?P<break>[,;:.!?()—–\[\]{}，、；：。！？（）])"
_HYPHENATED = r"(?P<hyphenated>[^\W\d_]\w*+(?:-[^\W\d_]\w*+)++)"
_PROSE_TOKEN = re.compile("|".join([_URL, _FLAG, _PATH, _NUMBER, _NAME, _BREAK]))
_CODE_TOKEN = re.compile("|".join([_URL, _FLAG, _PATH, _NUMBER, _HYPHENATED, _NAME, _BREAK]))
_SIMPLE_TOKEN = re.compile("|".join([_FLAG, _NUMBER, _NAME, _BREAK]))


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a literal, or a punctuation mark between clauses.

    Attributes:
        kind: What it is.
        text: The text.
        start: Offset of the first character.
        key: The normalized text for comparisons.
        is_stop_word: Whether it is a stop word or a negation.
        is_code: Whether it is in inline code or a line of code.
    """

    kind: Kind
    text: str
    start: int
    key: str
    is_stop_word: bool = False
    is_code: bool = False

    @property
    def end(self) -> int:
        """Offset behind the last character."""
        return self.start + len(self.text)

    @property
    def family(self) -> str:
        """The kind of tokens that it may be confused with, `number` or `name`; empty for a word of prose."""
        if self.kind in ("number", "version"):
            return "number"
        return "name" if self.kind not in ("word", "break") or (self.is_code and self.kind == "word") else ""


def tokenize(text: str, language: str = "en", *, code: bool = False) -> list[Token]:
    """Return the tokens of a text in order; `code` if the whole text is code."""
    tokenizer = _Tokenizer(language)
    edge, tokens = 0, list[Token]()
    for start, end in [(0, len(text))] if code else [(start, end) for start, end, _ in find_code_spans(text)]:
        tokens += tokenizer.read(text[edge:start], edge, _PROSE_TOKEN)
        tokens += (replace(token, is_code=True) for token in tokenizer.read(text[start:end], start, _CODE_TOKEN))
        edge = end
    tokens += tokenizer.read(text[edge:], edge, _PROSE_TOKEN)
    return tokens


def normalize_number(text: str, thousands_separator: str = ",") -> str:
    """Return a number or version without `v` and thousands separators, with ASCII digits and minus."""
    plain = normalize("NFKC", text).replace("−", "-").lower()
    if grouped := _GROUPED_NUMBER.fullmatch(plain):
        separators = set(grouped[1]) - set("0123456789-")
        if separators == {thousands_separator} or not separators & set(".,"):
            plain = "".join(character for character in grouped[1] if character.isdecimal() or character == "-")
            plain += grouped[2]
    return plain.removeprefix("v") if "." in plain else plain


class _Tokenizer:
    """Reads the tokens of one language."""

    def __init__(self, language: str) -> None:
        self._language = base_language(language)
        self._numbers = _load_number_words(self._language)
        self._negations = load_words(self._language, "support.negations")
        self._thousands_separator = load_table(self._language, "support.thousands_separator", str) or ","

    def read(self, text: str, offset: int, pattern: re.Pattern[str]) -> Iterator[Token]:
        for match in pattern.finditer(text):
            kind, run, start = match.lastgroup, match[0], offset + match.start()
            if kind == "break":
                yield Token("break", run, start, run)
            elif kind == "number":
                is_version = "." in run.strip(".") and (run.count(".") > 1 or run[0] in "vV" or run[-1].isalpha())
                key = normalize_number(run, self._thousands_separator)
                yield Token("version" if is_version else "number", run, start, key)
            elif kind == "url":
                run = run.rstrip(".,;:!?*_")
                yield Token("url", run, start, run.rstrip("/"))
            elif kind == "flag":
                yield Token("flag", run, start, run)
            elif kind == "path":
                run = run.rstrip(".*")
                if _is_path(run):
                    yield Token("path", run, start, run)
                else:
                    yield from self.read(run, start, _SIMPLE_TOKEN)
            elif kind == "hyphenated":
                yield Token("identifier", run, start, run)
            else:
                yield from self._read_name(run, start)

    def _read_name(self, run: str, start: int) -> Iterator[Token]:
        """Yield a name as one identifier, or as words."""
        if not run.isascii() and _SPACELESS.search(run):
            for part in _SPACELESS_RUN.finditer(run):
                offset = start + part.start()
                if _SPACELESS.match(part[0]):
                    yield from (self._make_word(character, offset + at) for at, character in enumerate(part[0]))
                else:
                    yield from self.read(part[0], offset, _SIMPLE_TOKEN)
        elif run.isdecimal():
            yield Token("number", run, start, normalize_number(run))
        elif digits := self._numbers.get(fold(run)):
            yield Token("number", run, start, digits)
        elif _is_identifier(run):
            yield Token("identifier", run, start, run.replace("\\", "").removesuffix("()"))
        else:
            plain = run.strip("_")
            if plain:
                yield self._make_word(plain, start + run.index(plain))
            else:
                yield Token("break", run, start, run)

    def _make_word(self, run: str, start: int) -> Token:
        key = stem(strip_clitics(run, self._language), self._language)
        is_negation = fold(run).replace("’", "'") in self._negations
        return Token("word", run, start, key, is_negation or is_stop_word(run, self._language))


@cache
def _load_number_words(language: str) -> Mapping[str, str]:
    """Return the digits of the numbers that a language writes as words."""
    words = load_table(language, "support.number_words", str) or ""
    return {fold(word): str(number) for number, word in enumerate(words.split(), 2)}


def _is_path(run: str) -> bool:
    """Distinguish a path from alternatives such as `read/write` and from a ratio such as `1/2`."""
    if run[0] in "/~.$" or run[-1] == "/":
        return len(run) > 1
    parts = run.split("/")
    if all(part.replace(".", "").isdigit() for part in parts):
        return False
    return len(parts) > 2 or any(_is_identifier(part) or "-" in part for part in parts)


def _is_identifier(run: str) -> bool:
    """Distinguish an identifier, which has only one spelling, from a word."""
    if run.isalpha():
        return bool(_CAMEL_CASE.search(run))
    if _ABBREVIATION.fullmatch(run) or "'" in run or "’" in run:
        return False
    return run.startswith("__") or (run[0] == "_") != (run[-1] == "_") or not run.strip("_").isalpha()
