"""The home page of the documentation: its recorded answers, and what it says about the files of the site."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anyio
import html2text
import pytest
import recordings
from recordings import Recording

from mkdocs_roaming.library.targets import open_library

pytestmark = pytest.mark.slow

TOLERANCE = 0.1
"""Share by which a size or a number on the page may differ from that of the site."""
ROOT = Path(__file__).parents[3]
HOME = ROOT / "docs/index.md"
RECORDINGS = recordings.read_recordings()


def play(recording: Recording, site: Path) -> dict[str, list[Any]]:
    """Return the parts of a recording by their types."""

    async def collect() -> list[dict[str, Any]]:
        return [part async for part in recordings.play(recording, site)]

    parts: dict[str, list[Any]] = {}
    for part in anyio.run(collect):
        parts.setdefault(part["type"], []).append(part)
    return parts


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda one: one.ask)
def test_recorded_answer_is_that_of_the_loop_and_was_read_with_its_sections_as_they_are(
    recording: Recording, documentation: Path
) -> None:
    """After a change read the answer again, correct it, and write the new digest into website/recordings.yml."""
    assert recordings.find_changed(recording, documentation) == []
    changed = Recording(recording.ask, {"ffffffff": "0" * 8} | dict.fromkeys(recording.cited, "0" * 8), [])
    assert recordings.find_changed(changed, documentation) == list(changed.cited)
    parts = play(recording, documentation)
    (status,) = parts["data-status"]
    cited = {part["id"] for part in parts["data-section"] if part["data"]["state"] == "cited"}
    assert cited == set(recording.cited)
    assert status["data"].state == ("answered" if cited else "not_found")
    assert all(not part["data"].marks for part in parts["data-support"])


def test_sizes_and_numbers_are_those_of_the_site(documentation: Path) -> None:
    tree = find_block("```text\nsite/\n")
    sizes = {name: int(size) for name, size in re.findall(r"── ([\w./-]+) +(\d+) KB", tree)}
    assert len(sizes) == 5
    for name, size in sizes.items():
        (path,) = (path for path in (documentation / name, documentation / "roaming" / name) if path.is_file())
        assert path.stat().st_size / 1000 == pytest.approx(size, rel=TOLERANCE, abs=1)
    library = open_library(documentation)
    assert f"all {len(library.manifest.pages)} pages" in tree
    (sections,) = re.findall(r"each of (\d+) sections", tree)
    assert len(library.sections) == pytest.approx(int(sections), rel=TOLERANCE)


def test_page_as_html_converters_return_it_begins_with_the_excerpt(documentation: Path) -> None:
    converted = html2text.html2text((documentation / "index.html").read_text("utf-8"))
    header, title, text = converted.partition("# Your docs answer questions")
    excerpt = list_lines(find_block('```text title="html2text index.html"\n'))
    (skipped,) = re.findall(r"…(\d+) lines", excerpt[1])
    assert excerpt[0] == list_lines(converted)[0]
    assert header.count("\n") == pytest.approx(int(skipped), rel=TOLERANCE)
    assert list_lines(title + text)[: len(excerpt) - 2] == excerpt[2:]


def test_published_page_begins_with_the_excerpt(documentation: Path) -> None:
    published = (documentation / "index.md").read_text("utf-8")
    excerpt = list_lines(find_block('````markdown title="index.md"\n'))
    assert list_lines(published[published.index("# Your docs") :])[: len(excerpt)] == excerpt


def test_readme_shows_lines_of_llms_txt(documentation: Path) -> None:
    excerpt = list_lines(find_block("```markdown\n# mkdocs-roaming", ROOT / "README.md"))
    published = (documentation / "llms.txt").read_text("utf-8").splitlines()
    assert len(excerpt) == 6
    assert [line for line in excerpt if line != "…" and line not in published] == []


def find_block(start: str, file: Path = HOME) -> str:
    """Return the code block of a page that starts so, without the start."""
    _, found, text = file.read_text("utf-8").partition(start)
    assert found
    return text[: text.index("\n```")]


def list_lines(text: str) -> list[str]:
    """Return the lines that are not empty. The excerpts are wrapped after the first sentence of a paragraph."""
    return [line.strip() for line in text.replace("agents. Two", "agents.\nTwo").splitlines() if line.strip()]
