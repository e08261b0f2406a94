"""Tokenizer for the search index, queries, rules and token estimates.

A text becomes *terms*, folded and stemmed, in the order of the text:

    plain word        its stem                                       `Timeouts` → `timeout`
    identifier        the stems of its parts, then its parts joined  `ServerTimeouts` → `server timeout servertimeouts`
    word with a sign  the word, then the word with the sign          `--force` → `forc --force`; `.NET` → `net .net`
    version, decimal  its prefixes                                   `v1.2.3` → `1.2 1.2.3`
    CJK, Thai …       overlapping pairs, then the last character     `東京都` → `東京 京都 都`

The joined word follows its parts, so that an index with positions matches any sequence of parts as a phrase, and
plain words stay a phrase if no identifier is between them. Separators are dropped except between digits:
`--drain-window`, `drainWindow` and `drainwindow` have one joined term. The last character is a term of its own, so
that every single character is the prefix of a term. A word whose stem requires its accents also has its unaccented
whole as a term. Terms contain no white space, double quotes or control characters, so `" ".join(extract_terms(text))`
can be passed to an index.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import chain
from unicodedata import normalize

from msgspec import Struct

from mkdocs_roaming.text import languages
from mkdocs_roaming.text.languages import fold, load_words


class Word(Struct, frozen=True):
    """A word of a text with its index terms, and the term sequences that match it."""

    text: str
    """The word as written."""
    whole: str
    """The whole word, folded and joined, not stemmed."""
    parts: tuple[str, ...]
    """Stems of its parts; a plain word has one."""
    terms: tuple[str, ...]
    """Its index terms in order."""
    runs: tuple[tuple[str, ...], ...]
    """Sequences of adjacent terms, each of which matches the word."""
    stop: bool = False
    """Whether it is a stop word, which most questions contain."""
    prefix: bool = False
    """Whether it is a single character of a script without spaces, which matches every term that starts with it."""


def collect_terms(words: Iterable[Word]) -> set[str]:
    """Return all terms that match some words."""
    return set(chain.from_iterable(run for word in words for run in word.runs))


def extract_terms(text: str, language: str = "en") -> list[str]:
    """Return the index terms of a text in order, with repetitions."""
    code = languages.base_language(language)
    terms = list[str]()
    text = _clean(text)
    if not text.isascii():
        text = text.replace("’", "'")
        for mark in _TYPOGRAPHIC_MARKS:
            text = text.replace(mark, " ")
    if text.isascii():
        for span in _SPAN.findall(text):
            terms += _extract_span_terms(span, code)
        return terms
    for span in _SPAN.findall(text):
        if not _has_spaceless(span):
            terms += _extract_span_terms(span, code)
            continue
        for run in _find_runs(span):  # a sentence is rarely repeated: not cached
            terms += _split_pairs(run) if is_spaceless(run) else _parse_word(run, code).terms
    return terms


def parse_words(text: str, language: str = "en") -> list[Word]:
    """Return the words of a text in order. Their terms, joined, are the terms of the text."""
    code = languages.base_language(language)
    words = list[Word]()
    for run in split_words(text):
        if is_spaceless(run):
            starts = range(max(1, len(run) - 1))
            words += (_parse_pair(run[start : start + 2], start + 2 >= len(run), code) for start in starts)
        else:
            words.append(_parse_word(run, code))
    return words


def parse_query(text: str, language: str = "en") -> list[Word]:
    """Return each distinct word of a question once, in order. Stop words are marked, not dropped."""
    distinct: dict[tuple[str, ...], Word] = {}
    for word in parse_words(text, language):
        distinct.setdefault(word.runs[0], word)
    return list(distinct.values())


def split_words(text: str) -> list[str]:
    """Return the words of a text as written. A run of a script without spaces is one of them."""
    return _find_runs(_clean(text))


def is_spaceless(run: str) -> bool:
    """Return whether a word of `split_words` is a run of a script without spaces, and so several words."""
    return _has_spaceless(run[:1])


def parse_word(run: str, language: str = "en") -> Word:
    """Parse one word of `split_words`."""
    return _parse_word(run, languages.base_language(language))


def is_stop_word(word: str, language: str = "en") -> bool:
    """Return whether a word says little about a question. Negations do not: `without` inverts a question."""
    return languages.is_stop_word(fold(word).replace("'", "").replace("’", ""), languages.base_language(language))


def stem(word: str, language: str = "en") -> str:
    """Return the folded stem of a word, or the folded word if there is no stemmer for its script or language."""
    return languages.stem(normalize("NFKC", word), languages.base_language(language))


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens of a text; no model's exact count.

    It is the number of ASCII words and of other characters, where a line of dashes or equals signs is one, but at
    least a quarter of the length.
    """
    data = text.encode("ascii", "replace")
    words = (b" " + data.translate(_WORD_CLASSES)).count(b" w")
    signs = len(data.translate(None, _WORDS_AND_SPACES))
    if not text.isascii():
        signs -= len(re.findall(_WIDE_SPACE, text))
    if b"--" in data or b"==" in data:
        signs -= sum(len(line) - 1 for line in _LINE_OF_SIGNS.findall(data))
    return max(-(-len(text) // _CHARS_PER_TOKEN), words + signs)


# Bytes and their classes are counted five times as fast as the matches of a regular expression.
_WORD_BYTES = (string.ascii_letters + string.digits + "_").encode()
_WORD_CLASSES = bytes(ord("w" if byte in _WORD_BYTES else " ") for byte in range(256))
_WORDS_AND_SPACES = _WORD_BYTES + bytes(byte for byte in range(128) if chr(byte).isspace())
_WIDE_SPACE = "[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
_LINE_OF_SIGNS = re.compile(b"--+|==+")
_CHARS_PER_TOKEN = 4
"""Maximum number of characters of a token on average."""

# Words

SPACELESS = "\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # kana
SPACELESS += "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\uac00-\ud7a3"  # Han, Hangul
SPACELESS += "\u0e01-\u0e3a\u0e40-\u0e5b\u0e81-\u0edf\u1000-\u109f\u1780-\u17d3"  # Thai, Lao, Burmese, Khmer
"""The characters of scripts without spaces between words, for a set of a regular expression."""

_TYPOGRAPHIC_MARKS = "‘“”„–—‹›«»·•→×"
"""Characters that no word contains. A text without them and other letters is read by the expression for ASCII alone."""

# Cutting at characters that no word contains is fast, and spans are repeated often: their terms are cached.
_SPAN = re.compile(r"""[^\s!"%&()*;<=>?\[\]^`{|}~]+""")
_SIGN = r"(?:(?<![\w.$@-])(?:--?|[.$@])(?=[A-Za-z]))?"
_LINKED = r"(?>(?:(?:[-._/:@\\'’]{1,3}|(?<=\d),(?=\d{3}(?!\d)))%s)*)(?:\+\+\d*|(?<![^\W\d_]{2})#(?!\w))?"
_ASCII_RUN = re.compile(_SIGN + "[A-Za-z0-9]++" + _LINKED % "[A-Za-z0-9]++")
_LATIN_RUN = _SIGN + r"[^\W_]++" + _LINKED % r"[^\W_]++"  # compiled when it is first needed
_FIRST_COMBINING_MARK = "\u0300"
_FIRST_SPACELESS = "\u0e01"
_JOINING = languages.COMBINING_MARKS + "\u0900-\u0963\u0966-\u0dff\u0f18-\u0fbc\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff"
_LETTERS = rf"[^\W_{SPACELESS}](?>(?:[^\W_{SPACELESS}]++|[{_JOINING}])*)"


def _find_runs(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_RUN.findall(text)
    return re.findall(_LATIN_RUN if max(text) < _FIRST_COMBINING_MARK else _run(), text)


def _has_spaceless(text: str) -> bool:
    return not text.isascii() and max(text) >= _FIRST_SPACELESS and _spaceless().search(text) is not None


# These two take 8 ms to compile, and many sites do not need them.
@cache
def _spaceless() -> re.Pattern[str]:
    return re.compile(f"[{SPACELESS}]")


@cache
def _run() -> re.Pattern[str]:
    return re.compile(f"[{SPACELESS}]+|{_SIGN}{_LETTERS}{_LINKED % _LETTERS}")


_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff]")
_HYPHENATED = re.compile(r"(?<=[^\W\d_])-\n[ \t]*(?=[a-z])")
"""A hyphen at the end of a line with the line break after it."""
_KEPT_WORDS = 65_536
_KEPT_PAIRS = 16_384


def _clean(text: str) -> str:
    """Compose characters, drop invisible ones, and join words that are hyphenated at the end of a line."""
    if not text.isascii():
        text = normalize("NFKC", _INVISIBLE.sub("", text)).replace("ʼ", "'")
    return _HYPHENATED.sub("-", text) if "-\n" in text else text


@lru_cache(_KEPT_WORDS)
def _extract_span_terms(span: str, code: str) -> tuple[str, ...]:
    terms = list[str]()
    for run in _find_runs(span):
        if _PLAIN.fullmatch(run):  # a fast path for most words, with the same result
            terms.append(languages.stem(run, code))
        else:
            terms += _parse_word(run, code).terms
    return tuple(terms)


def _split_pairs(run: str) -> list[str]:
    return [run[start : start + 2] for start in range(len(run))]


@lru_cache(_KEPT_PAIRS)
def _parse_pair(pair: str, last: bool, code: str) -> Word:
    """Parse two adjacent characters of a script without spaces, or a single one."""
    terms = tuple(_split_pairs(pair)) if last else (pair,)
    stop = languages.is_stop_word(pair, code)
    return Word(pair, pair, (pair,), terms, ((pair,),), stop=stop, prefix=len(pair) == 1)


# Identifiers

_PLAIN = re.compile(r"[A-Z]?[a-z]+")
"""A plain word, with its first letter in upper case or not."""
_MAX_PREFIX = 3
"""Number of parts of the longest prefix of a version that is a term."""
_SIGNED = re.compile(r"(--?|[.$@])?(.*?)(\+\+\d*|#)?", re.DOTALL)
"""A word with a sign before or after it: `--force`, `.NET`, `C++17`, `C#`."""
_PIECE = re.compile(
    r"([^A-Za-z0-9]*)"
    r"((?<![A-Za-z0-9])[vV]?\d+(?:\.\d+)+|\d+(?:\.\d+)+"  # a version, a decimal, an address
    r"|(?<![A-Za-z0-9])(?=[a-fA-F]*\d)(?=\d*[a-fA-F])[0-9a-fA-F]{7,}(?![A-Za-z0-9])|0[xX][0-9a-fA-F]+"  # a digest
    r"|(?<![A-Za-z0-9])[A-Za-z]\d[A-Za-z0-9]*"  # v2, s3, k8s
    r"|[A-Z]{2,}s(?![a-z])|[A-Z]{2,}(?=v\d)|(?<=[A-Z])v\d+"  # URLs, IPv6
    r"|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+)"
)
"""A separator, and a piece of an identifier: `Server` and `Timeouts` of `ServerTimeouts`."""


@lru_cache(_KEPT_WORDS)
def _parse_word(run: str, code: str) -> Word:
    """Parse a word of a script with spaces."""
    if _PLAIN.fullmatch(run):  # a fast path for most words, with the same result
        whole = run.lower()
        part = languages.stem(run, code)
        stop = languages.is_stop_word(whole, code)
        return Word(run, whole, (part,), (part,), tuple(dict.fromkeys([(part,), (whole,)])), stop=stop)
    word = languages.strip_clitics(run, code)
    signed = _SIGNED.fullmatch(word)
    sign, body, suffix = signed.groups("") if signed else ("", word, "")
    pieces = _split_identifier(body, suffix)
    if not pieces:
        return Word(run, "", (), (), ())
    is_single = len(pieces) == 1
    is_plain = is_single and not sign and not suffix
    terms: list[str] = []
    for _, piece in pieces:
        terms += _extract_piece_terms(piece, code)
    parts = tuple(terms[-1:] if is_single else terms)
    *inner, whole = _join_pieces(pieces)
    if is_single:
        whole = sign + whole
    if whole[-1:].isalpha():
        whole += suffix
    stemmed = languages.stem(whole, code)
    if not is_plain or stemmed not in terms:  # the latter if the stemmer needs the word's accents
        terms += inner if terms[-1] == whole else [*inner, whole]
    runs = dict.fromkeys([parts, (whole,), (stemmed,)] if is_plain else [(whole,), (stemmed,), parts])
    is_stop = is_plain and languages.is_stop_word(whole, code)
    return Word(run, whole, parts, tuple(terms), tuple(runs), stop=is_stop)


def _split_identifier(body: str, suffix: str) -> list[tuple[str, str]]:
    """Return the pieces of an identifier, each with the separator before it."""
    shape = body if body.isascii() else "".join(map(_to_ascii_shape, body))
    pieces = list[tuple[str, str]]()
    for match in _PIECE.finditer(shape):
        piece = body[match.start(2) : match.end(2)]
        if fold(piece):
            pieces.append((match[1], piece[1:] if "." in piece and piece[0] in "vV" else piece))
    if suffix and len(pieces[-1][1]) == 1 and pieces[-1][1].isalpha():
        name = suffix.rstrip("0123456789")
        number = suffix.lstrip("+#")
        pieces[-1] = (pieces[-1][0], pieces[-1][1] + name)
        pieces += [("", number)] if number else []
    return pieces


def _to_ascii_shape(character: str) -> str:
    """Return an ASCII character of the same kind."""
    if character.isascii():
        return character
    if character.isupper():
        return "Z"
    return "0" if character.isdecimal() else "z"


def _extract_piece_terms(piece: str, code: str) -> list[str]:
    """Return the stem of a piece, or the prefixes of a version: `1.2`, `1.2.3`."""
    if "." not in piece:
        return [languages.stem(piece, code)]
    numbers = fold(piece).split(".")
    ends = (*range(2, min(len(numbers), _MAX_PREFIX + 1)), len(numbers))
    return [".".join(numbers[:end])[: languages.MAX_TERM_LENGTH] for end in ends]


def _join_pieces(pieces: list[tuple[str, str]]) -> list[str]:
    """Join several pieces between two separators (`IPv4/IPv6`), and last all pieces."""
    inner = list[str]()
    whole = ""
    start = 0
    count = 0
    for separator, piece in pieces:
        folded = fold(piece)
        if separator and whole:
            inner += [whole[start:]] if count > 1 else []
            if separator != "," and whole[-1].isdecimal() and folded[0].isdecimal():
                whole += "." if separator == "." else "_"  # 1.2 and 12 are different numbers
            start = len(whole)
            count = 0
        whole += folded
        count += 1
    inner += [whole[start:]] if count > 1 and start else []
    return [joined[: languages.MAX_TERM_LENGTH] for joined in (*inner, whole)]


def is_common_word(word: Word) -> bool:
    """Return whether an English word is so common that its absence from a site says little."""
    return word.stop or "".join(word.parts) in load_words("en", "common_words")
