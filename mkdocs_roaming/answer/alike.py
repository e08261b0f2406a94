"""Words that mean much the same in documentation, for models that know words only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import cache

from mkdocs_roaming.roam import synonyms
from mkdocs_roaming.words import Word, fold, query, stem


def alike(one: Word, language: str) -> tuple[Word, ...]:
    """Give what says much the same as an English word; phrases count as one word."""
    if language.partition("-")[0] != "en" and not one.text.isascii():
        return ()
    groups = _groups()
    found: dict[Word, None] = {}
    for key in {fold(one.text), stem(one.text)}:
        found |= dict.fromkeys(other for other in groups.get(key, ()) if other.runs != one.runs)
    return tuple(found)


def is_common(one: Word) -> bool:
    """Tell whether a word is one that everybody uses all day, so that its absence from a site says little."""
    return one.text.lower() in _COMMON


def misspelt(one: Word, known: Iterable[str]) -> str | None:
    """Give the known stem that a word nobody knows was probably meant to have: `recalibrate` → `calibrate`."""
    text = one.parts[-1] if len(one.parts) == 1 else ""
    if len(text) < _SHORTEST or not text.isalpha():
        return None
    best, likeness = None, _LIKE
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(text)
    for other in known:
        if text.startswith(other) and len(other) >= max(_STEM, 0.6 * len(text)):
            return other  # a misspelt ending, which no stemmer takes off
        if abs(len(other) - len(text)) > 2 or not (other[0] == text[0] or text.endswith(other)):
            continue
        matcher.set_seq1(other)
        if matcher.real_quick_ratio() > likeness and matcher.quick_ratio() > likeness and matcher.ratio() > likeness:
            best, likeness = other, matcher.ratio()
    return best


_SHORTEST = 5
_STEM = 6
_LIKE = 0.85


@cache
def _groups() -> dict[str, tuple[Word, ...]]:
    groups: dict[str, dict[Word, None]] = {}
    for members in synonyms.groups():
        words = [_phrase(member) for member in members]
        for member in members:
            others = [word for other, word in zip(members, words, strict=True) if other != member]
            for key in {fold(member), stem(member)}:
                groups.setdefault(key, {}).update(dict.fromkeys(others))
    return {key: tuple(words) for key, words in groups.items()}


def _phrase(text: str) -> Word:
    """Read a phrase as one word: its terms must follow one another."""
    words: Sequence[Word] = query(text)
    if len(words) == 1:
        return words[0]
    run = tuple(term for word in words for term in word.terms)
    return Word(text, "".join(run), run, run, (run,))


_COMMON = frozenset(
    """
able about above actually add after again ago all almost alone along already also always any anybody anyone anything
anyway apart around ask asked asks away back bad badly because become before begin behind believe below better between
big bit both bring brings brought came certain clear close come comes common completely correct correctly could couple
day days deal different do does doing done down during each easily easy either else end enough entire even ever every
everybody everyone everything exact fact fail far fast few find fine first five follow followed following for found
four full further gave general getting give given gives go goes going gone good great guess had half hand happen
happened happens hard has have having head hear held here high hold hope hour idea immediately important in inside
instead into it its itself job keep keeps kept kind knew large last late later least leave left less let life little
live long longer look looking looks lot lots low main made makes making man many matter maybe me mean means meant met
mind minute minutes moment month months more most mostly much must my myself name near nearly necessary never new next
nice night no nobody none normal normally not nothing notice now number off often old on once one only open opened or
order other others otherwise our out over own part past people perhaps person pick piece place plain plan plus point
possibly present pretty probably problem put puts quick quickly quite ran rather reach read ready real reason recent
recently reliable right run running runs safe said same saw say says second see seem seems seen send sends sent set
several should show shown side similar simple simply since single sit six sleep slow small so some somebody somehow
someone something sometimes soon sort start started stay stays still stop stopped stopping stops straight such suddenly
sure take taken takes taking talk ten than that them themselves then there they thing think third this though thought
three through till tight time times today together told tomorrow too took top toward tried try trying turn turned turns
twice two under understand unless until up upon us usual usually very wait waiting want wants was watch way we week
weeks well went were what whatever when where whether which while who whole why will wish with within without won word
words working worse would write wrong year years yes yesterday yet you your
    """.split()  # noqa: SIM905 -- a list of words is read best as words
)
