"""How the widget looks: every state in every theme, light and dark, wide and narrow.

Pictures of all of them are written to the folder that LOOKS names: `LOOKS=/tmp/looks pytest -m "slow or not slow" …`.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Page

from .conftest import Stage, Widget, picture, served
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
    page: Page, stage: Stage, widget: Widget, axe: str, tmp_path: Path, site: str, width: int
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
            if not page.evaluate("'axe' in window"):
                page.evaluate(axe)
            wrong[state] = misplaced(page) + violations(page)
            picture(page, f"{site.replace(' ', '-')}-{width}-{state}")
    assert {state: found for state, found in wrong.items() if found} == {}


HOSTS = r"asked for https://|fonts\.g|cdnjs|ERR_FAILED|setting 'disabled'"
TOLERATED = HOSTS + r"|status of (404|429|503)|: (404|429|503)$|ERR_(INCOMPLETE|CONTENT_L)"
"""Themes ask for fonts and scripts of other hosts; answers are refused and cut on purpose."""


def violations(page: Page) -> list[str]:
    """Return what axe-core, which has to be on the page, finds wrong with the widget."""
    found: list[str] = page.evaluate(
        """async () => (await axe.run("roaming-ask", { resultTypes: ["violations"] })).violations.flatMap(
            ({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.flat().pop()} ${node.failureSummary}`))"""
    )
    return found


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
