"""Text that is written for language models instead of readers: instructions, hidden text, links that carry data away.

The patterns are data: the table `[injection]` in `data/<language>.toml`. `find_instructions` finds what is an
instruction in any context; lint reports it to authors. `scan_markdown` also adds up signals that are harmless alone,
and includes code and quotations, which a model reads too; the crawler applies it to sites of others.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate, chain
from typing import Literal

import msgspec
from msgspec import structs

from mkdocs_roaming.text.blocks import follow_fence
from mkdocs_roaming.text.languages import available_languages, load_table
from mkdocs_roaming.text.markdown import FLAG

Kind = Literal["instruction", "hidden", "invisible", "exfiltration"]
"""An instruction to a model; one that readers do not see; characters that are invisible or change the visible order; a
request to complete the address of a link or an image with data."""
Severity = Literal["low", "high"]
"""Text that is addressed to models, and text that asks them to act: to run, install, send, change or hide something."""

_THRESHOLD = 3
_HIDDEN_THRESHOLD = 2
"""Sums of weights from which a passage is reported, and one that readers do not see."""
_MAX_HINTS = 2
_MAX_MENTIONS = 3
"""Number of words for models on a page that is about something else."""
_MAX_QUOTE = 80
_MAX_PASSAGE = 320
_MAX_REPORT = 60
"""Characters before an instruction in which the verb is that reports it."""


class Signal(msgspec.Struct, frozen=True):
    """Patterns of an instruction to a model, or of what suggests one; the weights of several signals add up.

    For speed they are only searched in texts that contain one of `words`, which are in lower case; a word that begins
    with a space begins a word of the text. Code is full of prompts: only signals with `code` are searched there. Pages
    about models say what models should do: signals that are `off_topic` are only searched on other pages.
    """

    patterns: tuple[str, ...]
    name: str = ""
    weight: int = 1
    words: tuple[str, ...] = ()
    severity: Severity = "high"
    code: bool = False
    off_topic: bool = False


class InjectionWords(msgspec.Struct, frozen=True):
    """The table `[injection]` of a language in `text/data`.

    Attributes:
        topics: Patterns of texts about prompt injection.
        models: Words for models, which pages about models repeat.
        instructions: What is an instruction in any context; weights do not count.
        names: Patterns by the names that other patterns contain, such as <ai>.
        signals: What suggests an instruction.
        hints: What counts only next to signals.
    """

    topics: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    instructions: tuple[Signal, ...] = ()
    names: Mapping[str, str] = {}
    signals: tuple[Signal, ...] = ()
    hints: tuple[Signal, ...] = ()


@dataclass(frozen=True, slots=True)
class InjectedText:
    """Text that seems to be written for language models.

    Attributes:
        kind: What it is.
        line: Its line, counted from 0.
        quote: The beginning of the text; for characters, their names.
        severity: Whether it asks a model to act.
    """

    kind: Kind
    line: int
    quote: str
    severity: Severity = "low"


def scan_markdown(markdown: str) -> list[InjectedText]:
    """Return what in a page's Markdown seems to be written for language models, in the order of the text."""
    lines = markdown.split("\n")
    injected: list[InjectedText] = []
    for number, line in enumerate(lines):
        for kind, description in find_invisible(line, is_first_line=number == 0):
            severity: Severity = "high" if kind in _CARRYING_TEXT else "low"
            injected.append(InjectedText("invisible", number, description, severity))
    end = -1
    passages = list(_split_passages(lines))
    patterns = _select_patterns([passage.text for passage in passages])
    for passage, possible in zip(passages, patterns, strict=True):
        # The parts of a paragraph overlap.
        if passage.line > end and (judged := _judge(passage, possible)):
            end = passage.end
            injected.append(judged)
    return sorted(injected, key=lambda text: text.line)


