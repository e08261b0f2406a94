"""The set of newcomers' questions: the questions, the sections that answer them, and the scores."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from public.methods import SearchMethod
from public.newcomers import SITES, Question, find_sections, iter_rows, open_site, read_questions

from mkdocs_roaming import Page, open_library, publish_pages
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search

PUMPS = (
    '<h1>Pumps</h1><h2 id="prime">Prime</h2><p>Open the upper valve before you fill the pump.</p>'
    '<h2 id="stop">Stop</h2><p>Close the lower valve.</p>'
)
TIDES = '<h1>Tides</h1><h2 id="levels">Levels</h2><p>A level is measured each minute.</p>'


@pytest.fixture
def library(tmp_path: Path) -> Library:
    pages = [Page("pumps/", "Pumps", article=PUMPS), Page("tides/", "Tides", article=TIDES)]
    publish_pages(pages, tmp_path / "site", url="https://docs.example/", name="Harbour")
    return open_library(str(tmp_path / "site"))


@pytest.mark.parametrize("name", SITES)
def test_questions_of_a_site_are_complete(name: str) -> None:
    questions = read_questions(name)
    asked = [question.ask for question in questions]

    assert len(set(asked)) == len(asked) == 43
    assert [bool(question.answers) for question in questions] == [True] * 40 + [False] * 3
    assert [bool(question.facts) for question in questions] == [True] * 17 + [False] * 26
    follow_ups = [question.follow_up for question in questions if question.follow_up]
    assert len(follow_ups) == 5
    assert all(each.answers and each.facts for each in follow_ups)


def test_sections_that_answer_are_found_by_their_addresses(library: Library) -> None:
    found = find_sections(library, Question("Which valve?", ("pumps/#prime", "tides/")))

    titles = [section.section.title for id_ in found if (section := library.sections.get(id_))]
    assert titles == ["Prime", "Tides"]
    assert list(found.values()) == ["pumps/", "tides/"]


@pytest.mark.parametrize("address", ["pumps/#drain", "boats/"])
def test_address_that_the_site_does_not_have_exits(address: str, library: Library) -> None:
    with pytest.raises(SystemExit, match=f"Harbour: no section {address}"):
        find_sections(library, Question("Which valve?", (address,)))


def test_scores_are_of_the_first_right_section_and_its_page(library: Library) -> None:
    method = SearchMethod(library, Search(library))
    questions = [(1, Question("close the lower valve", ("pumps/#stop",))), (2, Question("boats", ("tides/#levels",)))]
    first, second = iter_rows(library, [method], questions, "harbour")

    assert (first.number, first.group, first.scores["section 1"], first.scores["reciprocal rank"]) == (
        1,
        "harbour",
        1,
        1,
    )
    assert first.scores["page 1"] == 1
    assert set(second.scores.values()) == {0.0}


def test_checkout_with_another_commit_exits_with_the_command(tmp_path: Path) -> None:
    checkout = tmp_path / "syncthing"
    checkout.mkdir()
    (checkout / "a.rst").write_text("A\n", "utf-8")
    git = ["git", "-C", str(checkout), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "docs"]):
        subprocess.run([*git, *arguments], check=True)

    with pytest.raises(SystemExit, match=r"git -C .*syncthing checkout 766daa6e2b02"):
        open_site(tmp_path, "syncthing", tmp_path / "site")
