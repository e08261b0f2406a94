"""Answers of unusual form: everything stays inside the panel, and nothing is cut off."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from .conftest import TESTS, Stage, Widget, answer, picture
from .test_widget_looks import misplaced

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