def scan_hidden_texts(texts: Iterable[str]) -> list[InjectedText]:
    """Return which of the texts that a page does not show to readers seem to be written for language models."""
    numbered: list[tuple[int, _Passage]] = []
    for number, text in enumerate(dict.fromkeys(texts)):
        numbered += ((number, passage) for passage in _make_passages([text], 0, is_hidden=True))
    patterns = _select_patterns([passage.text for _, passage in numbered], is_hidden=True)
    injected: dict[int, InjectedText] = {}
    for (number, passage), possible in zip(numbered, patterns, strict=True):
        if number not in injected and (judged := _judge(passage, possible)):
            injected[number] = judged
    return list(injected.values())


def find_instructions(text: str) -> list[re.Match[str]]:
    """Return the instructions to a model in a text, in the order of the text."""
    (patterns,) = _select_patterns([text])
    return [match for match, _ in _match_instructions(text, patterns.instructions)]


def explains_injection(text: str) -> bool:
    """Return whether a text is about prompt injection, so that it may quote instructions."""
    return _topics().search(text) is not None


def is_reported_speech(prose: str, match: re.Match[str]) -> bool:
    """Return whether a sentence says what a model does: “make the model ignore previous instructions”."""
    start = max(0, match.start() - _MAX_REPORT)
    return _REPORTING_VERB.search(prose, start, match.start()) is not None


# Passages


@dataclass(frozen=True, slots=True)
class _Passage:
    text: str
    line: int
    end: int
    is_hidden: bool
    is_code: bool


def _split_passages(lines: Sequence[str]) -> Iterator[_Passage]:
    """Yield the paragraphs, list items, rows and comments of a page, each on a single line; long ones in parts.

    Headings that follow each other are one passage, so that a sentence cannot be spread over them.
    """
    block: list[str] = []
    start = 0
    fence = ""
    for number, line in enumerate([*lines, ""]):
        stripped = line.strip()
        is_heading = stripped.startswith("#")
        continues = bool(block) and block[-1].startswith("#") and (is_heading or not stripped)
        if block and not continues and (not stripped or _BLOCK_START.match(stripped)):
            yield from _make_passages(block, start, is_code=bool(fence))
            block = []
        fence = follow_fence(stripped, fence)
        if stripped:
            start = start if block else number
            block.append(stripped)
    if block:
        yield from _make_passages(block, start, is_code=bool(fence))


def _make_passages(
    block: Sequence[str], start: int, *, is_hidden: bool = False, is_code: bool = False
) -> Iterator[_Passage]:
    is_hidden = is_hidden or _COMMENT.match(block[0]) is not None
    is_hidden = is_hidden or any("<" in line and _HIDING.search(line) for line in block)
    lines = [_normalize(line) for line in block]
    text = " ".join(lines)
    offsets = [0, *accumulate(len(line) + 1 for line in lines)]
    begin = 0
    while True:
        end = min(begin + _MAX_PASSAGE, len(text))
        first, last = (start + bisect_right(offsets, offset) - 1 for offset in (begin, end - 1))
        yield _Passage(text[begin:end], first, last, is_hidden, is_code)
        if end == len(text):
            return
        middle = begin + _MAX_PASSAGE // 2  # parts overlap, and begin with a sentence if one begins nearby
        sentence = _SENTENCE_END.search(text, middle, end)
        begin = sentence.end() if sentence else middle


def _normalize(line: str) -> str:
    """Return a line as a reader understands it: without invisible characters, lookalikes, spacing and markup."""
    if not line.isascii():
        line = unicodedata.normalize("NFKC", _WITHOUT_WIDTH.sub("", line))
        line = _MIXED_SCRIPTS.sub(lambda match: match[0].translate(_LOOKALIKES), line)
    if _SPACED.search(line):
        line = _SPACED.sub(lambda match: match[0].replace(" ", ""), line)
    line = _MARKUP.sub(r"\1", line)
    if len(_LEET.findall(line)) > 1:
        line = _LEET.sub(lambda match: match[0].translate(_LEET_LETTERS), line)
    return " ".join(line.split())


# Weights


