"""What a section says that can be asked for: its title, what it defines, the cells of its tables, its commands."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Literal

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.evals.generating import english
from mkdocs_roaming.evals.generating.blocks import below_heading, commands, prose, tables
from mkdocs_roaming.evals.generating.wording import WORDINGS, Wording, is_name, language_of, of_title
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.text.languages import base_language, fold
from mkdocs_roaming.text.markdown import strip_markup

Kind = Literal["command", "cell", "definition", "flag", "title"]
"""In the order in which they are preferred: the rarer first."""

KINDS: tuple[Kind, ...] = ("command", "cell", "definition", "flag", "title")


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that can be asked for: the question, the section that answers, literals of a right answer."""

    kind: Kind
    place: SectionRef
    ask: str
    contains: tuple[str, ...] = ()


def facts(library: Library) -> list[Fact]:
    """Give all that can be asked of a site, in its order, but for what sections would answer differently."""
    library.prefetch()
    places = [place for place in library.sections if not _is_history(place)]
    titles = Counter(fold(place.section.title) for place in library.sections)
    found = [fact for place in places for fact in _of_section(library, place, titles)]
    return _unambiguous(found)


def _of_section(library: Library, place: SectionRef, titles: Counter[str]) -> Iterator[Fact]:
    try:
        text = library.text(place)
    except LibraryError:
        return
    site = base_language(library.manifest.site.language)
    body = below_heading(text)
    language = language_of(place.section.title + body[:200], site)
    words = WORDINGS.get(language)
    if words is not None:
        paragraphs = prose(body)
        yield from _commands(place, body, language, words)
        yield from _tables(place, body, language, words)
        yield from _definitions(place, paragraphs, words)
    if len(body.split()) >= _LEAST or language in ("ja", "zh"):
        yield from _title(library, place, text, titles, language_of(place.section.title, site))


def _title(library: Library, place: SectionRef, text: str, titles: Counter[str], language: str) -> Iterator[Fact]:
    title = " ".join(_EMOJI.sub("", place.section.title).split()).rstrip(":")
    bare = fold(title).strip(" .:!?")
    if not 3 <= len(title) <= 70 or bare in _GENERIC or _NO_TITLE.search(title) or len(title.split()) > 9:
        return
    if titles[fold(place.section.title)] > 1 or (_is_home(library, place) and not is_name(title)):
        return  # what stands on a home page praises more than it tells
    coded = _is_code(title, text)
    if coded and not _TERM.fullmatch(title):
        return
    if is_name(title) and not coded and not re.search(r"[_.(]|^-", title):
        return  # a product's name, rather
    if is_name(title) or coded:
        does = WORDINGS[language if language in WORDINGS else "en"].does
        yield Fact("title", place, does.format(re.sub(r"\(.*\)$", "", title)))
        return
    if language != "en":
        yield Fact("title", place, of_title(title, _around(library, place, title) if place.position else "", language))
        return
    if (len(title.split()) == 1 and place.position) or _NO_NOUN.match(title) or not english.is_asked_for(title):
        return  # a common word, or no thing: it says too little by itself
    if re.search(r" [A-Z]", title) and re.search(rf"[a-z,] \[?{re.escape(title)}\b", below_heading(text)):
        yield Fact("title", place, f"How do I use {title}?")  # a name: the text writes it so
        return
    shown = _cased(title, text)
    if shown.split()[0].endswith("ing") and english.to_do(shown) is None and len(shown.split()) > 1:
        return  # a doing of a verb that is not known: it cannot be put into a question
    yield Fact("title", place, of_title(shown, "", language))


def _is_code(title: str, text: str) -> bool:
    """Tell whether a title is written as code: in its heading as a whole, or somewhere below."""
    heading = next((line for line in text.split("\n") if line.startswith("#")), "")
    if re.fullmatch(r"#+ `[^`]+`\s*", heading):
        return True
    return is_name(title) and re.search(rf"`[^`\n]*\b{re.escape(title)}\b|\b{re.escape(title)}\(", text) is not None


def _is_home(library: Library, place: SectionRef) -> bool:
    return place.page.path == "" and len(library.manifest.pages) > 1


def _around(library: Library, place: SectionRef, title: str) -> str:
    """Give the title above a single word, which by itself says too little."""
    above = library.sections.parent(place)
    if above is None or len(title.split()) > 1 or language_of(title, "") or len(above.section.title.split()) > 3:
        return ""
    return above.section.title if fold(above.section.title) not in _GENERIC else ""


