"""The text that may support an answer, prepared for lookups: opened sections, and the reader's questions.

Markdown is split into segments. Everything is compared in one normal form: quotes, dashes, case, white space and
Markdown's backslashes do not matter, and `2_28` in a name is the number 2.28.

Answers and sections may contain anything, so all functions take time linear in the length of a text. A lookup takes at
most one pass over the text or, for statements, a constant number of steps for each word.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal
from unicodedata import normalize

from mkdocs_roaming.text.blocks import find_code_spans, find_fences
from mkdocs_roaming.text.languages import load_table
from mkdocs_roaming.text.tokenizer import is_stop_word, stem

MAX_PASSAGE_CHARS = 240

# Segments

_PIECE = re.compile(r"\S[\s\S]{0,798}(?=\s|\Z)|\S{1,800}")
"""A part of a segment: some comparisons take time that grows with the square of a segment's length."""

_LINE = re.compile(r"[^\n]+\n?|\n")
_QUOTE_PREFIX = re.compile(r"[ \t]*(?:>[ \t]?)+|[ \t]*")
_FENCE_LANGUAGE = re.compile(r"^\{?\s*\.?|[\s{},].*$", re.DOTALL)
_NOT_PROGRAMS = frozenset({
    "", "bash", "cfg", "conf", "console", "dockerfile", "dotenv", "env", "http", "ini", "json", "json5", "jsonc",
    "powershell", "properties", "ps1", "sh", "shell", "text", "toml", "txt", "xml", "yaml", "yml", "zsh",
})  # read in columns  # fmt: skip
_HEADING = re.compile(r"#{1,6}(?:[ \t]+|$)")
_LIST_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_LABEL = re.compile(r"\[!\w+\]|(?:\[\^[^\]\s]{1,40}\]|:)(?::[ \t]+|[ \t]{3})")
_TABLE_RULE = re.compile(r"[|:\- \t]+")
_NO_LINE_END = re.compile(r"[^\n]")
_SENTENCE_END = re.compile(
    r"(?:(?<![\s.(][A-Za-z])(?<!e\.g)(?<!i\.e)(?<!z\.B)(?<!\bvs)(?<!\bcf)(?<!\bca)(?<!\betc)(?<!\bapprox)(?<!\bbzw)"
    r"(?<!\bNr)(?<!\bp\. ej)\.|[!?])[\"'”’»)*_]*(?=\s+[^\sa-z])|[。！？]"
)


@dataclass(frozen=True, slots=True)
class Segment:
    """A sentence, a heading, a table row or a line of code; `start` and `end` are character offsets.

    `language` is the language of a code block.
    """

    kind: Literal["sentence", "heading", "row", "code"]
    start: int
    end: int
    language: str = ""

    @property
    def is_program(self) -> bool:
        """Whether it is a line of a programming language, in which a writer names things freely."""
        return self.kind == "code" and self.language not in _NOT_PROGRAMS


def split_segments(text: str) -> list[Segment]:
    """Return the segments of Markdown text in order; long ones are split."""
    return [
        replace(segment, start=piece.start(), end=piece.end())
        for segment in _read_segments(text)
        for piece in _PIECE.finditer(text, segment.start, segment.end)
    ]


def mask_code(text: str, filler: str = " ") -> str:
    """Return a text in which a character replaces each of inline code; lines stay lines."""
    parts = list[str]()
    last = 0
    for start, end, _ in find_code_spans(text):
        parts += [text[last:start], _NO_LINE_END.sub(filler, text[start:end])]
        last = end
    return "".join([*parts, text[last:]])


def _read_segments(text: str) -> Iterator[Segment]:
    """Yield the segments of a text, which is read line by line."""
    code = {number: block for block in find_fences(text.replace("\r", " ")) for number in range(block.start, block.end)}
    paragraph: list[int] = []  # start of the first line, and ends of all lines
    for number, line in enumerate(_LINE.finditer(text)):
        prefix = _QUOTE_PREFIX.match(line[0])
        start = line.start() + (prefix.end() if prefix else 0)
        end = line.start() + len(line[0].rstrip())
        body = text[start:end]
        block = code.get(number)
        heading = _HEADING.match(body)
        mark = _LIST_ITEM.match(body) or _LABEL.match(body)
        is_text = block is None and body and not heading and not body.startswith("|")
        if paragraph and (mark or not is_text):
            yield from _split_paragraph(text, paragraph[0], paragraph[-1])
            paragraph = []
        if is_text and not _LABEL.fullmatch(body):
            content = body[mark.end() if mark else 0 :].lstrip()
            paragraph += (end - len(content), end)
        elif block and block.start < number < block.code_end and body:
            yield Segment("code", end - len(body.lstrip()), end, _FENCE_LANGUAGE.sub("", block.info).lower())
        elif heading and block is None:
            yield Segment("heading", start + heading.end(), end)
        elif body.startswith("|") and block is None and not _TABLE_RULE.fullmatch(body):
            yield Segment("row", start, end)
    if paragraph:
        yield from _split_paragraph(text, paragraph[0], paragraph[-1])