@dataclass(frozen=True, slots=True)
class _Patterns:
    """The patterns that a text can match, because it has their words."""

    instructions: list[Signal] = field(default_factory=list)
    signals: list[Signal] = field(default_factory=list)


def _select_patterns(texts: Sequence[str], *, is_hidden: bool = False) -> list[_Patterns]:
    """Return the patterns that each text of a page can match. Few words are on a page, and all patterns have many."""
    lowered = [f" {' '.join(text.lower().split())} " for text in texts]
    spaced = [f" {' '.join(text.translate(_PUNCTUATION).split())} " for text in lowered]
    page = "\n".join(lowered)
    spaced_page = "\n".join(spaced)
    counts = Counter(spaced_page.split())
    vocabulary = f" {' '.join(counts)} "  # a text repeats most of its words

    @cache
    def find(word: str) -> list[int]:
        """Return the numbers of the texts that contain a word."""
        if any(part.strip().isalnum() and part not in vocabulary for part in (word, *word.split())):
            return []
        if word not in (spaced_page if word[0] == " " else page):
            return []
        return [number for number, text in enumerate(spaced if word[0] == " " else lowered) if word in text]

    mentions = sum(counts[word] for words in _words() for word in words.models)
    is_about_models = mentions > _MAX_MENTIONS and not is_hidden
    patterns = [_Patterns() for _ in texts]
    for instruction in _signals("instructions"):
        for number in set(chain.from_iterable(map(find, instruction.words))):
            patterns[number].instructions.append(instruction)
    for signal in _signals("signals"):
        if not (signal.off_topic and is_about_models):
            for number in set(chain.from_iterable(map(find, signal.words))):
                patterns[number].signals.append(signal)
    return patterns


def _match_instructions(text: str, patterns: Iterable[Signal]) -> list[tuple[re.Match[str], Severity]]:
    matches: list[tuple[re.Match[str], Severity]] = []
    for signal in patterns:
        matches += ((match, signal.severity) for match in _compile(*signal.patterns).finditer(text))
    return sorted(matches, key=lambda pair: pair[0].start())


def _judge(passage: _Passage, patterns: _Patterns) -> InjectedText | None:
    """Return what a passage contains, or None if its signals do not add up to the threshold."""
    text = passage.text
    for match, severity in _match_instructions(text, patterns.instructions):
        if not is_reported_speech(text, match):
            hints = _find_hints(text)
            return _describe(passage, "instruction", match.start(), [severity, *(hint.severity for hint in hints)])
    signals: list[Signal] = []
    starts: list[int] = []
    for signal in patterns.signals:
        if signal.code or not passage.is_code:
            hit = _compile(*signal.patterns).search(text)
            if hit and not is_reported_speech(text, hit):
                signals.append(signal)
                starts.append(hit.start())
    if not signals:
        return None
    hints = _find_hints(text)
    weight = sum(signal.weight for signal in signals) + min(_MAX_HINTS, sum(hint.weight for hint in hints))
    if weight < (_HIDDEN_THRESHOLD if passage.is_hidden else _THRESHOLD):
        return None
    names = {signal.name for signal in signals}
    if names <= {"address", "duty of a reader"} and _READING_ADVICE.search(text):
        return None
    is_leak = "leak" in names or ("secret" in names and any(hint.name == "sending" for hint in hints))
    kind: Kind = "exfiltration" if is_leak else "instruction"
    return _describe(passage, kind, min(starts), [signal.severity for signal in (*hints, *signals)])


def _describe(passage: _Passage, kind: Kind, start: int, severities: Container[Severity]) -> InjectedText:
    quote = passage.text[start : start + _MAX_QUOTE]
    severity: Severity = "high" if "high" in severities else "low"
    return InjectedText("hidden" if passage.is_hidden else kind, passage.line, quote, severity)


def _find_hints(text: str) -> list[Signal]:
    return [hint for hint in _signals("hints") if _compile(*hint.patterns).search(text)]


