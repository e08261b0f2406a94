"""A text as words and literals: numbers, versions, flags, paths, identifiers, addresses, each as one token."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal
from unicodedata import normalize

from mkdocs_roaming import languages
from mkdocs_roaming.answer.support.opposites import Opposites, opposites
from mkdocs_roaming.answer.support.sentences import code_spans
from mkdocs_roaming.words import fold, is_stop, stem

Kind = Literal["word", "break", "number", "version", "flag", "path", "identifier", "url"]


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a literal or a sign that parts clauses; `key` is what it is compared by."""

    kind: Kind
    text: str
    start: int
    key: str
    stop: bool = False
    code: bool = False
    """Whether it stands in inline code, or in a line of code."""

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def family(self) -> str:
        """What it can be mistaken for: another `number`, another `name`; of a plain word nothing."""
        if self.kind in ("number", "version"):
            return "number"
        return "name" if self.kind not in ("word", "break") or (self.code and self.kind == "word") else ""


def tokens(text: str, language: str = "en", *, code: bool = False) -> list[Token]:
    """Give the tokens of a text in its order; `code` tells that all of it is code."""
    known, edge, found = opposites(language), 0, list[Token]()
    for start, end in [(0, len(text))] if code else [(start, end) for start, end, _ in code_spans(text)]:
        found += _tokens(text[edge:start], edge, _TOKEN, language, known)
        found += (replace(each, code=True) for each in _tokens(text[start:end], start, _IN_CODE, language, known))
        edge = end
    found += _tokens(text[edge:], edge, _TOKEN, language, known)
    return found


def is_negation(token: Token, known: Opposites) -> bool:
    """Tell whether a word negates: `not`, `don't`, `n'est`."""
    if token.kind != "word" or token.code:
        return False
    word = fold(token.text).replace("’", "'")
    return word in known.negations or word.endswith(known.endings) or word.startswith(known.beginnings)


def number_key(text: str, thousands: str = ",") -> str:
    """Give a number or a version as it is compared: no `v`, no sign between thousands, one kind of digits and minus."""
    plain = normalize("NFKC", text).replace("−", "-").lower()
    if grouped := _GROUPED.fullmatch(plain):
        signs = set(grouped[1]) - set("0123456789-")
        if signs == {thousands} or not signs & set(".,"):
            plain = "".join(each for each in grouped[1] if each.isdecimal() or each == "-") + grouped[2]
    return plain.removeprefix("v") if "." in plain else plain


def _tokens(text: str, offset: int, reader: re.Pattern[str], language: str, known: Opposites) -> Iterator[Token]:
    for match in reader.finditer(text):
        kind, run, start = match.lastgroup, match[0], offset + match.start()
        if kind == "break":
            yield Token("break", run, start, run)
        elif kind == "number":
            plain = "." in run.strip(".") and (run.count(".") > 1 or run[0] in "vV" or run[-1].isalpha())
            yield Token("version" if plain else "number", run, start, number_key(run, known.thousands))
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
                yield from _tokens(run, start, _NO_PATH, language, known)
        elif kind == "joined":
            yield Token("identifier", run, start, run)
        else:
            yield from _names(run, start, language, known)


def _names(run: str, start: int, language: str, known: Opposites) -> Iterator[Token]:
    """Give a name as one identifier, or as the words that it is."""
    if not run.isascii() and _SPACELESS.search(run):
        for part in _SPACELESS_OR_NOT.finditer(run):
            at = start + part.start()
            if _SPACELESS.match(part[0]):
                yield from (_word(cut[0], at + cut.start(), language) for cut in known.pieces.finditer(part[0]))
            else:
                yield from _tokens(part[0], at, _NO_PATH, language, known)
    elif run.isdecimal():
        yield Token("number", run, start, number_key(run))
    elif digits := known.numbers.get(fold(run)):
        yield Token("number", run, start, digits)
    elif _is_identifier(run):
        yield Token("identifier", run, start, run.replace("\\", "").removesuffix("()"))
    else:
        bare = run.strip("_")
        yield _word(bare, start + run.index(bare), language) if bare else Token("break", run, start, run)


def _word(run: str, start: int, language: str) -> Token:
    key = fold(run).replace("’", "'")
    if not key.endswith("n't"):
        key = stem(languages.untie(run, languages.code(language)), language)
    return Token("word", run, start, key, is_stop(run, language))


def _is_path(run: str) -> bool:
    """Tell a path from alternatives, `read/write`, and from a ratio, `1/2`."""
    if run[0] in "/~.$" or run[-1] == "/":
        return len(run) > 1
    parts = run.split("/")
    if all(part.replace(".", "").isdigit() for part in parts):
        return False
    return len(parts) > 2 or any(_is_identifier(part) or "-" in part for part in parts)


def _is_identifier(run: str) -> bool:
    """Tell a name that is written in one way only from a word."""
    if run.isalpha():
        return bool(_CAMEL.search(run))
    if _ABBREVIATION.fullmatch(run) or "'" in run or "’" in run:
        return False
    return run.startswith("__") or (run[0] == "_") != (run[-1] == "_") or not run.strip("_").isalpha()


_GROUPED = re.compile(r"(-?\d{1,3}(?:[.,'’_\u00a0\u202f ]\d{3})+)((?:[.,]\d+)?)")
_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2,}[a-z]{2,}")
_ABBREVIATION = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")

_SCRIPTS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_SPACELESS = re.compile(f"[{_SCRIPTS}\uf900-\ufaff\U00020000-\U0003ffff]")
_SPACELESS_OR_NOT = re.compile(f"{_SPACELESS.pattern}+|[^{_SPACELESS.pattern[1:]}+")

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
_JOINED = r"(?P<joined>[^\W\d_]\w*+(?:-[^\W\d_]\w*+)++)"
_TOKEN = re.compile("|".join([_URL, _FLAG, _PATH, _NUMBER, _NAME, _BREAK]))
_IN_CODE = re.compile("|".join([_URL, _FLAG, _PATH, _NUMBER, _JOINED, _NAME, _BREAK]))
_NO_PATH = re.compile("|".join([_FLAG, _NUMBER, _NAME, _BREAK]))