def _definitions(place: SectionRef, paragraphs: Sequence[str], words: Wording) -> Iterator[Fact]:
    for paragraph in paragraphs:
        match = words.defined.match(paragraph)
        term = match["term"].strip() if match else ""
        if match and _TERM.fullmatch(term) and not _PRONOUN.fullmatch(term) and len(term.split()) <= 4:
            article = (match.groupdict().get("article") or "").lower()
            what = "What are {0}?" if words is WORDINGS["en"] and re.search(r"[*_`] are ", paragraph) else words.what
            ask = words.does.format(term) if is_name(term) else what.format(article + term)
            yield Fact("definition", place, ask)


def _tables(place: SectionRef, body: str, language: str, words: Wording) -> Iterator[Fact]:
    for header, rows in tables(body):
        names = [fold(name) for name in header]
        meaning = next((at for at, name in enumerate(names) if at and name in words.meanings), None)
        for row in rows:
            key = _key(row[0])
            if not key or len(row) != len(header):
                continue
            for at in range(1, len(header)):
                if at != meaning and (
                    fact := _cell(
                        place,
                        header[at],
                        names[at],
                        key,
                        row[at],
                        language,
                        words,
                        parameter=bool(_DULL & set(names[1:])),
                    )
                ):
                    yield fact
            if meaning is not None and is_name(key.split()[0]) and not _DULL & set(names[1:]):
                yield from _flag(place, key, row[meaning], language, words)


def _cell(
    place: SectionRef,
    header: str,
    name: str,
    key: str,
    cell: str,
    language: str,
    words: Wording,
    *,
    parameter: bool,
) -> Fact | None:
    value = strip_markup(cell).strip()
    if (
        not 1 < len(value) <= 40
        or _TRIVIAL.fullmatch(fold(value))
        or name in _DULL
        or not re.search(r"\d|\w{3}", value)
    ):
        return None
    shown = key.split()[0] if is_name(key.split()[0]) else _lower(key) if language == "en" else key
    if place.position and (parameter or (len(key.split()) == 1 and not is_name(key))):
        shown += words.inside.format(place.section.title)
    if name in words.defaults:
        return Fact("cell", place, words.default.format(shown), (value,))
    if is_name(key.split()[0]) or not 2 < len(header) <= 25 or len(header.split()) > 3 or not re.search(r"\d", value):
        return None
    if not re.fullmatch(r"[\w\s'’-]+", header) or (language == "en" and not _NUMBERED.fullmatch(name)):
        return None
    column = strip_markup(header) if language != "en" else _lower(strip_markup(header))
    return Fact("cell", place, words.cell.format(shown, column), (value,))


def _flag(place: SectionRef, key: str, about: str, language: str, words: Wording) -> Iterator[Fact]:
    phrase = re.split(r"(?<=[\w)])[.;](?:\s|$)|[。；]", strip_markup(about).strip(), maxsplit=1)[0].rstrip(".")
    name = key.split()[0].split("=")[0]
    if not 10 <= len(phrase) <= 70 or _PRONOUN.search(phrase) or name in phrase or len(phrase.split()) > 11:
        return
    if language != "en":
        yield Fact("flag", place, words.flag.format(phrase.removesuffix("です")), (name,))
        return
    kind = "option" if name.startswith("-") else "setting" if re.search(r"[._]", name) else None
    if kind is None or not re.search("[a-z]", phrase):
        return
    phrase = _lower(phrase)
    doing = english.to_do(phrase)
    if english.is_third_person(phrase):
        ask = f"Which {kind} {phrase}?"
    elif doing and phrase.split()[0] == doing.split()[0]:
        ask = f"Which {kind} do I need to {doing}?"
    elif re.match(r"(?:the |an? |longest |shortest |most |least |maximum |minimum |number |name |path )", phrase):
        article = "" if re.match(r"(?:the|an?) ", phrase) else "the "
        ask = f"Which {kind} sets {article}{phrase}?"
    else:
        return
    yield Fact("flag", place, ask, (name,))


def _commands(place: SectionRef, body: str, language: str, words: Wording) -> Iterator[Fact]:
    for lead, command in commands(body):
        sentence = re.split(r"(?<=[.!?。])\s+", strip_markup(lead).strip())[-1]
        match = words.lead.match(sentence)
        line = next((one.removeprefix("$ ").strip() for one in command.split("\n") if one.strip(" $")), "")
        if not match or not 4 <= len(line) <= 60 or line.startswith(("#", ">", "//")) or "…" in line or "..." in line:
            continue
        doing = next(filter(None, match.groups()), "")
        if language == "en":
            phrase = english.to_do(doing[:1].lower() + doing[1:])
            if phrase is None or _PRONOUN.search(phrase) or len(phrase.split()) < 3:
                continue
            phrase = re.sub(r"\s+(?:with|by|using|as follows|like this|like so|run)$", "", phrase)
        else:
            phrase = doing
        yield Fact("command", place, words.command.format(phrase), (line,))


