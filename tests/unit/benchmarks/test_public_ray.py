"""The set of questions of Ray's users: places of addresses, scores, and lists of sources made comparable."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from public.ray import PUBLISHED, URL, Place, Question, find_place, iter_published, measure, score_places

from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.targets import open_library

QUESTIONS = [
    Question("How is a pump primed?", f"{URL}prime.html#fill"),
    Question("When is the tide low?", f"{URL}tides.html"),
    Question("What does fill return?", f"{URL}api/doc/pump.fill.html"),
]
PRIME = "<p>Fill it before each start.</p><section id='fill'><h2>Fill</h2><p>Open the valve, then fill the pump.</p></section>"


@pytest.fixture
def library(data: Path, tmp_path: Path) -> Library:
    site = tmp_path / "site"
    measure(data, site)
    return open_library(str(site))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with both checkouts; every system found five generated pages, a page twice, and a section."""
    data = tmp_path / "data"
    for path, body in (
        ("prime", PRIME),
        ("tides", "<p>Low tide is at noon.</p>"),
        ("index", "<p>Pumps and tides.</p>"),
    ):
        page = (
            f"<html><head><title>{path}</title></head><body><div role='main'><h1>{path}</h1>{body}</div></body></html>"
        )
        _write(data / f"ray/doc/_build/html/{path}.html", page)
    lines = (json.dumps({"question": each.question, "source": each.source}) for each in QUESTIONS)
    _write(data / "llm-applications/datasets/eval-dataset-v1.jsonl", "\n".join(lines))
    generated = [f"{URL}api/doc/pump.{name}.html" for name in ("fill", "drain", "prime", "stop", "start")]
    sources = [*generated, f"{URL}tides.html", f"{URL}tides.html#gone", f"{URL}prime.html#fill"]
    answers = json.dumps({"results": [{"question": each.question, "sources": sources} for each in QUESTIONS]})
    for name in PUBLISHED.values():
        _write(data / f"llm-applications/experiments/responses/{name}.json", answers)
    for repository in ("ray", "llm-applications"):
        for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
            identity = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
            subprocess.run(["git", "-C", data / repository, *identity, *command], check=True)
    return data


def test_find_place_of_page_section_and_unknown_page(library: Library) -> None:
    fill = find_place(library, f"{URL}prime.html#fill")

    assert fill is not None
    assert (fill.page, bool(fill.section)) == ("prime.html", True)
    assert find_place(library, f"{URL}index.html") == Place("")
    assert find_place(library, f"{URL}prime.html#gone") == Place("prime.html")
    assert find_place(library, f"{URL}api/doc/pump.fill.html") is None


def test_score_places_counts_each_page_once_for_pages_and_each_section_once_for_sections() -> None:
    found = [Place("a", "1"), *(Place("a", str(number)) for number in range(1, 6)), Place("b", "9")]

    scores = score_places(found, Place("b", "9"))

    assert (scores["page 1"], scores["page 5"]) == (0.0, 1.0)
    assert (scores["section 5"], scores["section 13"]) == (0.0, 1.0)


def test_score_places_without_right_section_has_pages_only() -> None:
    assert set(score_places([Place("a", "1")], Place("a"))) == {"page 1", "page 5", "page 13"}


def test_published_sources_outside_the_documentation_count_only_among_all(data: Path, library: Library) -> None:
    golds = {number: place for number in (1, 2) if (place := find_place(library, QUESTIONS[number - 1].source))}

    rows = list(iter_published(data / "llm-applications/experiments/responses", library, QUESTIONS, golds))

    tides = next(row for row in rows if row.number == 2)
    assert (tides.scores["page 1"], tides.scores["page 5 all"], tides.scores["page 13 all"]) == (1.0, 0.0, 1.0)


def test_published_answers_to_other_questions_are_refused(data: Path, library: Library) -> None:
    with pytest.raises(SystemExit, match="not about the questions"):
        list(iter_published(data / "llm-applications/experiments/responses", library, QUESTIONS[:2], {}))


def test_measure_leaves_out_questions_without_a_page(data: Path, tmp_path: Path) -> None:
    report = measure(data, tmp_path / "library")

    assert report.facts["questions with a page"] == 2
    assert report.facts["questions with a section"] == 1
    search = [row.scores["page 1"] for row in report.rows if row.method == "`roaming search`"]
    assert search == [1.0, 1.0]


def test_measure_without_built_documentation_names_the_help(data: Path, tmp_path: Path) -> None:
    (data / "ray/doc/_build/html").rename(data / "elsewhere")

    with pytest.raises(SystemExit, match="not built"):
        measure(data, tmp_path / "library")


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
