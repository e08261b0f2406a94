"""Tokenizer: terms, words, stems and stop words in all scripts."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
import unicodedata
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import snowballstemmer
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_roaming.text import languages, tokenizer

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

CASES: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parents[2] / "golden/words/vectors.json").read_text(encoding="utf-8")
)
LANGUAGES = st.sampled_from(
    ["en", "de", "fr", "pt-BR", "it", "ru", "el", "tr", "ar", "hi", "sr", "ja", "zh", "ko", "th", "xx"]
)
PIECES = st.sampled_from(
    [
        *("timeouts", "HTTPServer", "v1.2.3", "--drain-window", ".NET", "C++", "C#", "1,000", "10MB", "don't", "l'API"),
        *("foo_bar", "ab-\n cd", "/etc/x.yml", '"x"', "++", "#", "'", "’", "ʼ", ".", "-", "_", "\x00", "\ud800"),
        *("Größe", "données", "ǅ", "ß", "ŉ", "İ", "ı", "ё", "й", "\u0301", "\u200b", "\u00ad", "´", "½", "²", "Ⅷ", "٣"),
        *("東京", "タワー", "が", "か\u3099", "서버", "각", "ดาวน์", "हिन्दी", "ۥ"),
    ]
)
TEXTS = st.one_of(
    st.text(max_size=40),
    st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=8).flatmap(
        lambda pieces: st.sampled_from(["", " ", "-", "."]).map(lambda between: between.join(pieces))
    ),
)


def case_id(case: dict[str, Any]) -> str:
    return repr(case["text"])[1:40]


def occurs_in(word: tokenizer.Word, terms: Sequence[str]) -> bool:
    """Return whether the terms of a text match a word, as an index would."""
    if word.prefix:
        return any(term.startswith(word.whole) for term in terms)
    return any(
        tuple(terms[start : start + len(run)]) == run
        for run in word.runs
        for start, term in enumerate(terms)
        if term == run[0]
    )


@pytest.mark.parametrize("case", CASES["terms"], ids=case_id)
def test_extract_terms_returns_expected_terms(case: dict[str, Any]) -> None:
    assert tokenizer.extract_terms(case["text"], case["language"]) == case["terms"]


@pytest.mark.parametrize("case", CASES["query"], ids=case_id)
def test_parse_query_returns_distinct_words_with_stop_words_marked(case: dict[str, Any]) -> None:
    words = [
        {
            "text": word.text,
            "whole": word.whole,
            "parts": list(word.parts),
            "runs": [list(run) for run in word.runs],
            "stop": word.stop,
            "prefix": word.prefix,
        }
        for word in tokenizer.parse_query(case["text"], case["language"])
    ]
    assert words == case["words"]


@pytest.mark.parametrize("case", CASES["tokens"], ids=case_id)
def test_estimate_tokens_returns_expected_number(case: dict[str, Any]) -> None:
    assert tokenizer.estimate_tokens(case["text"]) == case["tokens"]


@pytest.mark.parametrize("case", CASES["find"], ids=case_id)
def test_occurs_in_matches_other_spellings_of_a_word(case: dict[str, Any]) -> None:

    def hit(question: str) -> bool:
        words = tokenizer.parse_query(question, case["language"])
        return bool(words) and all(
            occurs_in(word, tokenizer.extract_terms(case["text"], case["language"])) for word in words
        )

    assert [query for query in case["found_by"] if not hit(query)] == []
    assert [query for query in case["not_by"] if hit(query)] == []


@given(TEXTS, LANGUAGES)
def test_terms_contain_no_separators_and_are_short(text: str, language: str) -> None:
    for term in tokenizer.extract_terms(text, language):
        assert term
        assert term.split() == [term]
        assert '"' not in term
        assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in term)
        assert len(term) <= 110


@given(TEXTS, LANGUAGES)
def test_every_word_of_a_text_occurs_in_its_terms(text: str, language: str) -> None:
    terms = tokenizer.extract_terms(text, language)
    assert [word.text for word in tokenizer.parse_query(text, language) if not occurs_in(word, terms)] == []
    for run in tokenizer.split_words(text):
        assert all(occurs_in(word, terms) for word in tokenizer.parse_query(run, language)), run
    assert tokenizer.extract_terms(text, language) == terms


@given(TEXTS, LANGUAGES)
def test_terms_of_parsed_words_equal_terms_of_the_text(text: str, language: str) -> None:
    assert [term for word in tokenizer.parse_words(text, language) for term in word.terms] == tokenizer.extract_terms(
        text, language
    )


@given(TEXTS, TEXTS, LANGUAGES)
def test_terms_of_joined_texts_are_the_terms_of_each(one: str, other: str, language: str) -> None:
    together = tokenizer.extract_terms(f"{one} {other}", language)
    assert together == tokenizer.extract_terms(one, language) + tokenizer.extract_terms(other, language)


@given(TEXTS)
def test_fold_is_idempotent_and_ignores_case_and_composition(text: str) -> None:
    folded = languages.fold(text)
    assert languages.fold(folded) == folded
    assert languages.fold(unicodedata.normalize("NFC", text)) == languages.fold(unicodedata.normalize("NFD", text))


@pytest.mark.parametrize(("text", "folded"), TABLES["fold_removes_case_and_accents_but_keeps_distinct_letters"])
def test_fold_removes_case_and_accents_but_keeps_distinct_letters(text: str, folded: str) -> None:
    assert languages.fold(text) == folded


@pytest.mark.parametrize("word", ["no", "not", "nor", "without", "never", "none", "cannot", "don't"])
def test_negations_are_not_stop_words(word: str) -> None:
    assert not tokenizer.is_stop_word(word)


@pytest.mark.parametrize(("word", "language", "stop"), TABLES["stop_words_depend_on_language_and_script"])
def test_stop_words_depend_on_language_and_script(word: str, language: str, stop: bool) -> None:
    assert tokenizer.is_stop_word(word, language) is stop


def test_parse_query_keeps_words_if_all_are_stop_words() -> None:
    assert [word.text for word in tokenizer.parse_query("how do I do it")] == ["how", "do", "I", "it"]


@pytest.mark.parametrize(("word", "language", "stem"), TABLES["stem_depends_on_language_and_script"])
def test_stem_depends_on_language_and_script(word: str, language: str, stem: str) -> None:
    assert tokenizer.stem(word, language) == stem


def test_stem_is_correct_when_called_from_several_threads() -> None:
    words = [f"{head}{tail}" for head in ("connect", "install", "nation", "relat", "gener") for tail in TAILS]
    stemmer = snowballstemmer.stemmer("english")
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(tokenizer.stem, words)) == [stemmer.stemWord(word) for word in words]


TAILS = [
    f"{middle}{end}" for middle in ("ion", "al", "iv", "ing", "ed") for end in ("s", "ism", "ly", "ness", "ity", "es")
]


def test_import_does_not_load_stemmers() -> None:
    code = "import sys, mkdocs_roaming.text.tokenizer; print('snowballstemmer' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
