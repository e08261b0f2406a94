"""The widget in Firefox: FIREFOX names it, else firefox-esr or firefox in the PATH is used."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..firefox import Firefox, launch_firefox
from .conftest import STRICT, Stage, answer, recorded, served
from .test_widget_answer import BODY, PASSAGE, passage
from .themes import built

POLICY = f"{STRICT}; style-src 'self'"
SHADOW = "document.querySelector('roaming-ask').shadowRoot"
ENDED = f"{SHADOW}.querySelector('article[aria-busy=false]')?.innerText"


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    path = os.environ.get("FIREFOX") or shutil.which("firefox-esr") or shutil.which("firefox")
    if path is None:
        pytest.skip("Firefox not found: apt-get install firefox-esr, or set FIREFOX")
    folder: Path = tmp_path_factory.mktemp("firefox")
    with launch_firefox(path, folder / "profile") as firefox:
        yield firefox


@pytest.fixture
def firefox(process: Firefox) -> Iterator[Firefox]:
    """Firefox on an empty page; errors that pages log, and violations of their policy, fail the test."""
    process.errors.clear()
    yield process
    assert process.evaluate("window.violations ?? []") == []
    # Firefox reports the following at times, on any page, when it is left while WebDriver reads from it.
    assert [error for error in process.errors if "Permission denied to access property" not in error] == []
    process.evaluate("sessionStorage.clear()")
    process.open("about:blank")


def ask(firefox: Firefox, question: str) -> str:
    """Open the panel with the shortcut, type a question, send it; return the text of its turn."""
    firefox.wait(f"{SHADOW}?.querySelector('.opener')?.checkVisibility()")
    firefox.press("Control", "i")
    firefox.wait(f"{SHADOW}.activeElement?.localName === 'textarea'")
    firefox.type(question)
    firefox.press("Enter")
    return str(firefox.wait(ENDED))


def test_question_is_answered_with_sources_under_strict_policy(firefox: Firefox, stage: Stage) -> None:
    stage.csp = POLICY
    stage.plays(recorded("answered"))
    firefox.open(stage.page())
    assert "8642" in ask(firefox, "Which port is the default?")
    assert stage.asked[0]["question"] == "Which port is the default?"
    links = firefox.evaluate(f"[...{SHADOW}.querySelectorAll('article a.cite')].map((link) => link.textContent)")
    assert links[0].strip("[]") == "1"
    assert firefox.evaluate(f"{SHADOW}.querySelectorAll('[part=sources] li').length") == 2
    firefox.open(stage.page(name="other.html"))  # where the conversation is restored
    firefox.wait(f"!!{SHADOW}?.querySelector('.opener')")
    if not firefox.evaluate(f"{SHADOW}.querySelector('dialog')?.open ?? false"):
        firefox.press("Control", "i")
    assert "8642" in firefox.wait(ENDED)
    firefox.press("Control", "i")
    firefox.wait(f"!{SHADOW}.querySelector('dialog').open")


LOADED = "performance.getEntriesByName(new URL('roaming/roaming-search.js', location)).length > 0"


def test_panel_replaces_search_of_material(firefox: Firefox, tmp_path: Path) -> None:
    with served(tmp_path / "site") as stage:
        widget = {"replace_search": True, "endpoint": stage.url}
        plugins = ["material/search", {"roaming": {"widget": widget}}]
        built(stage, "material plain", {"index.md": "# Home\n\n[On](#)\n\n## Port\n\nIt is 80.\n"}, plugins=plugins)
        stage.plays(answer("It is 80."))
        firefox.open(stage.url)
        firefox.wait(f"{SHADOW}?.querySelector('.opener') && {LOADED}")
        firefox.evaluate("void document.querySelector('[data-md-component=search-query]').click()")
        firefox.wait(f"{SHADOW}.activeElement?.localName === 'textarea'")
        firefox.press("Escape")
        firefox.wait(f"!{SHADOW}.querySelector('dialog').open")
        assert not firefox.evaluate("document.querySelector('#__search').checked")
        firefox.press("Control", "k")
        firefox.wait(f"{SHADOW}.activeElement?.localName === 'textarea'")
        firefox.type("port")
        firefox.wait(f"!!{SHADOW}.querySelector('.hits:not(.start) .hit')")
        firefox.press("Control", "Enter")
        assert "It is 80." in str(firefox.wait(ENDED))


HIGHLIGHTED = "globalThis.CSS?.highlights ? [...(CSS.highlights.get('roaming-passage') ?? [])].join() : 'unsupported'"
CITE = f"{SHADOW}.querySelector('.cite[href]')"


def focus_citation(firefox: Firefox) -> None:
    firefox.wait(f"!!{CITE}")
    firefox.evaluate(f"{CITE}.focus({{ focusVisible: true }})")


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_citation_highlights_passage_after_page_load(firefox: Firefox, stage: Stage, direction: str) -> None:
    body = BODY + f"<script src=dir-{direction}.js></script>"
    (stage.folder / f"dir-{direction}.js").write_text(f"document.body.dir = '{direction}'", "utf-8")
    url = stage.page(body=body, name="other.html")
    stage.plays(passage(f"{url}#steam", "Let it cool down for two minutes.", "Let%20it,minutes."))
    firefox.open(stage.page())
    ask(firefox, "How do I brew?")
    focus_citation(firefox)
    firefox.press("Enter")
    firefox.wait(f"location.href === '{url}#steam' && !!document.querySelector('[data-roaming-arrived]')")
    assert firefox.wait(HIGHLIGHTED) in ("Let it cool down for two minutes.", "unsupported")
    assert firefox.evaluate("document.querySelector('[data-roaming-arrived]').innerText") == "Steam"
    bar = "getComputedStyle(document.querySelector('[data-roaming-arrived]')).backgroundPositionX"
    assert firefox.evaluate(bar) == {"ltr": "0px", "rtl": "100%"}[direction]
    firefox.wait("document.querySelector('p:has(em)').getBoundingClientRect().top < innerHeight")


def test_citation_marks_heading_without_highlights_and_text_fragments(firefox: Firefox, stage: Stage) -> None:
    stage.csp = POLICY
    url = stage.page(body=BODY)
    stage.plays(passage(f"{url}#lid", PASSAGE, "The%20lid,boils."))
    firefox.open(url)
    firefox.evaluate("void Object.defineProperty(CSS, 'highlights', { value: undefined, configurable: true })")
    ask(firefox, "How do I brew?")
    focus_citation(firefox)
    firefox.press("Enter")
    heading = firefox.wait("document.querySelector('[data-roaming-arrived]')?.innerText")
    assert heading == "The lid"
    assert firefox.evaluate("document.querySelector('[data-roaming-passage]')") is None