@cache
def _words() -> tuple[InjectionWords, ...]:
    return tuple(load_table(code, "injection", InjectionWords) or InjectionWords() for code in available_languages())


_SignalKind = Literal["instructions", "signals", "hints"]


@cache
def _signals(kind: _SignalKind) -> tuple[Signal, ...]:
    space = r"\s+" if kind == "instructions" else " "  # they are also searched in whole pages
    signals: list[Signal] = []
    for words in _words():
        signals += (_expand(signal, words.names, space) for signal in getattr(words, kind))
    return tuple(signals)


def _expand(signal: Signal, names: Mapping[str, str], space: str) -> Signal:
    patterns: list[str] = []
    for pattern in signal.patterns:
        for name, names_pattern in names.items():
            pattern = pattern.replace(f"<{name}>", names_pattern)
        patterns.append(pattern.replace(" ", space))
    return structs.replace(signal, patterns=tuple(patterns))


@cache
def _compile(*patterns: str) -> re.Pattern[str]:
    """Compile patterns when they are first needed: most pages need few, and long ones take time."""
    return re.compile("|".join(patterns), re.IGNORECASE)


@cache
def _topics() -> re.Pattern[str]:
    topics = chain.from_iterable(words.topics for words in _words())
    return re.compile("|".join(topics), re.IGNORECASE)


# Patterns of characters and of text, with which no parser helps: the text is hostile, and broken where it helps it.
# Passages are read line by line for the same reason, and since each crawled page is scanned, within a quotation, too.

_PUNCTUATION = str.maketrans(dict.fromkeys("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~“”‘’«»–—", " "))
_BLOCK_START = re.compile(r"[-*+] |\d+[.)] |\||#|>|`{3}|~{3}|</?(?:!--|p|div|td|tr|li|summary|section)\b")
"""The beginning of a block, or of a line that a model may read as one: `- item`, `| cell`, `> quote`, `</div>`."""
_COMMENT = re.compile(r"<!--|\[(?://|comment)\]:")
"""The beginning of a comment in HTML, or in Markdown: `[//]: # (text)`."""
_HIDING = re.compile(
    r"<[a-z]+\b[^<>]*(?:\shidden\b|display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0\b)",
    re.I,
)
"""A tag that hides its text, such as `<div style="display: none">`, also if it is not closed."""
_SENTENCE_END = re.compile(r"[.!?:;] |[。！？]")
_MARKUP = re.compile(r"^[>|\s]*#+ |[*`]+|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)|\\([\\`*_{}\[\]()#+.!|<>~$-])")
"""Markup within a line: `## `, `**`, `_` around words, a backslash before punctuation."""
_SPACED = re.compile(r"(?<!\S)(?:\w ){3,}\w(?!\S)")
"""Spaced letters: `i g n o r e`."""
_LEET = re.compile(r"\b[a-z]*(?:[013457][a-z]+)+\b", re.IGNORECASE)
"""Letters as digits: `1gn0re`."""
_LEET_LETTERS = str.maketrans("013457", "oieast")
_GREEK_OR_CYRILLIC = "\u0370-\u03ff\u0400-\u04ff"
_MIXED_SCRIPTS = re.compile(rf"\b(?=\w*[A-Za-z])(?=\w*[{_GREEK_OR_CYRILLIC}])\w+")
"""A word with Latin and with Greek or Cyrillic letters, which look alike."""
_LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0445\u0443\u0456\u0458\u0455\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420"
    "\u0421\u0422\u0425\u0406\u03bf\u03b1\u03b5\u03b9\u0391\u0392\u0395\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a7",
    "aeopcxyijsABEKMHOPCTXIoaeiABEHIKMNOPTX",
)
_READING_ADVICE = re.compile(r"\bllms(?:-full)?\.txt|\bMarkdown\b", re.IGNORECASE)
"""What a page may tell readers of llms.txt to do."""
_REPORTING_VERB = re.compile(
    r"\b(?:mak(?:e|es|ing)|lets?|letting)\s+(?:(?!you\b|sure\b)\w+\s+){1,3}\Z"
    r"|(?<!\bare )\b(?:instruct|tell|ask|order|trick|caus|command|convinc|attempt|try|tri|us|fool|forc|get|design)\w*"
    r"\s+(?:(?!you\b)\w+\s+){0,4}to\s+\Z|(?:指示|要求|诱导|誘導|诱使|誘使)[^。，,\s]{1,8}\Z",
    re.IGNORECASE,
)


