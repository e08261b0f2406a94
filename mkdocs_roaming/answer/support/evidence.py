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
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal
from unicodedata import normalize

from mkdocs_roaming.text.blocks import Block, find_code_spans, line_offsets, parse_blocks
from mkdocs_roaming.text.languages import load_table
from mkdocs_roaming.text.tokenizer import is_stop_word, stem

MAX_PASSAGE_CHARS = 240

# Segments

_PIECE = re.compile(r"\S[\s\S]{0,798}(?=\s|\Z)|\S{1,800}")
"""A part of a segment: some comparisons take time that grows with the square of a segment's length."""

_PROMPT = "> \t"
"""Characters of prompts before a line of code, such as `>>> `."""
_PUNCTUATION_OF_INFO = str.maketrans("{},", "   ")
_NOT_PROGRAMS = frozenset({
    "", "bash", "cfg", "conf", "console", "dockerfile", "dotenv", "env", "http", "ini", "json", "json5", "jsonc",
    "powershell", "properties", "ps1", "sh", "shell", "text", "toml", "txt", "xml", "yaml", "yml", "zsh",
})  # read in columns  # fmt: skip
_LABEL = re.compile(r"\[!\w+\]|\[[ xX]\][ \t]+|(?:\[\^[^\]\s]{1,40}\]|:)(?::[ \t]+|[ \t]{3})")
"""What stands before the text of a line and is none of it, in extensions of CommonMark: `[!NOTE]`, `[x] ` of a task,
`[^1]: ` of a footnote, `:   ` of a definition."""
_SENTENCE_END = re.compile(
    r"(?:(?<![\s.(][A-Za-z])(?<!e\.g)(?<!i\.e)(?<!z\.B)(?<!\bvs)(?<!\bcf)(?<!\bca)(?<!\betc)(?<!\bapprox)(?<!\bbzw)"
    r"(?<!\bNr)(?<!\bp\. ej)\.|[!?])[\"'”’»)*_]*(?=\s+[^\sa-z])|[。！？]"
)
"""The end of a sentence that another one follows: `it. *Then*`, but not `e.g. Linux`."""

Kind = Literal["sentence", "heading", "row", "code"]


@dataclass(frozen=True, slots=True)
class Segment:
    """A sentence, a heading, a table row or a line of code; `start` and `end` are character offsets.

    `language` is the language of a code block.
    """

    kind: Kind
    start: int
    end: int
    language: str = ""

    @property
    def is_program(self) -> bool:
        """Whether it is a line of a programming language, in which a writer names things freely."""
        return self.kind == "code" and self.language not in _NOT_PROGRAMS


def split_segments(text: str) -> list[Segment]:
    """Return the segments of Markdown text in order; long ones are split."""
    segments: list[Segment] = []
    offsets = line_offsets(text)
    for block in parse_blocks(text).walk():
        whole: Iterable[Segment] = ()
        match block.kind:
            case "fence" | "code":
                whole = _read_code(text, offsets, block)
            case "heading":
                start, end = _strip(text, offsets[block.start], offsets[block.start + 1], "# \t")
                whole = [Segment("heading", start, end)]
            case "row" if block.text.strip():
                whole = [Segment("row", *_strip(text, offsets[block.start], offsets[block.end], " \t>"))]
            case "paragraph" | "html":
                whole = _read_paragraph(text, offsets, block)
        for segment in whole:
            pieces = _PIECE.finditer(text, segment.start, segment.end)
            segments += (Segment(segment.kind, *piece.span(), segment.language) for piece in pieces)
    return segments


def mask_code(text: str, filler: str = " ") -> str:
    """Return a text in which a character replaces each of inline code; lines stay lines."""
    parts: list[str] = []
    last = 0
    for start, end, _ in find_code_spans(text):
        masked = (filler * len(line) for line in text[start:end].split("\n"))
        parts += [text[last:start], "\n".join(masked)]
        last = end
    return "".join([*parts, text[last:]])


def _read_code(text: str, offsets: list[int], block: Block) -> Iterator[Segment]:
    """Yield the lines of code that are not blank."""
    words = block.info.translate(_PUNCTUATION_OF_INFO).split()
    language = words[0].lstrip(".").lower() if words else ""
    first = block.start + (block.kind == "fence")
    for number, line in zip(range(first, block.end), block.text.split("\n"), strict=False):
        if code := line.strip().lstrip(_PROMPT):
            end = _strip(text, offsets[number], offsets[number + 1])[1]
            yield Segment("code", end - len(code), end, language)


