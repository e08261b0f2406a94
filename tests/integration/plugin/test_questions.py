"""The suggested questions of a built site."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    """A page without own ones suggests those of the home page; without the widget nothing is published."""
    sources = {**SOURCES, "index.md": "---\nquestions: [What is it for?]\n---\n" + SOURCES["index.md"]}
    built = mkdocs(sources, plugins=[], plugin={"widget": True})
    assert suggestions(built, "index.html") == suggestions(built, "valves/index.html") == ["What is it for?"]
    assert published(built) == {"": ["What is it for?"]}
    assert published(mkdocs(sources, plugins=[], plugin={"widget": False})) == {}


def test_model_writes_questions_of_changed_pages_only(mkdocs: Project, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    reply = {"questions": [{"question": "When does a valve open?", "literal": "40 kPa"}]}
    script.write_text(json.dumps([[{"text": json.dumps(reply)}]]))
    plugin = {"widget": {"questions_model": f"scripted:{script}"}}
    first = mkdocs(SOURCES, plugins=[], plugin=plugin)
    assert suggestions(first, "valves/index.html") == ["When does a valve open?"]
    assert published(first) == {"valves/": ["When does a valve open?"]}
    assert any("wrote questions for 1 page" in message for message in first.messages())
    script.write_text("[]")
    second = mkdocs(SOURCES, plugins=[], plugin=plugin)
    assert suggestions(second, "valves/index.html") == ["When does a valve open?"]
    assert not any("questions" in message for message in second.messages())
