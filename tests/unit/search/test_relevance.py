"""The estimate of whether a site answers a query."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import library_from_markdown
from mkdocs_roaming.library.tools import SearchResults, render
from mkdocs_roaming.manifest.models import Site
from mkdocs_roaming.search.relevance import LOW_CONFIDENCE, MIN_CONFIDENCE, NO_ANSWER
from mkdocs_roaming.text.languages import load_phrases

HARBOUR = """# Harbour

Gauges measure the tide of a basin.

## Gauges

A gauge sends one reading a second over its serial line. Calibrate a gauge in spring.

## Alarms

An alarm is raised when the tide exceeds a threshold. Reminder mails follow every 25 minutes.

## Backup

`ebb backup` copies the journal to another disk.
"""


@pytest.fixture(scope="module")
def search() -> Search:
    return Search(library_from_markdown(HARBOUR, name="Harbour", url="https://harbour.example/"))


@pytest.mark.parametrize(
    ("question", "is_about_site"),
    [
        ("how often does a gauge send a reading?", True),
        ("when is a tide alarm raised", True),
        ("time between two reminder mails", True),
        ("how do I sign the contributor licence agreement", False),
        ("deploy a websocket proxy to a Kubernetes cluster", False),
        ("the of", False),
        ("", False),
    ],
)
def test_confidence_is_high_for_questions_about_the_site_only(
    search: Search, question: str, is_about_site: bool
) -> None:
    assert (search.confidence(question) >= MIN_CONFIDENCE) == is_about_site


SETTINGS = """# Pump

Set `max_backflow` in litres. `prime: true` fills the line, and `--settle` waits. Ask for the FlowGuard licence.

## Colours

Green means idle, amber means busy. A retry is amber.

"""


@pytest.fixture(scope="module")
def settings() -> Search:
    """Return a site that unrelated questions fit, too: without its names, nearly all questions are declined."""
    notes = "".join(f"## Note\n\n{text}.\n\n" for text in load_phrases("en", "relevance.unrelated_questions"))
    return Search(library_from_markdown(SETTINGS + notes, name="Pump", url="https://pump.example/"))


@pytest.mark.parametrize(
    ("question", "has_name"),
    [
        ("what does the max_backflow option do?", True),
        ("what does the prime option do?", True),
        ("what does the settle option do?", True),
        ("what does the --settle option do?", True),
        ("can my team read the FlowGuard document on a Kubernetes proxy?", True),
        ("what does the `idle` option do?", True),
        ("what does the backflow.max.retry option do?", False),
        ("what does the max_back option do?", False),
        ("does the kubernetes deployment of a websocket proxy have a prime mode?", False),
        ("e.g. how do I sign the contributor agreement", False),
    ],
)
def test_confidence_is_high_for_name_that_section_contains_verbatim(
    settings: Search, question: str, has_name: bool
) -> None:
    """Parts of names, and words of long questions, are no names."""
    assert (settings.confidence(question) >= MIN_CONFIDENCE) == has_name
    assert not (has_name and settings.judge(question))


@pytest.mark.parametrize(
    ("query", "doubtful"),
    [
        ("tide alarm threshold", False),
        ("deploy a websocket proxy to another node of a Kubernetes cluster", True),
        ("zyxomma", False),
    ],
)
def test_search_sections_says_above_its_hits_that_none_probably_is_an_answer(
    search: Search, query: str, doubtful: bool
) -> None:
    library = search.library
    assert isinstance(library, Library)
    results = Navigator(library, search=search).search_sections(query)
    assert isinstance(results, SearchResults)
    assert results.confidence == search.confidence(query)
    text = render(results)
    assert text.startswith(NO_ANSWER) is doubtful
    assert text.count(NO_ANSWER) == doubtful


def test_search_doubts_hits_in_a_language_without_word_shares_too(make_site: Callable) -> None:
    site = Site("Hafen", "https://docs.example/p/", language="de")
    german = Search(make_site([("a/", "# Hafen\n\nPegel messen die Tide.\n")], site=site).library())
    assert german.judge("Kubernetes mit Pegel und Proxy verteilen") == NO_ANSWER
    assert not german.judge("Wie messen Pegel die Tide?")


def test_search_does_not_doubt_an_address(search: Search) -> None:
    assert not search.judge(next(iter(search.library.sections)).id)


def test_follow_up_is_doubted_less(settings: Search) -> None:
    question = "which colour has a busy pump"
    assert LOW_CONFIDENCE <= settings.confidence(question) < MIN_CONFIDENCE
    assert settings.judge(question) == NO_ANSWER
    assert not settings.judge(question, is_follow_up=True)
