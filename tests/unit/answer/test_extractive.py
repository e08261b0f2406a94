"""The offline model: what it finds, what it quotes, and when it says that the docs do not answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.conversation import Exchange
from mkdocs_roaming.answer.events import Event, SectionOpened, SectionsDropped, SectionsFound, summarize
from mkdocs_roaming.answer.models.base import NO_SOURCE, Request, Stop, Text, UserTurn
from mkdocs_roaming.answer.models.extractive import ExtractiveModel, compute_reply
from mkdocs_roaming.answer.models.passages import GAP, TextTerms, weigh_words
from mkdocs_roaming.library.library import Library, library_from_markdown
from mkdocs_roaming.library.navigator import Navigator

Ask = Callable[..., list[Event]]

GOLDEN = Path(__file__).parents[2] / "golden" / "answer"
QUESTIONS = yaml.safe_load((GOLDEN / "questions.yml").read_text("utf-8"))


@pytest.mark.parametrize("case", QUESTIONS, ids=lambda case: case["ask"])
def test_it_answers_what_the_docs_say_and_declines_the_rest(
    ask: Ask, ids: dict[str, str], case: dict[str, str]
) -> None:
    """The literal asked for is there, its section is cited; where the docs are silent nothing is said."""
    result = summarize(ask(ExtractiveModel(), case["ask"]))
    if "contains" in case:
        assert result.state == "answered"
        assert case["contains"] in result.text
        assert ids[case["section"]] in [section.id for section in result.citations]
    else:
        assert (result.state, result.text, result.withheld) == ("not_found", "", 1)
    assert result.dropped_citations == 0
    assert result.model == "offline"


@pytest.mark.parametrize("case", [case for case in QUESTIONS if "contains" in case], ids=lambda case: case["ask"])
def test_every_line_of_an_answer_stands_in_a_section_that_it_cites(
    ask: Ask, library: Library, case: dict[str, str]
) -> None:
    """Citations taken off and gaps cut out, an answer is made of the docs' own words."""
    result = summarize(ask(ExtractiveModel(), case["ask"]))
    texts = [library.text(place) for section in result.citations if (place := library.sections.get(section.id))]
    bare = re.sub(r"[ \t]*\[\^[0-9a-f]{8}\]", "", result.text)
    for line in bare.splitlines():
        for piece in line.split(GAP):
            assert any(piece.strip() in text for text in texts), piece


def test_the_same_question_gets_the_same_events(ask: Ask) -> None:
    """Nothing in it depends on time, chance or the order of a set."""
    question = "how long does boil.hold keep the water hot"
    assert ask(ExtractiveModel(), question) == ask(ExtractiveModel(), question)


def test_it_roams_as_any_model_does(ask: Ask) -> None:
    """It searches, opens several sections in parallel, and opens what it cites."""
    events = ask(ExtractiveModel(), "Which port does it listen on by default?")
    kinds = [type(event) for event in events]
    assert SectionsFound in kinds[: kinds.index(SectionOpened)]
    assert kinds.count(SectionOpened) > 1
    result = summarize(events)
    assert {section.id for section in result.citations} <= {
        section.id for event in events if isinstance(event, SectionOpened) for section in (event.section, *event.inside)
    }


def test_without_tools_it_says_what_it_can(ask: Ask) -> None:
    """In a last round it answers from what is open, or honestly not at all."""
    assert summarize(ask(ExtractiveModel(), "Which port?", budget=Budget(rounds=1))).state == "not_found"
    parts = list(compute_reply(Request("", "", (UserTurn("Which port?"),))))
    assert parts == [Text(f"{prompts.NO_ANSWER_HERE} [^{NO_SOURCE}]"), Stop()]


def test_a_follow_up_is_read_with_the_question_before(ask: Ask, ids: dict[str, str]) -> None:
    """`And how many?` means what was spoken of."""
    server = ids["Server"]
    history = [Exchange("How many workers does the server have?", f"`server.workers` is 3 [^{server}].")]
    result = summarize(ask(ExtractiveModel(), "And by default?", opened=[server], history=history))
    assert result.state == "answered"
    assert "server.workers" in result.text


def test_a_small_room_is_enough(ask: Ask) -> None:
    """It answers from what is left open when sections had to close."""
    events = ask(ExtractiveModel(), "Which port does it listen on by default?", budget=Budget(open_chars=250))
    assert any(isinstance(event, SectionsDropped) for event in events)
    assert "8642" in summarize(events).text


def test_its_answer_keeps_within_the_output_limit(ask: Ask) -> None:
    """Passages that do not fit are left out whole; the first always stands."""
    question = "Which port does it listen on by default?"
    long = summarize(ask(ExtractiveModel(), question))
    short = summarize(ask(ExtractiveModel(), question, budget=Budget(output_tokens=60)))
    assert short.state == "answered"
    assert len(short.text) < len(long.text)
    assert all(paragraph in long.text for paragraph in short.text.split("\n\n"))


def test_orders_in_a_section_are_text(ask: Ask) -> None:
    """A page that gives orders is quoted at most, never obeyed."""
    events = ask(ExtractiveModel(), "what is the password")
    result = summarize(events)
    assert all(section.title == "Notes of a stranger" for section in result.citations)
    assert len([event for event in events if isinstance(event, SectionOpened)]) < 12


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
def test_other_languages_are_answered_in_their_own_words(
    ask: Ask, markdown: str, language: str, question: str, wanted: str
) -> None:
    """Quotes need no translation; words are read as the site's language has them."""
    library = library_from_markdown(markdown, name="Kettle", url="https://kettle.example/")
    result = summarize(ask(ExtractiveModel(), question, navigator=Navigator(library)))
    assert result.state == "answered", language
    assert wanted in result.text


def weights(question: str, *documents: str) -> dict[str, float]:
    return {one.word.text: one.weight for one in weigh_words(question, "", documents, "en")}


def test_rare_words_and_names_weigh_most() -> None:
    """What is on every page says little, an identifier says most, everyday words say least."""
    documents = [f"The kettle boils {word}." for word in ("tea", "water", "milk", "soup")]
    found = weights("kettle with milk and server.port and something", *documents, "server.port is a port")
    assert found["server.port"] > found["milk"] > found["kettle"]
    assert found["milk"] > found["something"]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("maximum size", "At most 3 MB."),
        ("how do I disable it", "Turn off the switch."),
        ("recalibrate", "Calibrated twice."),
        ("configuraton", "The configuration."),
    ],
)
def test_kindred_and_misspelt_words_count(question: str, text: str) -> None:
    """People put things in their own words, and mistype them."""
    assert any(TextTerms(text, "en").holds(one) for one in weigh_words(question, "", [text, "Something else."], "en"))


def test_answers_hold_for_any_question(ask: Ask) -> None:
    """Odd questions do not break it."""
    odd: list[Any] = ["", " ", "a" * 5000, "[^deadbeef]", "```", "| a |", "\x00\ud83d", "🫖?", "port " * 400]
    for question in odd:
        assert summarize(ask(ExtractiveModel(), question)).state in ("answered", "not_found"), question[:20]
