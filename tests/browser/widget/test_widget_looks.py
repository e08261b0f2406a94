"""How the widget looks: every state in every theme, light and dark, wide and narrow.

Pictures of all of them are written to the folder that LOOKS names: `LOOKS=/tmp/looks pytest -m "slow or not slow" …`.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Page

from ..conftest import Violations
from .conftest import TESTS, Stage, Widget, answer, picture, served
from .states import every_state, sources
from .themes import built

SITES = {
    "bare": "",
    "material": "material",
    "material dark": "slate",
    "mkdocs": "mkdocs",
    "mkdocs dark": "mkdocs dark",
    "readthedocs": "readthedocs",
    "bare dark": "",
}


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("site", SITES)
def test_all_states_are_visible_and_accessible(
    page: Page, stage: Stage, widget: Widget, violations: Violations, tmp_path: Path, site: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme="dark" if "dark" in site else "light")
    with ExitStack() as open_:
        if SITES[site]:
            stage = built(open_.enter_context(served(tmp_path / "themed" / "site")), SITES[site], sources())
            url = stage.url
        else:
            body = "<style>:root { color-scheme: light dark }</style>"
            url = stage.page(
                'endpoint="/" feedback="on"', body, suggestions='["Which port is the default?", "Start it"]'
            )
        wrong = {}
        for state in every_state(page, stage, widget, url):
            wrong[state] = misplaced(page) + violations(page, "roaming-ask")
            picture(page, f"{site.replace(' ', '-')}-{width}-{state}")
    assert {state: found for state, found in wrong.items() if found} == {}


HOSTS = r"asked for https://|fonts\.g|cdnjs|ERR_FAILED|setting 'disabled'"
TOLERATED = HOSTS + r"|status of (404|429|503)|: (404|429|503)$|ERR_(INCOMPLETE|CONTENT_L)"
"""Themes ask for fonts and scripts of other hosts; answers are refused and cut on purpose."""


def misplaced(page: Page) -> list[str]:
    """Return what is cut off, sticks out, or is too small to be hit."""
    page.wait_for_function("document.querySelector('roaming-ask').shadowRoot")
    found: list[str] = page.evaluate(
        """() => {
            const panel = document.querySelector("roaming-ask").shadowRoot.querySelector("dialog[open]");
            if (!panel) return [];
            const edge = panel.getBoundingClientRect();
            const wrong = [];
            if (edge.left < 0 || edge.right > innerWidth + 0.5) wrong.push("panel: out of sight");
            for (const one of panel.querySelectorAll("*:not(.resize)")) {
                if (!one.checkVisibility() || one.closest(".sr")) continue;
                const name = `${one.localName}.${one.className} ${one.textContent.slice(0, 30)}`;
                const box = one.getBoundingClientRect();
                const scrolled = one.parentElement.closest("pre, .wide");
                const outside = box.left < edge.left - 0.5 || box.right > edge.right + 0.5;
                if (outside && !scrolled) wrong.push(`${name}: sticks out`);
                const cut = one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX === "hidden";
                if (cut) wrong.push(`${name}: cut off`);
                const small = box.height < 24 || box.width < 24;
                if (small && one.matches("button, summary, textarea, li > a:not(.cite)")) wrong.push(`${name}: small`);
            }
            return wrong;
        }"""
    )
    return found


# Answers of unusual form

IDS = [f"{at:08x}" for at in range(12)]
ANSWERS = sorted((TESTS / "golden/widget/awkward").glob("*.md"))


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("file", ANSWERS, ids=lambda file: file.stem)
def test_awkward_answer_stays_inside_panel(page: Page, stage: Stage, widget: Widget, file: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 1600})
    stage.plays(answer(file.read_text("utf-8"), **{id_: f"{stage.url}#{id_}" for id_ in IDS}))
    turn = widget.visit(
        stage.page('endpoint="/" feedback="on"', "<style>:root { color-scheme: light dark }</style>")
    ).ask("What is awkward?")
    turn.get_by_role("button", name="Copy link").wait_for()
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        page.wait_for_timeout(250)
        picture(page, f"awkward-{file.stem}-{width}-{scheme}")
    assert misplaced(page) == []
    assert "[^" not in turn.inner_text()
    if file.stem == "headings":
        above = "one => one.getBoundingClientRect().top - one.parentNode.getBoundingClientRect().top"
        assert turn.locator(".answer > h4").first.evaluate(above) == 0
    log = widget.panel.locator("[part=log]")
    assert log.evaluate("log => log.scrollWidth <= log.clientWidth")
