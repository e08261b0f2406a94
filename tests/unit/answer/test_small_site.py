"""Small sites, which are read whole."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mkdocs_roaming.answer.events import (
    OutlineRead,
    RoundStarted,
    SiteRead,
    summarize,
)
from mkdocs_roaming.answer.models.base import Text
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.targets import library_from_markdown

from .conftest import Ask

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
    assert (result.state, result.rounds, result.whole_site, result.steps) == ("answered", 1, True, ())
    assert [section.title for section in result.citations] == ["Server"]
    assert result.tokens_read == next(event.tokens for event in events if isinstance(event, SiteRead))


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
