"""Words are found however they are written, in every script, by an index as well as at hand."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import process_time
from typing import Any

import pytest
import snowballstemmer
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_roaming.text import tokenizer as words

VECTORS: dict[str, list[dict[str, Any]]] = json.loads(
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


def named(case: dict[str, Any]) -> str:
    return repr(case["text"])[1:40]


@pytest.mark.parametrize("case", VECTORS["terms"], ids=named)
def test_a_text_gives_its_terms(case: dict[str, Any]) -> None:
    """What stands in the index is what the vectors say."""
    assert words.extract_terms(case["text"], case["language"]) == case["terms"]


@pytest.mark.parametrize("case", VECTORS["query"], ids=named)
def test_a_question_gives_its_words(case: dict[str, Any]) -> None:
    """A question's words come once each, with all that finds them; stop words are marked and stay."""
    got = [
        {
            "text": word.text,
            "whole": word.whole,
            "parts": list(word.parts),
            "runs": [list(run) for run in word.runs],
            "stop": word.stop,
            "prefix": word.prefix,
        }
        for word in words.parse_query(case["text"], case["language"])
    ]
    assert got == case["words"]


@pytest.mark.parametrize("case", VECTORS["tokens"], ids=named)
def test_tokens_are_estimated(case: dict[str, Any]) -> None:
    """An estimate is a quarter of the characters, or the words and signs where those are more."""
    assert words.estimate_tokens(case["text"]) == case["tokens"]


@pytest.mark.parametrize("case", VECTORS["find"], ids=named)
def test_what_is_written_one_way_is_found_written_another(case: dict[str, Any]) -> None:
    """Each way to write it finds it; what merely looks alike does not."""

    def hit(question: str) -> bool:
        asked = words.parse_query(question, case["language"])
        return bool(asked) and all(
            words.occurs_in(word, words.extract_terms(case["text"], case["language"])) for word in asked
        )

    assert [query for query in case["found_by"] if not hit(query)] == []
    assert [query for query in case["not_by"] if hit(query)] == []


@pytest.mark.parametrize("case", VECTORS["find"], ids=named)
def test_a_full_text_index_finds_the_same(case: dict[str, Any]) -> None:
    """SQLite's index, fed with the terms, answers as `found` does: runs are phrases, a single character is a prefix."""

    def one(word: words.Word) -> str:
        quoted = ['"' + " ".join(run) + '"' + "*" * word.prefix for run in word.runs]
        return "(" + " OR ".join(quoted) + ")"

    database = sqlite3.connect(":memory:")
    signs = "".join(sign for sign in map(chr, range(33, 127)) if not sign.isalnum() and sign not in "'\"")
    database.execute(f"""CREATE VIRTUAL TABLE t USING fts5(terms, tokenize = "ascii tokenchars '{signs}'")""")
    database.execute("INSERT INTO t VALUES (?)", [" ".join(words.extract_terms(case["text"], case["language"]))])

    def hit(question: str) -> bool:
        match = " AND ".join(map(one, words.parse_query(question, case["language"])))
        return bool(database.execute("SELECT 1 FROM t WHERE t MATCH ?", [match]).fetchall())

    assert [query for query in case["found_by"] if not hit(query)] == []
    assert [query for query in case["not_by"] if hit(query)] == []
    database.close()


@given(TEXTS, LANGUAGES)
@settings(max_examples=500)
def test_terms_can_be_joined_by_spaces(text: str, language: str) -> None:
    """No term is empty or holds white space, a double quote, a control character or more than a few more than 100."""
    for term in words.extract_terms(text, language):
        assert term
        assert term.split() == [term]
        assert '"' not in term
        assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in term)
        assert len(term) <= 110


@given(TEXTS, LANGUAGES)
@settings(max_examples=500)
def test_every_word_of_a_text_finds_it(text: str, language: str) -> None:
    """A question made of a text's own words finds the text, and finds it the same way twice."""
    terms = words.extract_terms(text, language)
    assert [word.text for word in words.parse_query(text, language) if not words.occurs_in(word, terms)] == []
    for run in words.split_words(text):
        assert all(words.occurs_in(word, terms) for word in words.parse_query(run, language)), run
    assert words.extract_terms(text, language) == terms


@given(TEXTS, LANGUAGES)
@settings(max_examples=500)
def test_words_leave_the_terms_of_their_text(text: str, language: str) -> None:
    """A text's words, one by one, leave what the text leaves as a whole."""
    assert [term for word in words.parse_words(text, language) for term in word.terms] == words.extract_terms(
        text, language
    )


@given(TEXTS, TEXTS, LANGUAGES)
@settings(max_examples=500)
def test_texts_side_by_side_do_not_touch(one: str, other: str, language: str) -> None:
    """Two texts with a space between them leave the terms of the one, then those of the other."""
    together = words.extract_terms(f"{one} {other}", language)
    assert together == words.extract_terms(one, language) + words.extract_terms(other, language)


