"""One tokenizer for the index, queries, keywords, rules and estimates of tokens.

A text becomes *terms*, folded and stemmed, in the order of the text:

    plain word        its stem                                       `Timeouts` → `timeout`
    identifier        its parts, stemmed, then the whole joined up   `ServerTimeouts` → `server timeout servertimeouts`
    word with a sign  the word, then with its sign                   `--force` → `forc --force`; `.NET` → `net .net`
    version, decimal  its beginnings                                 `v1.2.3` → `1.2 1.2.3`
    CJK, Thai …       overlapping pairs, then the last character     `東京都` → `東京 京都 都`

The whole stands after its parts, so an index that keeps positions answers any run of parts as a phrase, and plain words
remain a phrase wherever no identifier stands between them. The whole keeps no separators but those between two digits:
`--drain-window`, `drainWindow` and `drainwindow` meet in one term. The last character stands alone so that every single
character is the beginning of a term. An accented word leaves its whole too where its stem cannot be had without the
accents. No term holds white space, a double quote or a control character: an index is fed `" ".join(terms(text))`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from unicodedata import normalize

from mkdocs_roaming.text import languages
from mkdocs_roaming.text.languages import fold

__all__ = [
    "Word",
    "estimate_tokens",
    "extract_terms",
    "fold",
    "is_spaceless",
    "is_stop_word",
    "occurs_in",
    "parse_query",
    "parse_word",
    "parse_word_uncached",
    "parse_words",
    "split_words",
    "stem",
]


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text: what it leaves in an index, and what finds it there."""

    text: str
    """As written."""
    whole: str
    """The whole word, folded and joined up, not stemmed."""
    parts: tuple[str, ...]
    """Its parts, stemmed; a plain word has one."""
    terms: tuple[str, ...]
    """What it leaves in an index, in order."""
    runs: tuple[tuple[str, ...], ...]
    """What finds it: any of these, its terms standing one after the other."""
    stop: bool = False
    """True of a word that says little, since most questions hold it."""
    prefix: bool = False
    """True of a single character of a script without spaces: a term that begins with it finds it."""


def extract_terms(text: str, language: str = "en") -> list[str]:
    """Give the index terms of a text in its order, repeated as often as they occur."""
    code, given = languages.base_language(language), list[str]()
    text = _clean(text)
    if text.isascii():
        for stretch in _STRETCH.findall(text):
            given += _stretch_terms(stretch, code)
        return given
    for stretch in _STRETCH.findall(text):
        if stretch.isascii() or not _SPACELESS.search(stretch):
            given += _stretch_terms(stretch, code)
            continue
        for run in _RUN.findall(stretch):  # a sentence seldom comes twice: not worth remembering
            given += _pairs(run) if _SPACELESS.match(run) else _word(run, code).terms
    return given


def parse_words(text: str, language: str = "en") -> list[Word]:
    """Give the words of a text in its order; their terms, one after the other, are the text's terms."""
    code, words = languages.base_language(language), list[Word]()
    for run in split_words(text):
        if _SPACELESS.match(run):
            words += (_pair(run[at : at + 2], at + 2 >= len(run), code) for at in range(max(1, len(run) - 1)))
        else:
            words.append(_word(run, code))
    return words


def parse_query(text: str, language: str = "en") -> list[Word]:
    """Give each distinct word of a question once, in its order; stop words are marked, not dropped."""
    distinct: dict[tuple[str, ...], Word] = {}
    for word in parse_words(text, language):
        distinct.setdefault(word.runs[0], word)
    return list(distinct.values())


def occurs_in(word: Word, within: Sequence[str]) -> bool:
    """Tell whether a word is found among the terms of a text: what an index answers, for a text at hand."""
    if word.prefix:
        return any(term.startswith(word.whole) for term in within)
    return any(
        tuple(within[at : at + len(run)]) == run
        for run in word.runs
        for at, term in enumerate(within)
        if term == run[0]
    )


def split_words(text: str) -> list[str]:
    """Give the words of a text as written; a run of a script without spaces is one of them."""
    return _RUN.findall(_clean(text)) if not text.isascii() else _ASCII_RUN.findall(_clean(text))


def is_spaceless(run: str) -> bool:
    """Tell whether a word that `split` gives is a run of a script without spaces, and so of many words."""
    return _SPACELESS.match(run) is not None