# Small things


def _key(cell: str) -> str:
    key = strip_markup(cell).split(",")[0].strip()
    return key if 2 <= len(key) <= 40 and re.search(r"[^\W\d_]{2}", key) else ""


def _cased(title: str, text: str) -> str:
    """Give a title as it would stand in a sentence: without capitals where the text writes its words without them."""
    below = re.sub(r"(`+).*?\1", "", below_heading(text), flags=re.DOTALL)

    def cased(word: str) -> str:
        if not re.fullmatch(r"[A-Z][a-z'’-]*", word) or word == "I":
            return word
        small = word.lower()
        capital = len(re.findall(rf"(?<=[a-z,] ){re.escape(word)}\b", below))
        return word if capital and not re.search(rf"\b{re.escape(small)}\b", below) else small

    return " ".join(cased(word) for word in title.split())


def _lower(phrase: str) -> str:
    return phrase[:1].lower() + phrase[1:] if re.match(r"[A-Z][a-z]", phrase) else phrase


def _is_history(place: SectionRef) -> bool:
    """Tell whether a section stands in a change log: nobody asks for one release's notes by their title."""
    titles = [section.title for section in place.page.sections]
    dated = sum(bool(_RELEASE.search(title)) for title in titles)
    return (dated >= 3 and dated * 4 >= len(titles)) or _NOT_ASKED.search(place.page.path) is not None


def _unambiguous(found: Sequence[Fact]) -> list[Fact]:
    """Leave out what is asked twice with different answers."""
    answers: dict[str, set[tuple[str, tuple[str, ...]]]] = {}
    for fact in found:
        answers.setdefault(fold(fact.ask), set()).add((fact.place.id, fact.contains))
    seen: set[str] = set()
    kept = []
    for fact in found:
        key = fold(fact.ask)
        if len(answers[key]) == 1 and key not in seen:
            seen.add(key)
            kept.append(fact)
    return kept


_LEAST = 12  # words: a section of fewer answers little
_EMOJI = re.compile("[\U0001f000-\U0001faff\u2190-\u21ff\u2600-\u27bf\ufe0f¶]")
_NO_TITLE = re.compile(
    r"^v?\d+[\d.]*\b|^\d+[a-z]?[.)]|\b\d{4}\b|https?:|^[^\w`¿-]|[<>{}\\…–]|\bit\b|\bexamples?$|\bthis\b|\bthem\b", re.I
)
_NO_NOUN = re.compile(
    r"(?:on|in|at|by|to|for|from|with|without|before|after|during|as|about|via|"
    r"inside|outside|under|easy|great|optional) ",
    re.IGNORECASE,
)
_NOT_ASKED = re.compile(r"release|change-?log|licen[sc]e|sponsor|third-party|(?:^|/)blog/|conduct", re.IGNORECASE)
_RELEASE = re.compile(r"^(?:version )?v?\d+\.\d+|\b(?:19|20)\d\d-\d\d|\b(?:19|20)\d\d\)?$", re.IGNORECASE)
_TERM = re.compile(r"(?=.*[^\W\d_]{2}|.*[\u3041-\u9fff])[^<>{}\[\]]*[^<>{}\[\]:?!=]")
_PRONOUN = re.compile(r"\b(?:it|this|that|these|those|they|them|here|there|following|above|below|its)\b", re.I)
_TRIVIAL = re.compile(
    r"sentinel\.unset|unset|none|null|nil|false|true|yes|no|off|on|oui|non|sí|ja|nein|required|optional|n/a|[-–—]|str|int|bool|"
    r"string|boolean|integer|list|dict|any|empty|always|never|varies|undefined"
)
_NUMBERED = re.compile(
    r"(?:port|size|unit|limit|maximum|minimum|max|min|time|timeout|interval|speed|rate|version|code|mode|price|range|value|"
    r"weight|length|width|height|depth|accuracy|resolution|duration|count|number|variable|path|address)s?"
)
_DULL = frozenset(fold(one) for one in ("type", "required", "name", "typ", "tipo", "型", "类型", "status", "link"))
_GENERIC = frozenset((resources.files(__package__) / "generic_titles.txt").read_text("utf-8").split("\n"))
"""Titles that many sections have, and that nobody would ask for by themselves."""
