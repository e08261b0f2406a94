"""The widget in Firefox: FIREFOX names it, else firefox-esr or firefox in the PATH is used."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from ..firefox import Firefox, launch_firefox
from .conftest import Stage, answer, recorded

if TYPE_CHECKING:
    from pathlib import Path

POLICY = (
    "default-src 'none'; img-src data:; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "require-trusted-types-for 'script'"
)
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
    assert process.errors == []
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


def test_hostile_answer_is_text(firefox: Firefox, stage: Stage) -> None:
    hostile = "<img src=x onerror=window.hit=1> [x](javascript:window.hit=1) <script>window.hit=1</script> [^2ebf9271]"
    stage.plays(answer(hostile, **{"2ebf9271": f"{stage.url}#server"}))
    firefox.open(stage.page())
    assert "onerror=window.hit=1" in ask(firefox, "Is it safe?")
    assert firefox.evaluate("window.hit ?? null") is None
    assert firefox.evaluate(f"{SHADOW}.querySelector('article :is(img, script, [href^=javascript])')") is None


def test_turns_are_restored_after_page_load(firefox: Firefox, stage: Stage) -> None:
    stage.plays(recorded("answered"))
    firefox.open(stage.page())
    ask(firefox, "Which port is the default?")
    firefox.open(stage.page(name="other.html"))
    firefox.wait(f"!!{SHADOW}?.querySelector('.opener')")
    if not firefox.evaluate(f"{SHADOW}.querySelector('dialog')?.open ?? false"):
        firefox.press("Control", "i")
    assert "8642" in firefox.wait(ENDED)


def test_escape_closes_panel(firefox: Firefox, stage: Stage) -> None:
    firefox.open(stage.page())
    firefox.wait(f"{SHADOW}?.querySelector('.opener')?.checkVisibility()")
    firefox.press("Control", "i")
    firefox.wait(f"{SHADOW}.querySelector('dialog').open")
    firefox.press("Escape")
    firefox.wait(f"!{SHADOW}.querySelector('dialog').open")


def test_finder_lists_sections_without_endpoint(firefox: Firefox, stage: Stage) -> None:
    firefox.open(stage.page(""))
    firefox.wait(f"{SHADOW}?.querySelector('.opener')?.checkVisibility()")
    firefox.press("Control", "i")
    firefox.wait(f"{SHADOW}.activeElement?.matches('textarea, input')")
    firefox.type("port")
    hits = firefox.wait(f"[...{SHADOW}.querySelectorAll('.hit')].map((hit) => hit.innerText).join('|')")
    assert "The port is taken" in json.dumps(hits)