def parse_word(run: str, language: str = "en") -> Word:
    """Read one word, as `split` gives it."""
    return _word(run, languages.base_language(language))


def parse_word_uncached(run: str, language: str = "en") -> Word:
    """Read one word that nobody will ask for again: it is not remembered, which thousands would need megabytes for."""
    return _word.__wrapped__(run, languages.base_language(language))


def is_stop_word(word: str, language: str = "en") -> bool:
    """Tell whether a word says little about a question. Negations never do: `without` turns a question round."""
    return languages.is_stop_word(fold(word).replace("'", "").replace("’", ""), languages.base_language(language))


def stem(word: str, language: str = "en") -> str:
    """Give a word's folded stem; of a word in a script or language that no stemmer is known for, the folded word."""
    return languages.stem(normalize("NFKC", word), languages.base_language(language))


def estimate_tokens(text: str) -> int:
    """Estimate how many tokens a model reads in a text; no model's own count."""
    return max(-(-len(text) // 4), len(_TOKEN.findall(text)))


_SCRIPTS = "\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # kana
_SCRIPTS += "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\uac00-\ud7a3"  # Han, Hangul
_SCRIPTS += "\u0e01-\u0e3a\u0e40-\u0e5b\u0e81-\u0edf\u1000-\u109f\u1780-\u17d3"  # Thai, Lao, Burmese, Khmer
_SPACELESS = re.compile(f"[{_SCRIPTS}]")

# Cutting at what can stand in no word is quick, and the stretches come again and again: each is read once.
_STRETCH = re.compile(r"""[^\s!"%&()*;<=>?\[\]^`{|}~]+""")
_SIGN = r"(?:(?<![\w.$@-])(?:--?|[.$@])(?=[A-Za-z]))?"
_LINKED = r"(?:(?:[-._/:@\\'’]{1,3}|(?<=\d),(?=\d{3}(?!\d)))%s)*+(?:\+\+\d*|(?<![^\W\d_]{2})#(?!\w))?"
_ASCII_RUN = re.compile(_SIGN + "[A-Za-z0-9]++" + _LINKED % "[A-Za-z0-9]++")
_JOINING = languages.COMBINING_MARKS + "\u0900-\u0963\u0966-\u0dff\u0f18-\u0fbc\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff"
_LETTERS = rf"[^\W_{_SCRIPTS}](?:[^\W_{_SCRIPTS}]++|[{_JOINING}])*+"
_RUN = re.compile(f"[{_SCRIPTS}]+|{_SIGN}{_LETTERS}{_LINKED % _LETTERS}")

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff]")
_HYPHENATED = re.compile(r"(?<=[^\W\d_])-\n[ \t]*(?=[a-z])")


def _clean(text: str) -> str:
    """Compose characters, drop those that nobody sees, and join what a line's end has cut."""
    if not text.isascii():
        text = normalize("NFKC", _INVISIBLE.sub("", text)).replace("ʼ", "'")
    return _HYPHENATED.sub("-", text) if "-\n" in text else text


@lru_cache(1 << 16)
def _stretch_terms(stretch: str, code: str) -> tuple[str, ...]:
    """Give the terms of a stretch between spaces."""
    runs = (_ASCII_RUN if stretch.isascii() else _RUN).findall(stretch)
    return tuple(term for run in runs for term in _word(run, code).terms)


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run))]


@lru_cache(1 << 14)
def _pair(pair: str, last: bool, code: str) -> Word:
    """Read two neighbouring characters of a script without spaces, or a single one."""
    left = tuple(_pairs(pair)) if last else (pair,)
    return Word(pair, pair, (pair,), left, ((pair,),), stop=languages.is_stop_word(pair, code), prefix=len(pair) == 1)