# Characters that models read and readers cannot see: they split words, change their order, or carry text

_MAX_TAGS_QUOTE = 60
_ASCII_OF_TAGS = {0xE0000 + code: chr(code) if chr(code).isprintable() else None for code in range(128)}
"""The ASCII character of each tag character; None for control characters."""
_CARRYING_TEXT = ("tags", "conceal", "variants")


def find_invisible(line: str, *, is_first_line: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the kinds of hidden characters in a line with their descriptions.

    Emoji, flags, soft hyphens, and joiners and direction marks of the scripts that need them are ordinary text.

    Args:
        line: The line.
        is_first_line: Whether it is the first line of its file, which may start with a byte order mark.
    """
    if "\x1b" in line and _CONCEALED.search(line):
        yield "conceal", "an escape sequence that conceals text on a terminal"
    if line.isascii():
        return
    if tags := _TAGS.findall(FLAG.sub("", line)):
        yield "tags", f"{len(tags)} tag characters{_quote_tags(tags)}"
    reordering = _OVERRIDING if _RIGHT_TO_LEFT.search(line) else _RIGHT_TO_LEFT_CONTROLS
    if reordering.search(line):
        yield "direction", f"{_name_characters(_DIRECTION_CONTROLS.findall(line))}, which change the visible order"
    without_width = _ZERO_WIDTH.findall(line[1:] if is_first_line else line)
    without_width += [*_JOINERS.findall(line), *"".join(_RUNS.findall(line))]
    if without_width:
        yield "width", f"{_name_characters(without_width)}, without a width"
    if selectors := "".join(_VARIATIONS.findall(line)):
        yield "variants", f"{len(selectors)} variation selectors, which can carry text"


def _quote_tags(tags: list[str]) -> str:
    text = "".join(tags).translate(_ASCII_OF_TAGS)
    return f" with the text “{' '.join(text.split())[:_MAX_TAGS_QUOTE]}”" if text else ""


def _name_characters(characters: list[str]) -> str:
    names: list[str] = []
    for character, count in Counter(characters).items():
        name = unicodedata.name(character, "").lower()
        names.append(f"{count} × U+{ord(character):04X} {name}".rstrip())
    return ", ".join(names)


_CONCEALED = re.compile(r"\x1b\[(?:\d+;)*8m")
"""The escape sequence of ECMA-48 for concealed text."""
_TAGS = re.compile("[\U000e0000-\U000e007f]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_OVERRIDING = re.compile("[\u202d\u202e]")
_RIGHT_TO_LEFT_CONTROLS = re.compile("[\u202b\u202e\u2067]")  # left-to-right ones have no effect on left-to-right text
_DIRECTION_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_ZERO_WIDTH = re.compile(
    "(?<=[0-9A-Za-z])[\u200b\u2060](?=[0-9A-Za-z])|[\u2061-\u2064\ufeff\u180e\u3164\u115f\u1160\uffa0]"
)
_JOINERS = re.compile("(?<=[0-9A-Za-z])[\u200c\u200d](?=[0-9A-Za-z])")
"""Joiners between Latin letters, which need none."""
_RUNS = re.compile("[\u200b-\u200d\u2060\u2800]{4,}")
_VARIATIONS = re.compile("[\U000e0100-\U000e01ef]{2,}|[\ufe00-\ufe0f]{2,}")
_WITHOUT_WIDTH = re.compile(
    "[\u00ad\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