@given(TEXTS)
@settings(max_examples=500)
def test_folding_twice_changes_nothing(text: str) -> None:
    """A folded text stays as it is, and its case and composition never mattered."""
    folded = words.fold(text)
    assert words.fold(folded) == folded
    assert words.fold(unicodedata.normalize("NFC", text)) == words.fold(unicodedata.normalize("NFD", text))


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Größe", "grosse"),
        ("ÉTÉ", "ete"),
        ("Œuvre Ærø Łódź", "oeuvre aero lodz"),
        ("İı", "ii"),
        ("Σίσυφος", "σισυφοσ"),
        ("Ёй", "ей"),
        ("が", "が"),
        ("ﾊﾞ", "バ"),
        ("한글", "한글"),
        ("שָׁלוֹם", "שלום"),
        ("٣", "3"),
    ],
)
def test_folding_takes_case_and_accents(text: str, folded: str) -> None:
    """Case and accents go; voicing marks, Hangul syllables and the Cyrillic й, letters of their own, stay."""
    assert words.fold(text) == folded


@pytest.mark.parametrize("word", ["no", "not", "nor", "without", "never", "none", "cannot", "don't"])
def test_negations_are_no_stop_words(word: str) -> None:
    """A question's "without" is never taken for a word that says nothing."""
    assert not words.is_stop_word(word)


@pytest.mark.parametrize(
    ("word", "language", "stop"),
    [
        ("How", "en", True),
        ("timeout", "en", False),
        ("für", "de", True),
        ("nicht", "de", False),
        ("où", "fr", True),
        ("être", "fr", True),
        ("sans", "fr", False),
        ("cómo", "es-MX", True),
        ("sin", "es", False),
        ("怎么", "zh", True),
        ("する", "ja", True),
        ("ない", "ja", False),
        ("the", "ja", True),
        ("the", "xx", False),
    ],
)
def test_stop_words_go_by_the_language(word: str, language: str, stop: bool) -> None:
    """Each language has its own stop words; English ones count beside scripts that are not Latin."""
    assert words.is_stop_word(word, language) is stop


def test_every_word_may_be_a_stop_word() -> None:
    """A question of nothing but stop words keeps them all."""
    assert [word.text for word in words.parse_query("how do I do it")] == ["how", "do", "I", "it"]


@pytest.mark.parametrize(
    ("word", "language", "stem"),
    [
        ("Timeouts", "en", "timeout"),
        ("installations", "fr-CA", "install"),
        ("Häusern", "de_AT", "haus"),
        ("aplicações", "PT-br", "aplic"),
        ("настройки", "ru", "настройк"),
        ("timeouts", "ru", "timeout"),
        ("настройки", "en", "настройки"),
        ("timeouts", "xx", "timeouts"),
        ("timeouts", "", "timeouts"),
        ("sha256", "en", "sha256"),
    ],
)
def test_stems_go_by_language_and_script(word: str, language: str, stem: str) -> None:
    """A region is no matter; an unknown language has no stems; English has none for words that are not Latin."""
    assert words.stem(word, language) == stem


def test_stems_are_right_in_threads() -> None:
    """Servers ask from several threads at once, and each gets the stem of its own word."""
    asked = [f"{head}{tail}" for head in ("connect", "install", "nation", "relat", "gener") for tail in TAILS]
    stemmer = snowballstemmer.stemmer("english")
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(words.stem, asked)) == [stemmer.stemWord(word) for word in asked]


TAILS = [
    f"{middle}{end}" for middle in ("ion", "al", "iv", "ing", "ed") for end in ("s", "ism", "ly", "ness", "ity", "es")
]


def test_importing_words_is_cheap() -> None:
    """The stemmers are imported when the first word is stemmed, not before."""
    code = "import sys, mkdocs_roaming.text.tokenizer; print('snowballstemmer' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def best(action: Callable[[], object]) -> float:
    times = []
    for _ in range(7):
        start = process_time()
        action()
        times.append(process_time() - start)
    return min(times)


def test_long_pages_are_read_quickly() -> None:
    """Reading a page whose words are known costs a few times as much as a plain regular expression."""
    page = (Path(__file__).parents[2] / "golden/words/vectors.json").read_text(encoding="ascii", errors="ignore")
    prose = "Set `drain_window` in config.yml, then restart the HTTPServer with --force; see https://x.example/a/b. "
    text = (page[:3000] + prose * 270)[:30_000]
    plain = best(lambda: re.findall(r"\w+", text.lower()))
    assert best(lambda: words.extract_terms(text)) < 12 * plain
    assert best(lambda: words.estimate_tokens(text)) < 12 * plain


@pytest.mark.parametrize(
    "sign", ["a" * 50_000, "a-" * 25_000, "-" * 50_000, "1,000" * 9_000, "aB1" * 9_000, "か" * 50_000]
)
def test_no_text_takes_for_ever(sign: str) -> None:
    """What repeats itself for pages is read in a moment all the same."""
    start = process_time()
    words.extract_terms(sign)
    assert process_time() - start < 5