def _split_paragraph(text: str, start: int, end: int) -> Iterator[Segment]:
    """Yield the sentences of a paragraph; code is masked, as it may contain what looks like the end of a sentence."""
    ends = (start + match.end() for match in _SENTENCE_END.finditer(mask_code(text[start:end], "x")))
    for first, last in pairwise([start, *ends, end]):
        if text[first:last].strip():
            yield Segment("sentence", last - len(text[first:last].lstrip()), first + len(text[first:last].rstrip()))


# Words and numbers

_QUOTES_AND_DASHES = str.maketrans(
    {
        **dict.fromkeys("’‘‛´", "'"),
        **dict.fromkeys("“”„‟«»", '"'),
        **dict.fromkeys("–—‑‐−", "-"),
    }
)
_WHITE_SPACE = re.compile(r"\s+")
_ESCAPE = re.compile(r"\\([^\w\s])")
_NUMBER = re.compile(r"(?<![\d.])[0-9]+(?:[._,][0-9]+)*")
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:[,_][0-9]{3})+")
_MAX_VERSION_PARTS = 5
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")


def normalize_text(text: str) -> str:
    """Return text in the form in which it is compared."""
    text = normalize("NFKC", text).translate(_QUOTES_AND_DASHES).casefold()
    return _WHITE_SPACE.sub(" ", _ESCAPE.sub(r"\1", text))


def find_words(text: str) -> Iterator[str]:
    """Yield the words of letters in a text, contractions as one word."""
    return (match[0] for match in _WORD.finditer(text))


