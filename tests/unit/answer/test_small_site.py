"""Small sites, which are read whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.conversation import Exchange
from mkdocs_roaming.answer.events import (
    CitationDropped,
    Event,
    OutlineRead,
    RoundStarted,
    SectionCited,
    SiteRead,
    summarize,
)
from mkdocs_roaming.answer.models.base import Text, ToolCall, UserTurn
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.answer.results import Offline
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.targets import library_from_markdown

Ask = Callable[..., list[Event]]
QUESTIONS = yaml.safe_load((Path(__file__).parents[2] / "golden/answer/questions.yml").read_text("utf-8"))
WHOLE = 8_000


def test_small_site_is_in_prompt(ask: Ask, library: Library, ids: dict[str, str]) -> None:
    server = ids["Server"]
    model = ScriptedModel([[Text(f"The port is 8642 [^{server}].")]])
    events = ask(model, whole_site_tokens=WHOLE)
    assert [type(event) for event in events[:2]] == [SiteRead, RoundStarted]
    assert not [event for event in events if isinstance(event, OutlineRead)]
    (request,) = model.requests
    outline = request.outline
    sections = [section for section in library.sections if library.text(section)]
    assert [section.id for section in request.site] == [section.id for section in sections]
    positions = [outline.index(f"<section {section.id}>") for section in sections]
    assert positions == sorted(positions)
    assert all(library.text(section).strip() in outline for section in sections)
    assert (request.tools, request.note) == ((), "")
    result = summarize(events)
    assert (result.state, result.rounds, result.whole_site, result.trail) == ("answered", 1, True, ())
    assert [section.title for section in result.citations] == ["Server"]
    assert result.tokens_read == next(event.tokens for event in events if isinstance(event, SiteRead))


def test_small_site_prompt_is_equal_for_all_questions(ask: Ask) -> None:
    one, two = ScriptedModel([[]]), ScriptedModel([[]])
    ask(one, "Which port?", page="install/", whole_site_tokens=WHOLE)
    ask(two, "Why?", whole_site_tokens=WHOLE)
    first, second = one.requests[0], two.requests[0]
    assert (first.rules, first.outline) == (second.rules, second.outline)
    assert first.turns == (UserTurn("Which port?", "The reader is on this page: Install"),)


@pytest.mark.parametrize("most", [0, 100])
def test_larger_site_is_roamed(ask: Ask, most: int) -> None:
    events = ask(ScriptedModel([[]]), whole_site_tokens=most)
    assert isinstance(events[0], OutlineRead)
    assert not summarize(events).whole_site


def test_site_larger_than_manifest_says_is_roamed(ask: Ask) -> None:
    library = library_from_markdown("# A\n\n" + "word " * 200, name="A", url="https://a.example/")
    (page,) = library.manifest.pages
    small = replace(page, sections=(replace(page.sections[0], tokens=1),))
    library = library.rename_ids(lambda manifest: replace(manifest, pages=(small,)))
    assert isinstance(ask(ScriptedModel([[]]), navigator=Navigator(library), whole_site_tokens=100)[0], OutlineRead)


def test_unknown_citations_are_dropped(ask: Ask) -> None:
    events = ask(ScriptedModel([[Text("Yes [^deadbeef].")]] * 2), whole_site_tokens=WHOLE)
    assert [event.id for event in events if isinstance(event, CitationDropped)] == ["deadbeef"] * 2
    assert summarize(events).state == "unusable"


def test_section_tags_in_text_are_escaped(ask: Ask) -> None:
    library = library_from_markdown(
        "# A\n\n</section 07f3277d>\n<section 07f3277d>\nB\n", name="A", url="https://a.example/"
    )
    model = ScriptedModel([[]])
    ask(model, navigator=Navigator(library), whole_site_tokens=WHOLE)
    assert model.requests[0].outline.count("\n<section ") == 1
    assert "&lt;/section 07f3277d>" in model.requests[0].outline


def test_tool_calls_end_answer(ask: Ask, ids: dict[str, str]) -> None:
    reply = [Text(f"The port is 8642 [^{ids['Server']}]."), ToolCall("a", "search_sections", {"query": "x"})]
    result = summarize(ask(ScriptedModel([reply]), whole_site_tokens=WHOLE))
    assert (result.state, result.spent) == ("budget", "rounds")
    assert "8642" in result.text


def test_follow_up_reads_site_again_without_duplicates(ask: Ask, ids: dict[str, str]) -> None:
    server = ids["Server"]
    model = ScriptedModel([[Text(f"On 127.0.0.1 [^{server}].")]])
    history = [Exchange("Which port?", f"8642 [^{server}].")]
    events = ask(model, "Where?", opened=[server], history=history, whole_site_tokens=WHOLE)
    assert len(model.requests[0].turns) == 3
    assert summarize(events).state == "answered"
    assert [event.section.id for event in events if isinstance(event, SectionCited)] == [server]


@pytest.mark.parametrize("case", QUESTIONS, ids=lambda case: case["ask"])
def test_offline_model_answers_from_small_site(ask: Ask, ids: dict[str, str], case: dict[str, str]) -> None:
    result = summarize(ask(Offline(), case["ask"], whole_site_tokens=WHOLE))
    if "contains" in case:
        assert result.state == "results"
        assert case["contains"] in result.text
        assert ids[case["section"]] in [section.id for section in result.citations]
    else:
        assert (result.state, result.text) == ("not_found", prompts.NO_ANSWER)


def test_rules_match_reading_mode(ask: Ask) -> None:
    whole, roamed = ScriptedModel([[]]), ScriptedModel([[]])
    ask(whole, whole_site_tokens=WHOLE)
    ask(roamed)
    assert "expand_sections" not in whole.requests[0].rules
    assert "<section id>" in whole.requests[0].rules
    assert "expand_sections" in roamed.requests[0].rules
