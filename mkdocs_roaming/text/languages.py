"""Language data: word lists from `data/<language>.toml`, case folding, stemming, stop words and clitics.

Word lists are data, not code, so that translators can contribute them. A file is named after the language's code
without a region (`de.toml`) and may hold any of the tables below; a language without a file or a table falls back to
an empty list. Files are read once, when a list is first used.

To add a table:

1. Add it to `data/en.toml` and to the other languages, under a key of its own or in a `[section]` named after the
   package that uses it (`[lint]`). In `en.toml` a comment says what the words are for. A word list is a literal
   multi-line string of words separated by white space, a phrase list an array of strings:

       [lint]
       # Titles that fit any section.
       empty_titles = ["overview", "more information"]
       # Words that start an instruction.
       imperatives = '''
       click open press run
       '''

2. Read it where it is used, not at import time. Loaders are cached, so no copy is needed:

       load_words(language, "lint.imperatives")      # frozenset[str]
       load_phrases(language, "lint.empty_titles")   # tuple[str, ...], in the order of the file
       load_table(language, "injection", InjectionWords)  # a dataclass or msgspec.Struct; None without such a table

`tests/unit/text/test_languages.py` checks that every file can be read.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any, TypeVar
from unicodedata import decimal, normalize

from mkdocs_roaming._json import prepare

T = TypeVar("T")

MAX_TERM_LENGTH = 100
"""Maximum number of characters of a term."""

COMBINING_MARKS = "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
COMBINING_MARKS += "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
"""Marks that folding removes (accents, Hebrew points, Arabic vowels), as a character set of a regular expression."""
_KEPT_LANGUAGES = 64
_KEPT_WORDS = 65_536


@cache
def load_words(language: str, name: str) -> frozenset[str]:
    """Return the words of a list, for example `load_words("de", "stop_words")`."""
    return frozenset((load_table(language, name, str) or "").split())


@cache
def load_phrases(language: str, name: str) -> tuple[str, ...]:
    """Return the phrases of a list in the order of the file."""
    return load_table(language, name, tuple[str, ...]) or ()


@cache
def load_table(language: str, name: str, kind: type[T]) -> T | None:
    """Return a value of a language's file as `kind`, or None if the file or the value does not exist.

    Args:
        language: Language tag; a region is ignored.
        name: Key in the file, with dots between nested tables: `lint.imperatives`.
        kind: Type that msgspec can convert to, such as `str`, `tuple[str, ...]` or a dataclass.

    Raises:
        ValueError: The value has another type; the message names the file and the key.
    """
    import msgspec

    code = base_language(language)
    value: Any = _read_file(code)
    for key in name.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    if value is None:
        return None
    try:
        return msgspec.convert(value, prepare(kind))
    except msgspec.ValidationError as error:
        raise ValueError(f"text/data/{code}.toml: {name}: {error}") from None


@cache
def available_languages() -> tuple[str, ...]:
    """Return the codes of the languages that have a file, sorted."""
    from importlib.resources import files

    names = (file.name for file in (files(__package__) / "data").iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


@cache
def _read_file(code: str) -> Mapping[str, Any]:
    import pkgutil
    import tomllib

    try:
        data = pkgutil.get_data(__package__, f"data/{code}.toml") if code.isalpha() else None
    except OSError:  # there is none, or the language of a site is no name of a file
        return {}
    return tomllib.loads(data.decode("utf-8")) if data else {}


@lru_cache(_KEPT_LANGUAGES)
def base_language(language: str) -> str:
    """Return a language tag without its region: `pt-BR` → `pt`."""
    return language.strip().lower().replace("_", "-").partition("-")[0]


def fold(text: str) -> str:
    """Return text without case, accents and compatibility forms. Kana keep their voicing, Hangul its syllables."""
    if text.isascii():
        return text.lower()
    return normalize("NFKC", normalize("NFKC", text).translate(_FOLDED))


@lru_cache(_KEPT_WORDS)
def stem(word: str, code: str) -> str:
    """Return the folded stem of a word in NFKC, or the folded word if there is no stemmer for it."""
    folded = fold(word)[:MAX_TERM_LENGTH]
    if not 2 < len(folded) <= _MAX_STEMMED_LENGTH or _UNSTEMMED.search(folded):
        return folded
    latin = folded.isascii()
    name = "english" if latin and code in NOT_LATIN else _SNOWBALL.get(code)
    stemmer = _load_stemmer(name) if name and (latin or code in NOT_LATIN or code == "sr") else None
    if stemmer is None:
        return folded
    with _stemmer_lock:  # a stemmer stores the current word in itself
        return fold(stemmer(folded if name == "english" else word.replace("İ", "i").casefold())) or folded


def has_stemmer(code: str) -> bool:
    """Return whether words of a language are stemmed."""
    return code in _SNOWBALL


def is_stop_word(folded: str, code: str) -> bool:
    """Return whether a folded word says little about a question."""
    if code == "ja" and folded and all("\u3041" <= character <= "\u309f" for character in folded):  # hiragana
        return folded not in load_words("ja", "negations")  # nearly always grammar: names use other scripts
    return folded in load_words("en" if folded.isascii() and code in NOT_LATIN else code, "stop_words")


def strip_clitics(word: str, code: str) -> str:
    """Remove what an apostrophe joins to a word (`user's`, `l'index`); other apostrophes are dropped: `dont`."""
    word = word.replace("’", "'")
    if "'" not in word:
        return word
    if elision := _ELISIONS.get(code):
        word = re.sub(elision, "", word, count=1)
    else:
        head, _, clitic = word.rpartition("'")
        word = head if clitic.lower() in _ENGLISH_CLITICS else word
    return word.replace("'", "")


_ENGLISH_CLITICS = frozenset({"s", "re", "ve", "ll", "d", "m"})
_ELISIONS = {
    "fr": r"(?i)(?<!\w)(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)'(?=\w)",
    "it": r"(?i)(?<!\w)(?:[clmnstvd]|un|[dns]?[aeou]ll|quell|quest|sant|dov|com)'(?=\w)",
    "ca": r"(?i)(?<!\w)[dlmnst]'(?=\w)",
}
"""Patterns of words that lose their vowel before another one: `l'` of `l'index`."""

_MARK = re.compile(f"[{COMBINING_MARKS}]")
# Letters that lose their accents. Of Cyrillic only ё does: й is not и.
_ACCENTED = re.compile("[A-Za-z\u00c0-\u024f\u0370-\u03ff\u1e00-\u1fff\u0415\u0435]")
_LETTERS = {"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ı": "i", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d"}


class _FoldingTable(dict[int, str]):
    """Translation table of `fold`, computed character by character on first use."""

    def __missing__(self, point: int) -> str:
        character = chr(point)
        if character.isdecimal():
            folded = str(decimal(character))
        elif _MARK.match(character):
            folded = ""
        else:
            bare = normalize("NFKD", character)
            bare = _MARK.sub("", bare) if _ACCENTED.match(bare) else character
            folded = "".join(_LETTERS.get(letter, letter) for letter in bare.casefold())
        self[point] = folded
        return folded


_FOLDED = _FoldingTable()

_SNOWBALL = {
    code: name
    for name, codes in {
        "arabic": "ar", "armenian": "hy", "basque": "eu", "catalan": "ca", "czech": "cs", "danish": "da", "dutch": "nl",
        "english": "en", "esperanto": "eo", "estonian": "et", "finnish": "fi", "french": "fr", "german": "de",
        "greek": "el", "hindi": "hi", "hungarian": "hu", "indonesian": "id", "irish": "ga", "italian": "it",
        "lithuanian": "lt", "nepali": "ne", "norwegian": "no nb nn", "persian": "fa", "polish": "pl",
        "portuguese": "pt", "romanian": "ro", "russian": "ru", "serbian": "sr", "spanish": "es", "swedish": "sv",
        "tamil": "ta", "turkish": "tr", "yiddish": "yi",
    }.items()
    for code in codes.split()
}  # read in columns  # fmt: skip
NOT_LATIN = frozenset({
    "ar", "be", "bg", "bn", "el", "fa", "he", "hi", "hy", "ja", "ka", "km", "ko", "lo", "mk", "ml", "mr", "my", "ne",
    "ru", "ta", "te", "th", "uk", "ur", "yi", "zh",
})  # read in columns  # fmt: skip
COMPOUNDING = frozenset({"da", "de", "fi", "hu", "is", "nb", "nl", "nn", "no", "sv"})
"""Languages that write compounds as one word."""
_UNSTEMMED = re.compile(r"[\d.+#$@_-]")
"""What words have that are no words of a language: digits, signs."""
_MAX_STEMMED_LENGTH = 40
_stemmer_lock = threading.Lock()


@lru_cache(_KEPT_LANGUAGES)
def _load_stemmer(name: str) -> Callable[[str], str] | None:
    import snowballstemmer

    if name not in snowballstemmer.algorithms():  # releases differ in their languages
        return None
    stem: Callable[[str], str] = snowballstemmer.stemmer(name).stemWord
    return stem