def _read_paragraph(text: str, offsets: list[int], block: Block) -> Iterator[Segment]:
    """Yield the sentences of a paragraph, in which a label such as `[!NOTE]` begins another one."""
    start = end = 0
    for number, line in zip(range(block.start, block.end), block.text.split("\n"), strict=False):
        body = line.strip()
        label = _LABEL.match(body)
        if label and start < end:
            yield from _split_paragraph(text, start, end)
            start = end
        line_end = _strip(text, offsets[number], offsets[number + 1])[1]
        if start == end:
            content = body[label.end() :].lstrip() if label else body
            start = line_end - len(content)
        end = line_end
    if start < end:
        yield from _split_paragraph(text, start, end)


def _strip(text: str, start: int, end: int, leading: str = " \t") -> tuple[int, int]:
    """Return start and end of a line without white space at its end, and characters at its beginning."""
    line = text[start:end].rstrip()
    end = start + len(line)
    return end - len(line.lstrip(leading)), end


def _split_paragraph(text: str, start: int, end: int) -> Iterator[Segment]:
    """Yield the sentences of a paragraph; code is masked, as it may contain what looks like the end of a sentence."""
    ends = (start + match.end() for match in _SENTENCE_END.finditer(mask_code(text[start:end], "x")))
    for first, last in pairwise([start, *ends, end]):
        sentence = text[first:last]
        if sentence.strip():
            yield Segment("sentence", last - len(sentence.lstrip()), first + len(sentence.rstrip()))


# Words and numbers

_QUOTES_AND_DASHES = str.maketrans(
    {
        **dict.fromkeys("’‘‛´", "'"),
        **dict.fromkeys("“”„‟«»", '"'),
        **dict.fromkeys("–—‑‐−", "-"),
    }
)
_ESCAPE = re.compile(r"\\([^\w\s])")
"""A backslash before punctuation, as in `\\*`."""
_NUMBER = re.compile(r"(?<![\d.])[0-9]+(?:[._,][0-9]+)*")
"""A number or a version: `8080`, `1,024`, `2_28`, `3.12.1`."""
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:[,_][0-9]{3})+")
"""A number with separators: `1,024`, but not `2_28`."""
_MAX_VERSION_PARTS = 5
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
"""A word of letters: `server`, `doesn't`."""


def normalize_text(text: str) -> str:
    """Return text in the form in which it is compared."""
    text = normalize("NFKC", text).translate(_QUOTES_AND_DASHES).casefold()
    return " ".join(_ESCAPE.sub(r"\1", text).split())


def find_words(text: str) -> Iterator[str]:
    """Yield the words of letters in a text, contractions as one word."""
    return (match[0] for match in _WORD.finditer(text))


