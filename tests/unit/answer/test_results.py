"""Results instead of an answer: passages, and questions that the documentation does not answer."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tables import read_tables

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.conversation import Exchange
from mkdocs_roaming.answer.events import RoundStarted, SectionOpened, SectionsFound, summarize
from mkdocs_roaming.answer.models.base import ModelRequest, Part
from mkdocs_roaming.answer.results import MAX_RESULTS, Offline, is_elliptic
from mkdocs_roaming.answer.support.check import CITATION
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.snippets import GAP
from mkdocs_roaming.library.targets import library_from_markdown
from mkdocs_roaming.library.texts import LINK
from mkdocs_roaming.search.relevance import name_language
from tests.conftest import MadeSite

from .conftest import Ask

TABLES = read_tables(__file__)


GOLDEN = Path(__file__).parents[2] / "golden" / "answer"
QUESTIONS = yaml.safe_load((GOLDEN / "questions.yml").read_text("utf-8"))


@pytest.mark.parametrize("case", QUESTIONS, ids=lambda case: case["ask"])
def test_offline_answers_documented_questions_and_declines_others(
    ask: Ask, ids: dict[str, str], case: dict[str, str]
) -> None:
    result = summarize(ask(Offline(), case["ask"]))
    if "contains" in case:
        assert result.state == "results"
        assert case["contains"] in result.text
        assert ids[case["section"]] in [section.id for section in result.citations]
    else:
        assert (result.state, result.text, result.withheld) == ("not_found", prompts.NO_ANSWER, 0)
    assert result.dropped_citations == 0
    assert result.model == "offline"


@pytest.mark.parametrize("case", [case for case in QUESTIONS if "contains" in case], ids=lambda case: case["ask"])
def test_results_are_text_of_their_sections(ask: Ask, library: Library, case: dict[str, str]) -> None:
    result = summarize(ask(Offline(), case["ask"]))
    for section, block in zip(result.citations, re.split(r"\s*\[\^[0-9a-f]{8}\]\s*", result.text)[:-1], strict=True):
        title, *paragraphs = block.split("\n\n")
        assert title.startswith(f"**{section.title}**")
        place = library.sections.get(section.id)
        assert place is not None
        for paragraph in paragraphs:
            text = LINK.sub("]()", library.text(place))
            assert paragraph == GAP or LINK.sub("]()", paragraph) in text


def test_offline_finds_names_of_a_question_in_another_language(ask: Ask, ids: dict[str, str]) -> None:
    result = summarize(ask(Offline(), "Was macht die Option server.workers?"))
    assert result.state == "results"
    assert result.text.startswith(f"{name_language('en', 'de')}\n\n**Server**")
    assert [section.id for section in result.citations][:1] == [ids["Server"]]


def test_offline_names_the_language_of_the_site_only_without_names(ask: Ask) -> None:
    result = summarize(ask(Offline(), "Wie heiß wird das Wasser in der Küche?"))
    assert (result.state, result.text) == ("not_found", name_language("en", "de"))
    assert result.not_found is not None
    assert not result.not_found.nearest


@pytest.mark.parametrize("asked", ["Was macht die Option server.workers?", "Wie heiß wird das Wasser?"])
def test_failed_model_names_the_language_of_the_site(ask: Ask, asked: str) -> None:
    class Broken(Offline):
        name = "broken"

        async def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
            raise ConnectionError
            yield

    result = summarize(ask(Broken(), asked))
    assert result.state == "error"
    assert name_language("en", "de") in result.text.split("\n\n")


def test_offline_searches_then_opens_what_it_cites(ask: Ask) -> None:
    events = ask(Offline(), "Which port does it listen on by default?")
    kinds = [type(event) for event in events]
    assert SectionsFound in kinds[: kinds.index(SectionOpened)]
    assert RoundStarted not in kinds
    opened = [event.section for event in events if isinstance(event, SectionOpened)]
    assert list(summarize(events).citations) == opened


def test_offline_follow_up_uses_previous_question(ask: Ask, ids: dict[str, str]) -> None:
    server = ids["Server"]
    history = [Exchange("How many workers does the server have?", f"`server.workers` is 3 [^{server}].")]
    result = summarize(ask(Offline(), "And by default?", opened=[server], history=history))
    assert result.state == "results"
    assert "server.workers" in result.text


def test_short_section_above_others_is_a_result_if_it_says_more_than_its_title(ask: Ask) -> None:
    texts = ["# Fleet\n\nEach truck is washed on Fridays.\n\n## Tyres\n\nThey are changed in spring and in autumn.\n"]
    texts += ["# Pumps\n\nAll about pumps.\n\n## Oil\n\nThe oil of pumps is changed after 310 hours, or each year.\n"]
    library = library_from_markdown("\n".join(texts))
    washed = summarize(ask(Offline(), "when is the truck washed", navigator=Navigator(library)))
    pumps = summarize(ask(Offline(), "the pumps", navigator=Navigator(library)))
    assert [section.title for section in washed.citations] == ["Fleet"]
    assert [section.title for section in pumps.citations] == ["Oil"]


def test_text_of_a_section_is_no_citation_or_markup_of_a_result(ask: Ask) -> None:
    result = summarize(ask(Offline(), "spout tea", navigator=Navigator(library_from_markdown(TABLES["hostile page"]))))
    (citation,) = result.citations
    assert result.state == "results"
    assert CITATION.findall(result.text) == [citation.id]
    assert result.text.endswith(f"```\n\n[^{citation.id}]")
    title, pours, *_ = result.text.split("\n\n")
    assert title.startswith("**The spout ")
    assert pours == "The spout pours tea."
    assert not re.search(r"(?<!\\)(?:\]\(|<|\[\^)", title)


def test_result_has_warnings_and_footnotes_of_its_page(ask: Ask) -> None:
    page = "# Locks\n\n> [!CAUTION]\n> Deprecated.\n\nLocks[^1].\n\n[^1]: Not at night.\n\n[gate]: https://docs.example/gate/\n\n"
    page += "## Opening\n\n> [!NOTE]\n> Since 2.0.\n\n### By hand\n\nTurn the crank[^1] of the [gate][gate].\n"
    result = summarize(ask(Offline(), "turn the crank", navigator=Navigator(library_from_markdown(page))))
    crank = "Turn the crank¹ of the [gate](https://docs.example/gate/)."
    assert f"> [!CAUTION]\n> Deprecated.\n\n{crank}\n\n¹ Not at night." in result.text
    assert "Since 2.0" not in result.text


def test_section_that_cannot_be_read_is_no_result(ask: Ask, make_site: Callable[..., MadeSite]) -> None:
    site = make_site([("a/", "# Crank\n\nTurn the crank at noon.\n"), ("b/", "# Wheel\n\nThe crank has a wheel.\n")])
    library = site.library()
    search = Search(library)
    search.load()
    both = summarize(ask(Offline(), "the crank", navigator=Navigator(library, search=search)))
    assert {section.title for section in both.citations} == {"Crank", "Wheel"}
    for broken, titles, state in (("a/index.md", {"Wheel"}, "results"), ("b/index.md", set[str](), "error")):
        site.files[broken] = "# Changed\n"
        result = summarize(ask(Offline(), "the crank", navigator=Navigator(site.library(), search=search)))
        assert result.state == state
        assert {section.title for section in result.citations} == titles


@pytest.mark.parametrize(("markdown", "language", "question", "wanted"), TABLES["offline answers other languages"])
def test_offline_answers_other_languages(ask: Ask, markdown: str, language: str, question: str, wanted: str) -> None:
    library = library_from_markdown(markdown, name="Kettle", url="https://kettle.example/")
    result = summarize(ask(Offline(), question, navigator=Navigator(library)))
    assert result.state == "results", language
    assert wanted in result.text


@pytest.mark.parametrize(
    ("language", "question", "elliptic"), TABLES["is elliptic finds questions without subject in any language"]
)
def test_is_elliptic_finds_questions_without_subject_in_any_language(
    language: str, question: str, elliptic: bool
) -> None:
    assert is_elliptic(question, language) is elliptic


def test_offline_follow_up_with_own_subject_ignores_previous_question(ask: Ask, ids: dict[str, str]) -> None:
    history = [Exchange("How many workers does the server have?", f"`server.workers` is 3 [^{ids['Server']}].")]
    alone = summarize(ask(Offline(), "how long are old logs kept"))
    after = summarize(ask(Offline(), "how long are old logs kept", history=history))
    assert after.text == alone.text


def test_offline_shows_a_few_results(ask: Ask) -> None:
    result = summarize(ask(Offline(), "kettle server port water default"))
    assert 1 <= len(result.citations) <= MAX_RESULTS
    assert result.support is None


def test_offline_answers_any_question_without_error(ask: Ask) -> None:
    odd: list[Any] = ["", " ", "a" * 5000, "[^deadbeef]", "```", "| a |", "\x00\ud83d", "🫖?", "port " * 400]
    for question in odd:
        assert summarize(ask(Offline(), question)).state in ("results", "not_found"), question[:20]