def find_numbers(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the numbers and versions of a text in normal form, with start and end."""
    for match in _NUMBER.finditer(text):
        yield _normalize_number(match[0]), match.start(), match.end()


def find_content(text: str, language: str) -> set[str]:
    """Return the stems of a text's words without stop words, and its numbers."""
    normal = normalize_text(text)
    words = (word for word in find_words(normal) if len(word) > 1 and not is_stop_word(word, language))
    return {*(stem(word, language) for word in words), *(number for number, _, _ in find_numbers(normal))}


def _normalize_number(text: str) -> str:
    return re.sub(r"[,_]", "" if _THOUSANDS.fullmatch(text) else ".", text)


def _load_number_words(language: str) -> dict[str, str]:
    """Return the digits of the numbers that a language writes as words: `two` → `2`."""
    words = (load_table(language, "support.number_words", str) or "").split()
    return {word: str(number) for number, word in enumerate(words, 2)}


# Evidence

_IMPORT = re.compile(r"\s*(?:from|import|use|using|require)\b")
_OWN_NAME = re.compile(r"(?<![.\w])[A-Za-z_]\w*(?!\w|=[^=])")
_OPTION_WITH_NUMBER = re.compile(r"(?<![\w-])(?:--?[a-zA-Z][\w-]*[ =]|[A-Z][A-Z0-9_]+=)([0-9]+(?:\.[0-9]+)*)(?![\w.])")
_PLAIN_NAME = re.compile(r"\w+")
_FOLLOWER = re.compile(r"(?<![\w-])([a-z][\w-]*) (?=([a-z][\w-]*))")
_LINE_OF_CODE = " ¶ "  # keeps the words of two lines apart
_MAX_OCCURRENCES = 1_000
_MAX_STATEMENTS_OF_WORD = 200


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence, row or line of code of a section.

    Attributes:
        section: Id of the section.
        text: The section's text.
        segment: The place of the statement in it.
        words: What `find_content` finds in it.
    """

    section: str
    text: str
    segment: Segment
    words: set[str]

    @property
    def body(self) -> str:
        """The Markdown of the statement."""
        return self.text[self.segment.start : self.segment.end]


class StatementIndex:
    """The statements of sections, found by their words."""

    def __init__(self, sections: Mapping[str, str], language: str) -> None:
        """Read sections by id; headings are no statements."""
        self.language = language
        self._statements = [
            Statement(id_, text, segment, find_content(text[segment.start : segment.end], language))
            for id_, text in sections.items()
            for segment in split_segments(text)
            if segment.kind != "heading"
        ]
        self._positions: dict[str, list[int]] = {}
        for position, statement in enumerate(self._statements):
            for word in statement.words:
                self._positions.setdefault(word, []).append(position)

    def find_nearest(self, text: str) -> Statement | None:
        """Return the statement that shares most with a text; rare words count most, then short statements."""
        scores = Counter[int]()
        for word in sorted(find_content(text, self.language)):
            positions = self._positions.get(word, [])
            if len(positions) <= _MAX_STATEMENTS_OF_WORD:
                scores.update(dict.fromkeys(positions, 840_000 // (1 + len(positions))))
        found = [(score, -len(self._statements[position].words), -position) for position, score in scores.items()]
        return self._statements[-max(found)[2]] if found else None


class Evidence:
    """Sections, questions and the answer's own examples, prepared for lookups.

    Attributes:
        text: All sections and questions in normal form, with and without backticks.
        words: The stems of all words.
        question_words: The stems of the questions' words.
        numbers: All numbers, in digits, and the beginnings of versions.
        code_words: The words of the code.
        names_with_ending: The words before a dot in code, as in file names.
        followers: The words that follow a word in code.
        chosen_numbers: The numbers that the answer's code gives to an option or a variable: its writer chooses them.
        own_names: The names that programs in the answer choose.
    """

    def __init__(self, sections: Mapping[str, str], question: str, language: str, answer: str = "") -> None:
        """Prepare the sections, by id, the questions of the conversation, and the answer."""
        self._language = language
        self._question = normalize_text(question)
        self._known: dict[str, bool] = {}
        self._scans = 0
        self._read_text(sections.values())
        self._read_code(_LINE_OF_CODE.join(normalize_text(line) for text in sections.values() for line in _code(text)))
        self.chosen_numbers = set(_OPTION_WITH_NUMBER.findall("\n".join(_code(answer))))
        self.own_names = set(_find_own_names(answer))

    def contains(self, name: str) -> bool:
        """Return whether a name occurs, not only as a part of a longer one."""
        name = normalize_text(name).strip()
        if name not in self._known:
            literal = re.escape(name)
            before = (
                rf"(?<![\w-]{literal})" if name[:1].isalnum() or name[:1] == "-" else ""
            )  # behind it: that is faster
            after = r"(?!\w)" if name[-1:].isalnum() else ""
            self._known[name] = bool(name) and self.matches(literal + before + after)
        return self._known[name]

    def quotes(self, text: str) -> bool:
        """Return whether a text occurs anywhere, also as a part of words."""
        return self._is_exhausted() or normalize_text(text).strip() in self.text

    def matches(self, pattern: str) -> bool:
        """Return whether a pattern occurs."""
        return self._is_exhausted() or re.search(pattern, self.text) is not None

    def _is_exhausted(self) -> bool:
        """Count a pass over the text. After very many, which no answer needs, everything counts as found."""
        self._scans += 1
        return self._scans > _MAX_OCCURRENCES

    def has_word(self, word: str) -> bool:
        """Return whether a word occurs in any inflection."""
        return stem(word, self._language) in self.words

    def is_asked(self, text: str) -> bool:
        """Return whether a question contains a text."""
        return normalize_text(text) in self._question

    def _read_text(self, texts: Iterable[str]) -> None:
        bodies = [normalize_text(text) for text in texts]
        without_backticks = [body.replace("`", "") for body in bodies]
        self.text = _LINE_OF_CODE.join([*bodies, *without_backticks, self._question])
        self.words = {stem(word, self._language) for word in find_words(self.text)}
        self.question_words = {stem(word, self._language) for word in find_words(self._question)}
        number_words = _load_number_words(self._language)
        self.numbers = {number_words[word] for word in find_words(self.text) if word in number_words}
        for match in _NUMBER.finditer(self.text):
            number = _normalize_number(match[0])
            parts = number.split(".", _MAX_VERSION_PARTS)
            self.numbers |= {number, *(".".join(parts[:length]) for length in range(2, len(parts)))}  # 3.12 of 3.12.1

    def _read_code(self, code: str) -> None:
        self.names_with_ending = set(re.findall(r"(?<= )([^\W\d_]++)\.", code))
        self.code_words = set(_PLAIN_NAME.findall(code))
        self.followers: dict[str, set[str]] = {}
        for word, follower in _FOLLOWER.findall(code):
            self.followers.setdefault(word, set()).add(follower)


def _find_own_names(text: str) -> Iterator[str]:
    """Yield the names that the programs of a text choose: all but attributes, keyword arguments and imports."""
    for segment in split_segments(text):
        line = text[segment.start : segment.end]
        if segment.is_program and not _IMPORT.match(line):
            yield from (normalize_text(name[0]) for name in _OWN_NAME.finditer(line))


def _code(text: str) -> Iterator[str]:
    """Yield the lines of code blocks, and inline code."""
    for segment in split_segments(text):
        body = text[segment.start : segment.end]
        if segment.kind == "code":
            yield body
        else:
            yield from (body[start + ticks : end - ticks] for start, end, ticks in find_code_spans(body))