def find_numbers(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the numbers and versions of a text in normal form, with start and end."""
    for match in _NUMBER.finditer(text):
        separator = "" if _THOUSANDS.fullmatch(match[0]) else "."
        yield match[0].replace(",", separator).replace("_", separator), match.start(), match.end()


def find_content(text: str, language: str) -> set[str]:
    """Return the stems of a text's words without stop words, and its numbers."""
    normal = normalize_text(text)
    content = {number for number, _, _ in find_numbers(normal)}
    for word in find_words(normal):
        if len(word) > 1 and not is_stop_word(word, language):
            content.add(stem(word, language))
    return content


# Evidence

_IMPORT = re.compile(r"\s*(?:from|import|use|using|require)\b")
"""The beginning of a line that imports: `from httpx import Client`."""
_OWN_NAME = re.compile(r"(?<![.\w])[A-Za-z_]\w*(?!\w|=[^=])")
"""A name in a program, but neither an attribute (`.name`) nor a keyword argument (`name=1`)."""
_OPTION_WITH_NUMBER = re.compile(r"(?<![\w-])(?:--?[a-zA-Z][\w-]*[ =]|[A-Z][A-Z0-9_]+=)([0-9]+(?:\.[0-9]+)*)(?![\w.])")
"""An option or a variable with a number: `--port 8001`, `WORKERS=4`."""
_PLAIN_NAME = re.compile(r"\w+")
_NAME_WITH_ENDING = re.compile(r"(?<= )([^\W\d_]++)\.")
"""The beginning of a file's name and the like in code: `config.` of `config.toml`."""
_FOLLOWER = re.compile(r"(?<![\w-])([a-z][\w-]*) (?=([a-z][\w-]*))")
"""A word and the one after it: `uv` and `sync`."""
_LINE_OF_CODE = " ¶ "  # keeps the words of two lines apart
_MAX_OCCURRENCES = 1_000
_MAX_STATEMENTS_OF_WORD = 200
_WEIGHT_OF_WORD = 840_000
"""Weight of a word that no statement has; that of another is divided by their number, which is exact for a few."""


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
        self._statements: list[Statement] = []
        self._positions: dict[str, list[int]] = {}
        for id_, text in sections.items():
            for segment in split_segments(text):
                if segment.kind == "heading":
                    continue
                words = find_content(text[segment.start : segment.end], language)
                for word in words:
                    self._positions.setdefault(word, []).append(len(self._statements))
                self._statements.append(Statement(id_, text, segment, words))

    def find_nearest(self, text: str) -> Statement | None:
        """Return the statement that shares most with a text; rare words count most, then short statements."""
        scores = Counter[int]()
        for word in find_content(text, self.language):
            positions = self._positions.get(word, [])
            if len(positions) <= _MAX_STATEMENTS_OF_WORD:
                weight = _WEIGHT_OF_WORD // (1 + len(positions))
                scores.update(dict.fromkeys(positions, weight))
        if not scores:
            return None
        best = max(scores, key=lambda position: (scores[position], -len(self._statements[position].words), -position))
        return self._statements[best]


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
        own_names: The names that programs in the answer choose: all but attributes, keyword arguments and imports.
    """

    def __init__(self, sections: Mapping[str, str], question: str, language: str, answer: str = "") -> None:
        """Prepare the sections, by id, the questions of the conversation, and the answer."""
        self._language = language
        self._question = normalize_text(question)
        self._known: dict[str, bool] = {}
        self._scans = 0

        bodies = [normalize_text(text) for text in sections.values()]
        without_backticks = [body.replace("`", "") for body in bodies]
        self.text = _LINE_OF_CODE.join([*bodies, *without_backticks, self._question])
        words = set(find_words(self.text))
        self.words = {stem(word, language) for word in words}
        self.question_words = {stem(word, language) for word in find_words(self._question)}
        number_words = (load_table(language, "support.number_words", str) or "").split()  # two, three …
        self.numbers = {str(number) for number, word in enumerate(number_words, 2) if word in words}
        for number, _, _ in find_numbers(self.text):
            parts = number.split(".", _MAX_VERSION_PARTS)
            beginnings = (".".join(parts[:length]) for length in range(2, len(parts)))  # 3.12 of 3.12.1
            self.numbers.update((number, *beginnings))

        lines = (normalize_text(line) for text in sections.values() for line in _find_code(text))
        code = _LINE_OF_CODE.join(lines)
        self.names_with_ending = set(_NAME_WITH_ENDING.findall(code))
        self.code_words = set(_PLAIN_NAME.findall(code))
        self.followers: dict[str, set[str]] = {}
        for word, follower in _FOLLOWER.findall(code):
            self.followers.setdefault(word, set()).add(follower)

        self.chosen_numbers = set(_OPTION_WITH_NUMBER.findall("\n".join(_find_code(answer))))
        self.own_names: set[str] = set()
        for segment in split_segments(answer):
            line = answer[segment.start : segment.end]
            if segment.is_program and not _IMPORT.match(line):
                self.own_names.update(normalize_text(name[0]) for name in _OWN_NAME.finditer(line))

    def contains(self, name: str) -> bool:
        """Return whether a name occurs, not only as a part of a longer one."""
        name = normalize_text(name)
        if name not in self._known:
            literal = re.escape(name)
            is_begun = name[:1].isalnum() or name[:1] == "-"
            before = rf"(?<![\w-]{literal})" if is_begun else ""  # behind it: that is faster
            after = r"(?!\w)" if name[-1:].isalnum() else ""
            self._known[name] = bool(name) and self.matches(literal + before + after)
        return self._known[name]

    def quotes(self, text: str) -> bool:
        """Return whether a text occurs anywhere, also as a part of words."""
        return self._is_exhausted() or normalize_text(text) in self.text

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


def _find_code(text: str) -> Iterator[str]:
    """Yield the lines of code blocks, and inline code."""
    for segment in split_segments(text):
        line = text[segment.start : segment.end]
        if segment.kind == "code":
            yield line
        else:
            yield from (line[start + ticks : end - ticks] for start, end, ticks in find_code_spans(line))
