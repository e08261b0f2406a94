"""A reader asks: every way in which an answer comes, ends, or does not come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .conftest import Stage, Widget, recorded

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_an_answer_comes_with_sources(page: Page, stage: Stage, widget: Widget) -> None:
    """The reader sees the answer, each citation leads to its section, and the trail says where was looked."""
    stage.plays(recorded("answered"))
    page.goto(stage.page())
    turn = widget.open().ask("Which port is the default?")
    assert "It listens on port 8642[1]." in turn.inner_text()
    assert turn.locator(".cite").first.get_attribute("href") == stage.url
    assert stage.asked[0]["question"] == "Which port is the default?"
    assert stage.asked[0]["page"] == "settings/"
