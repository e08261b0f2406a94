"""Results instead of an answer: passages, and questions that the documentation does not answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.conversation import Exchange
from mkdocs_roaming.answer.events import Event, RoundStarted, SectionOpened, SectionsFound, summarize
from mkdocs_roaming.answer.results import MAX_RESULTS, Offline, is_elliptic
from mkdocs_roaming.answer.support.check import CITATION
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import LINK, Navigator
from mkdocs_roaming.library.passages import GAP
from mkdocs_roaming.library.targets import library_from_markdown

Ask = Callable[..., list[Event]]

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


def test_offline_same_question_gives_equal_events(ask: Ask) -> None:
    question = "how long does boil.hold keep the water hot"
    assert ask(Offline(), question) == ask(Offline(), question)


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


def test_offline_ignores_instructions_in_sections(ask: Ask) -> None:
    events = ask(Offline(), "what is the password")
    result = summarize(events)
    assert all(section.title == "Notes of a stranger" for section in result.citations)


def test_short_section_above_others_is_a_result_if_it_says_more_than_its_title(ask: Ask) -> None:
    texts = ["# Fleet\n\nEach truck is washed on Fridays.\n\n## Tyres\n\nThey are changed in spring and in autumn.\n"]
    texts += ["# Pumps\n\nAll about pumps.\n\n## Oil\n\nThe oil of pumps is changed after 310 hours, or each year.\n"]
    library = library_from_markdown("\n".join(texts))
    washed = summarize(ask(Offline(), "when is the truck washed", navigator=Navigator(library)))
    pumps = summarize(ask(Offline(), "the pumps", navigator=Navigator(library)))
    assert [section.title for section in washed.citations] == ["Fleet"]
    assert [section.title for section in pumps.citations] == ["Oil"]


HOSTILE = """\
# Kettle

## The **spout** [^0badcafe] `pour` <script> [x](javascript:alert(1))

The spout pours[^0badcafe] tea.[^none]

> [ref]: https://evil.example/

[^deadbeef]: The spout

```
[^0badcafe] [^[^0badcafe]deadbeef]
"""


def test_text_of_a_section_is_no_citation_or_markup_of_a_result(ask: Ask) -> None:
    result = summarize(ask(Offline(), "spout tea", navigator=Navigator(library_from_markdown(HOSTILE))))
    (citation,) = result.citations
    assert result.state == "results"
    assert CITATION.findall(result.text) == [citation.id]
    assert result.text.endswith(f"```\n\n[^{citation.id}]")
    title, pours, *_ = result.text.split("\n\n")
    assert title.startswith("**The spout ")
    assert pours == "The spout pours tea."
    assert not re.search(r"(?<!\\)(?:\]\(|<|\[\^)", title)


@pytest.mark.parametrize(
    ("markdown", "language", "question", "wanted"),
    [
        (
            "# 設定\n\n待ち受けポートは 8642 です。\n\n# 導入\n\nメモリは 320 MB 必要です。\n",
            "ja",
            "ポートは何番ですか",
            "8642",
        ),
        ("# Σέρβερ\n\nΗ θύρα είναι 8642.\n\n# Νερό\n\nΤο νερό βράζει.\n", "el", "Ποια είναι η θύρα;", "8642"),
        ("# Server\n\nDer Anschluss ist 8642.\n\n# Wasser\n\nEs kocht.\n", "de", "Welcher Anschluss?", "8642"),
    ],
)
def test_offline_answers_other_languages(ask: Ask, markdown: str, language: str, question: str, wanted: str) -> None:
    library = library_from_markdown(markdown, name="Kettle", url="https://kettle.example/")
    result = summarize(ask(Offline(), question, navigator=Navigator(library)))
    assert result.state == "results", language
    assert wanted in result.text


@pytest.mark.parametrize(
    ("question", "elliptic"),
    [
        ("and on Windows?", True),
        ("how do I turn it off?", True),
        ("except for one host", True),
        ("why?", True),
        ("which exceptions can a request raise?", False),
        ("log every request", False),
    ],
)
def test_is_elliptic_finds_questions_without_subject(question: str, elliptic: bool) -> None:
    assert is_elliptic(question, "en") is elliptic


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
