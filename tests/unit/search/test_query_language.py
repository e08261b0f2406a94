"""Questions in another language than the site's."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import yaml

from mkdocs_roaming.library.search import Search
from mkdocs_roaming.manifest.models import Site
from mkdocs_roaming.search.relevance import NO_ANSWER, name_language
from tests.conftest import make

GOLDEN = Path(__file__).parents[2] / "golden"
QUESTIONS = yaml.safe_load((GOLDEN / "languages" / "questions.yml").read_text("utf-8"))
BY_LANGUAGE = {name: asked for name, asked in QUESTIONS.items() if len(name) == 2}


@cache
def _open(file: str, language: str) -> Search:
    site = Site("Docs", "https://docs.example/", language=language)
    return Search(make([("a/", (GOLDEN / file).read_text("utf-8"))], site=site).library())


def _judge(file: str, language: str, question: str) -> str:
    note = _open(file, language).judge(question)
    return "" if note == NO_ANSWER else note


@pytest.mark.parametrize(
    ("language", "question"), [(name, one) for name, asked in BY_LANGUAGE.items() if name != "en" for one in asked]
)
def test_question_in_another_language_is_answered_in_it_with_the_language_of_the_site(
    language: str, question: str
) -> None:
    note = _judge("answer/kettle.md", "en", question)
    assert note in (name_language("en", language), name_language("en", ""))


@pytest.mark.parametrize(("site", "name"), [("de", "German"), ("fr", "French"), ("ja", "Japanese")])
def test_question_in_english_is_told_from_those_in_the_language_of_the_site(site: str, name: str) -> None:
    notes = [_judge(f"languages/{site}.md", site, question) for question in BY_LANGUAGE["en"]]
    assert [note for note in notes if not note.startswith(f"These docs are in {name}.")] == []
    assert not [question for question in BY_LANGUAGE[site] if _judge(f"languages/{site}.md", site, question)]


@pytest.mark.parametrize("question", BY_LANGUAGE["en"] + QUESTIONS["english"])
def test_question_in_english_is_accepted_on_english_site(question: str) -> None:
    assert not _judge("answer/kettle.md", "en", question)


@pytest.mark.parametrize(
    ("site", "question"), [(site, one) for site, asked in QUESTIONS["sites"].items() for one in asked]
)
@pytest.mark.parametrize("is_declared", [True, False])
def test_question_in_the_language_of_the_pages_is_accepted(site: str, question: str, is_declared: bool) -> None:
    assert not _judge(f"languages/{site}.md", site if is_declared else "en", question)


def test_language_of_a_site_without_a_name_is_not_shown() -> None:
    assert name_language("<b>", "de") == name_language("tlh", "en")
    assert "another language" in name_language("tlh", "en")


def test_names_of_a_question_in_another_language_are_found() -> None:
    search = _open("answer/kettle.md", "en")
    assert search.find_names("Was macht die Option server.workers?") == "server.workers"
    assert search.find_names("サーバーの `server.workers` はどう設定しますか") == "server.workers"
    assert not search.find_names("Wie heiß wird das Wasser in der Küche?")


def test_abbreviation_is_a_name_of_a_question_in_another_language() -> None:
    text = f"# Kettle\n\nThe kettle has TLS. {'It boils the water in a while. ' * 60}\n"
    search = Search(make([("a/", text)]).library())
    assert search.find_names("Wie richte ich in meiner Küche den Kessel mit TLS ein?") == "TLS"
    assert not search.find_names("WIE RICHTE ICH IN MEINER KÜCHE DEN KESSEL MIT TLS EIN?")