@lru_cache(1 << 16)
def _word(run: str, code: str) -> Word:
    """Read a word of a script with spaces."""
    if _PLAIN.fullmatch(run):  # most words are; all the rest comes to the same
        whole, part = run.lower(), languages.stem(run, code)
        stop = languages.is_stop_word(whole, code)
        return Word(run, whole, (part,), (part,), tuple(dict.fromkeys([(part,), (whole,)])), stop=stop)
    sign, body, end = _undressed(languages.strip_clitics(run, code))
    pieces = _pieces(body, end)
    if not pieces:
        return Word(run, "", (), (), ())
    single = len(pieces) == 1
    plain = single and not sign and not end
    left = [term for _, piece in pieces for term in _piece_terms(piece, code)]
    parts = tuple(left[-1:] if single else left)
    *inner, whole = _wholes(pieces)
    whole = (sign if single else "") + whole + (end if whole[-1:].isalpha() else "")
    stemmed = languages.stem(whole, code)
    if not plain or stemmed not in left:  # the latter of a word whose accents the stemmer needs
        left += inner if left[-1] == whole else [*inner, whole]
    runs = dict.fromkeys([parts, (whole,), (stemmed,)] if plain else [(whole,), (stemmed,), parts])
    return Word(run, whole, parts, tuple(left), tuple(runs), stop=plain and languages.is_stop_word(whole, code))


def _piece_terms(piece: str, code: str) -> list[str]:
    """Give a piece's stem, or a version's beginnings: `1.2`, `1.2.3`."""
    if "." not in piece:
        return [languages.stem(piece, code)]
    numbers = fold(piece).split(".")
    return [
        ".".join(numbers[:upto])[: languages.MAX_TERM_LENGTH]
        for upto in (*range(2, min(len(numbers), 4)), len(numbers))
    ]


def _wholes(pieces: list[tuple[str, str]]) -> list[str]:
    """Join pieces up: first those of several pieces between two separators (`IPv4/IPv6`), last all of them."""
    inner, whole, begun, count = list[str](), "", 0, 0
    for gap, piece in pieces:
        folded = fold(piece)
        if gap and whole:
            inner += [whole[begun:]] if count > 1 else []
            if gap != "," and whole[-1].isdecimal() and folded[0].isdecimal():
                whole += "." if gap == "." else "_"  # 1.2 and 12 are two numbers
            begun, count = len(whole), 0
        whole += folded
        count += 1
    inner += [whole[begun:]] if count > 1 and begun else []
    return [each[: languages.MAX_TERM_LENGTH] for each in (*inner, whole)]


_PLAIN = re.compile(r"[A-Z]?[a-z]+")
_DRESS = re.compile(r"(--?|[.$@])?(.*?)(\+\+\d*|#)?", re.DOTALL)
_PIECE = re.compile(
    r"([^A-Za-z0-9]*)"
    r"((?<![A-Za-z0-9])[vV]?\d+(?:\.\d+)+|\d+(?:\.\d+)+"  # a version, a decimal, an address
    r"|(?<![A-Za-z0-9])(?=[a-fA-F]*\d)(?=\d*[a-fA-F])[0-9a-fA-F]{7,}(?![A-Za-z0-9])|0[xX][0-9a-fA-F]+"  # a digest
    r"|(?<![A-Za-z0-9])[A-Za-z]\d[A-Za-z0-9]*"  # v2, s3, k8s
    r"|[A-Z]{2,}s(?![a-z])|[A-Z]{2,}(?=v\d)|(?<=[A-Z])v\d+"  # URLs, IPv6
    r"|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+)"
)


def _undressed(run: str) -> tuple[str, str, str]:
    """Part a word from the sign before it and the one behind it, where they say something."""
    match = _DRESS.fullmatch(run)
    return (match[1] or "", match[2], match[3] or "") if match else ("", run, "")


def _pieces(body: str, end: str) -> list[tuple[str, str]]:
    """Give the pieces of an identifier, each with what stands before it."""
    shape = body if body.isascii() else "".join(map(_shape, body))
    pieces = list[tuple[str, str]]()
    for match in _PIECE.finditer(shape):
        piece = body[match.start(2) : match.end(2)]
        if fold(piece):
            pieces.append((match[1], piece[1:] if "." in piece and piece[0] in "vV" else piece))
    if end and len(pieces[-1][1]) == 1 and pieces[-1][1].isalpha():
        name, number = end.rstrip("0123456789"), end.lstrip("+#")
        pieces[-1] = (pieces[-1][0], pieces[-1][1] + name)
        pieces += [("", number)] if number else []
    return pieces


def _shape(character: str) -> str:
    """Give an ASCII character of the same kind."""
    if character.isascii():
        return character
    return "Z" if character.isupper() else "0" if character.isdecimal() else "z"


_TOKEN = re.compile(r"[A-Za-z0-9_]+|-{2,}|={2,}|[^\sA-Za-z0-9_]")
