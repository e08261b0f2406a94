"""The suggested questions of a built site."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import TYPE_CHECKING, Any

from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.manifest.descriptions import (
    Descriptions,
    SectionTexts,
    merge_texts,
    render_descriptions,
    text_digest,
)

if TYPE_CHECKING:
    from .conftest import Built, Project

VALVES = "# Valves\n\n" + "A valve opens at 40 kPa and lets the tide in. Grease it twice a year. " * 4
SOURCES = {"index.md": "# Pump\n\nFor basins.\n", "valves.md": VALVES}


def suggestions(built: Built, path: str) -> list[str]:
    html = (built.folder / path).read_text("utf-8")
    found = re.search(r'data-suggestions="([^"]*)"', html)
    return json.loads(unescape(found[1])) if found else []


def published(built: Built) -> dict[str, Any]:
    manifest = json.loads((built.folder / "roaming/manifest.json").read_text("utf-8"))
    return {page["path"]: page["questions"] for page in manifest["pages"] if "questions" in page}


def test_front_matter_questions_are_suggested_and_published(mkdocs: Project) -> None:
    """A page without own ones suggests those of the home page."""
    sources = {**SOURCES, "index.md": "---\nquestions: [What is it for?]\n---\n" + SOURCES["index.md"]}
    built = mkdocs(sources, plugins=[], plugin={"widget": True})
    assert suggestions(built, "index.html") == suggestions(built, "valves/index.html") == ["What is it for?"]
    assert published(built) == {"": ["What is it for?"]}


def test_pages_suggest_questions_of_descriptions(mkdocs: Project) -> None:
    first = mkdocs(SOURCES, plugins=[], plugin={"widget": True, "descriptions": "texts.json"})
    library = open_library(first.folder)
    texts = {
        section.id: SectionTexts(section.section.title, text_digest(library.text(section)), asks=("Is it oiled?",))
        for section in library.sections
        if section.section.title == "Valves"
    }
    descriptions = merge_texts(Descriptions(), library.manifest, texts, {})
    (mkdocs.folder / "texts.json").write_bytes(render_descriptions(descriptions))
    built = mkdocs(SOURCES, plugins=[], plugin={"widget": True, "descriptions": "texts.json"})
    assert suggestions(built, "index.html") == suggestions(built, "valves/index.html") == ["Is it oiled?"]
