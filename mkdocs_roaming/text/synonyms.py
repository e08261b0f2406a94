"""Synonyms and everyday words for searches and answers without a language model."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from mkdocs_roaming.text.languages import base_language, fold, load_phrases, load_words
from mkdocs_roaming.text.tokenizer import Word, parse_query, stem


def find_stem_synonyms(term: str, language: str) -> tuple[str, ...]:
    """Return the stems of words that mean nearly the same as a stemmed English word; a weak hint for search."""
    return _synonyms_by_stem().get(term, ()) if base_language(language) == "en" else ()


def find_synonyms(word: Word, language: str) -> tuple[Word, ...]:
    """Return English words and phrases that mean nearly the same; a phrase is one `Word`."""
    if base_language(language) != "en" and not word.text.isascii():
        return ()
    synonyms = _synonyms_by_word()
    found: dict[Word, None] = {}
    for key in (fold(word.text), stem(word.text)):  # not a set: the order must not depend on the hash seed
        found |= dict.fromkeys(other for other in synonyms.get(key, ()) if other.runs != word.runs)
    return tuple(found)


def is_common_word(word: Word) -> bool:
    """Return whether an English word is so common that its absence from a site says little."""
    return word.text.lower() in load_words("en", "common_words")


@cache
def _synonym_groups() -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(group.split(", ")) for group in load_phrases("en", "synonyms"))


@cache
def _synonyms_by_stem() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for group in _synonym_groups():
        stems = list(dict.fromkeys(stem(word) for word in group if word.isalpha()))
        for one in stems:
            found.setdefault(one, {}).update((other, None) for other in stems if other != one)
    return {one: tuple(others) for one, others in found.items()}


@cache
def _synonyms_by_word() -> Mapping[str, tuple[Word, ...]]:
    found: dict[str, dict[Word, None]] = {}
    for group in _synonym_groups():
        words = [_parse_phrase(member) for member in group]
        for member in group:
            others = [word for other, word in zip(group, words, strict=True) if other != member]
            for key in {fold(member), stem(member)}:
                found.setdefault(key, {}).update(dict.fromkeys(others))
    return {key: tuple(words) for key, words in found.items()}


def _parse_phrase(text: str) -> Word:
    """Parse a phrase as one word whose terms follow each other."""
    words = parse_query(text)
    if len(words) == 1:
        return words[0]
    run = tuple(term for word in words for term in word.terms)
    return Word(text, "".join(run), run, run, (run,))
