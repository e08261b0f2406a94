"""Answers on the sample site: their citations lead to published pages."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from urllib.parse import unquote, urldefrag

import anyio
import lxml.html
import pytest
import yaml

from mkdocs_roaming.answer.events import Answer, collect_answer
from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.results import Offline
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import open_library

pytestmark = pytest.mark.slow

QUESTIONS = Path(__file__).parents[3] / "sample_site" / "questions.yml"


@pytest.fixture(scope="module")
def answers(sample: Path) -> list[tuple[Answer, Navigator]]:
    """The answers to all questions of questions.yml, and the navigators that opened their sections."""
    library = open_library(str(sample))
    search = Search(library)
    asked = [question["ask"] for question in yaml.safe_load(QUESTIONS.read_text("utf-8"))["questions"]]

    async def one(question: str) -> tuple[Answer, Navigator]:
        navigator = Navigator(library, search=search)
        return await collect_answer(answer(question, navigator, Offline())), navigator

    return [anyio.run(partial(one, question)) for question in asked]


def test_citations_are_opened_sections_whose_urls_lead_to_published_anchors(
    answers: list[tuple[Answer, Navigator]], sample: Path
) -> None:
    for each, navigator in answers:
        assert {section.id for section in each.citations} <= set(navigator.opened), each.text
    library = open_library(str(sample))
    sources = {section.url for each, _ in answers for section in each.citations}
    assert len(sources) > 40
    for url in sources:
        page, anchor = urldefrag(url)
        assert page.startswith(library.manifest.site.url)
        html = sample / unquote(page.removeprefix(library.manifest.site.url)) / "index.html"
        ids = lxml.html.fromstring(html.read_bytes()).xpath("//@id")
        assert not anchor or unquote(anchor) in ids, url
