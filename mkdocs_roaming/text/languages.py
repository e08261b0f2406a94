"""What is known of each language: folding, stems, stop words, and what an apostrophe ties to a word."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from functools import lru_cache
from unicodedata import decimal, normalize

MAX_TERM_LENGTH = 100
"""No term has more characters."""

COMBINING_MARKS = "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
COMBINING_MARKS += "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
"""Accents, Hebrew points and Arabic vowels: what folding takes off, as a regular expression's set."""


@lru_cache(64)
def base_language(language: str) -> str:
    """Give a language without its region: `pt-BR` → `pt`."""
    return re.split("[-_]", language.strip().lower())[0]


def fold(text: str) -> str:
    """Give a text without case, accents and compatibility forms; kana keep their voicing, Hangul its syllables."""
    if text.isascii():
        return text.lower()
    return normalize("NFKC", normalize("NFKC", text).translate(_FOLDED))


@lru_cache(1 << 16)
def stem(word: str, code: str) -> str:
    """Give the folded stem of a word in NFKC; of a word that no stemmer is known for, the folded word."""
    folded = fold(word)[:MAX_TERM_LENGTH]
    if not 2 < len(folded) <= 40 or _UNSTEMMED.search(folded):
        return folded
    latin = folded.isascii()
    name = "english" if latin and code in _NOT_LATIN else _SNOWBALL.get(code)
    stemmer = _stemmer(name) if name and (latin or code in _NOT_LATIN or code == "sr") else None
    if stemmer is None:
        return folded
    with _one_at_a_time:  # a stemmer keeps its word in itself
        return fold(stemmer(folded if name == "english" else word.replace("İ", "i").casefold())) or folded


def is_stop_word(folded: str, code: str) -> bool:
    """Tell whether a folded word says little about a question."""
    if code == "ja" and _HIRAGANA.fullmatch(folded):
        return folded not in _JAPANESE_NEGATIONS  # grammar, nearly always; names are written in other scripts
    known = _STOP_WORDS["en"] if folded.isascii() and code in _NOT_LATIN else _STOP_WORDS.get(code, frozenset())
    return folded in known


def strip_clitics(word: str, code: str) -> str:
    """Take off what an apostrophe ties to a word, `user's` and `l'index`; other apostrophes vanish: `dont`."""
    word = word.replace("’", "'")
    if "'" not in word:
        return word
    elision = _ELISIONS.get(code)
    bare = _ENGLISH_ENDS.sub("", word) if elision is None else elision.sub("", word, count=1)
    return bare.replace("'", "")


_ENGLISH_ENDS = re.compile(r"'(?:s|re|ve|ll|d|m)$", re.IGNORECASE)
_ELISIONS = {
    "fr": re.compile(r"(?<!\w)(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)'(?=\w)", re.IGNORECASE),
    "it": re.compile(r"(?<!\w)(?:[clmnstvd]|un|[dns]?[aeou]ll|quell|quest|sant|dov|com)'(?=\w)", re.IGNORECASE),
    "ca": re.compile(r"(?<!\w)[dlmnst]'(?=\w)", re.IGNORECASE),
}


_MARK = re.compile(f"[{COMBINING_MARKS}]")
_ACCENTED = re.compile("[A-Za-z\u00c0-\u024f\u0370-\u03ff\u1e00-\u1fff\u0415\u0435]")  # of Cyrillic ё alone: й is no и
_LETTERS = {"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ı": "i", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d"}


class _Folded(dict[int, str]):
    """Characters by what folding makes of them, worked out when first met."""

    def __missing__(self, point: int) -> str:
        character = chr(point)
        if character.isdecimal():
            kept = str(decimal(character))
        elif _MARK.match(character):
            kept = ""
        else:
            bare = normalize("NFKD", character)
            bare = (_MARK.sub("", bare) if _ACCENTED.match(bare) else character).casefold()
            kept = "".join(_LETTERS.get(each, each) for each in bare)
        self[point] = kept
        return kept


_FOLDED = _Folded()

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
_NOT_LATIN = frozenset({
    "ar", "be", "bg", "bn", "el", "fa", "he", "hi", "hy", "ja", "ka", "km", "ko", "lo", "mk", "ml", "mr", "my", "ne",
    "ru", "ta", "te", "th", "uk", "ur", "yi", "zh",
})  # read in columns  # fmt: skip
_UNSTEMMED = re.compile(r"[\d.+#$@_-]")
_one_at_a_time = threading.Lock()


@lru_cache(64)
def _stemmer(name: str) -> Callable[[str], str] | None:
    import snowballstemmer  # type: ignore[import-untyped]  # it has no types

    if name not in snowballstemmer.algorithms():  # its releases differ in what they know
        return None
    stem: Callable[[str], str] = snowballstemmer.stemmer(name).stemWord
    return stem


# Negations stand in none of these lists, nor do words that name a thing in some documentation ("off", "up", "get").
_STOP_WORDS = {
    code: frozenset(words.split())
    for code, words in {
        "en": """
            a about am an and any are as at be been being but by can could did do does doing done for from had has
            have having he her here him his how i if in into is it its may me might mine must my of on or our ours
            please shall she should so some such than that the their them then there these they this those to us
            want was we were what when where which who whom whose why will with would you your yours
        """,
        "de": """
            aber als am an auch auf aus bei beim bin bis bist da damit dann das dass dein deine dem den denn der des
            dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines
            er es euch euer fur gibt hat habe haben hier ich ihr ihre im in ist ja kann kannst konnen man mein meine
            meinem meinen meiner mich mir mit mochte muss mussen nach ob oder sein seine sich sie sind so soll
            sollen sollte um und uns unser unsere vom von wann warum was welche welcher welches wenn wer werden wie
            wieso will wir wird wo wozu wurde zu zum zur
        """,
        "fr": """
            a ai as au aux avec avoir ce ces cet cette ceci cela ca comment dans de des dois doit du elle elles
            en est et etre eux fait faire faut il ils je la le les leur leurs lui ma mais me mes moi mon
            notre nous on ont ou par peut peux pour pourquoi puis quand que quel quelle quelles quels qui quoi
            sa se ses si son sont suis sur ta te tes toi ton tu un une veux vos votre vous y
        """,
        "es": """
            a al algo como con cual cuales cuando cuanto de debe debo del desde donde e el ella ellas ellos en entre
            era es esa ese eso esta estan estar estas este esto estos estoy fue ha hacer hago han hasta hay la las
            le les lo los me mi mis muy o para pero por porque puede puedo que quien quiero se ser si sobre son soy
            su sus tambien te tengo ti tiene tu tus un una uno unos y ya yo
        """,
        "zh": """
            什么 什麼 怎么 怎麼 怎样 怎樣 如何 为何 為何 哪里 哪裡 哪个 哪個 可以 是否 能否 请问 請問 我们 我們 你们
            你們 这个 這個 那个 那個 么样 么办
        """,
    }.items()
}
_HIRAGANA = re.compile("[\u3041-\u309f]+")
_JAPANESE_NEGATIONS = frozenset({"ない", "なく", "なし", "せん", "ずに"})
