"""A conversation that was cleared, and one that several tabs share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page

from .conftest import Reply, Stage, Widget, answer

LOCAL = 'endpoint="/" persist="local"'


def said(text: str) -> bytes:
    return answer(f"{text} [^11111111].", **{"11111111": "https://kettle.example/settings/"})


@contextmanager
def tab(page: Page, url: str) -> Iterator[Widget]:
    """Open another tab with the panel."""
    other = page.context.new_page()
    other.goto(url)
    yield Widget(other).open()
    other.close()


def questions(widget: Widget) -> list[str]:
    return widget.turns.locator("h3").all_inner_texts()


# Start over


def test_start_over_can_be_undone_until_the_next_question(page: Page, stage: Stage, widget: Widget) -> None:
    stage.plays(said("One"), said("Two"), said("Three"))
    widget.visit(stage.page()).ask("First?")
    widget.ask("Second?")
    widget.input.fill("a draft")
    widget.panel.get_by_label("Start over").click()
    assert widget.turns.count() == 0
    assert widget.input.input_value() == ""
    assert "Conversation cleared." in widget.status.inner_text()
    undo = widget.panel.get_by_role("button", name="Undo")
    undo.click()
    assert questions(widget) == ["First?", "Second?"]
    assert widget.input.input_value() == "a draft"
    assert widget.focused() == "textarea"
    assert widget.panel.get_by_text("Conversation cleared.").filter(visible=True).count() == 0
    page.reload()
    assert questions(widget.open()) == ["First?", "Second?"]
    widget.panel.get_by_label("Start over").click()
    page.keyboard.press("Control+i")
    page.keyboard.press("Control+i")
    assert undo.is_visible()
    widget.ask("Third?")
    assert undo.count() == 0
    assert questions(widget) == ["Third?"]


def test_undo_brings_stopped_answer_back(page: Page, stage: Stage, widget: Widget) -> None:
    stage.plays(Reply(said("One"), hold=b'data: {"type": "data-status"'))
    widget.visit(stage.page())
    widget.send("First?")
    widget.turns.get_by_text("One").wait_for()
    widget.panel.get_by_label("Start over").click()
    widget.panel.get_by_role("button", name="Undo").click()
    turn = widget.ended()
    assert "One" in turn.inner_text()
    assert "Stopped." in turn.inner_text()


# Shared storage


def test_session_storage_is_default_and_not_shared(page: Page, stage: Stage, widget: Widget) -> None:
    stage.plays(said("One"))
    url = stage.page()
    widget.visit(url).ask("First?")
    with tab(page, url) as other:
        assert questions(other) == []
    assert page.evaluate("localStorage.length") == 0


def test_other_tab_follows_questions_and_start_over(page: Page, stage: Stage, widget: Widget) -> None:
    stage.plays(said("One"), said("Two"), said("Three"))
    url = stage.page(LOCAL)
    widget.visit(url)
    with tab(page, url) as other:
        widget.ask("First?")
        other.turns.first.wait_for()
        assert questions(other) == ["First?"]
        other.ask("Second?")
        widget.turns.nth(1).wait_for()
        other.panel.get_by_label("Start over").click()
        widget.turns.first.wait_for(state="detached")
        other.panel.get_by_role("button", name="Undo").click()
        widget.turns.nth(1).wait_for()
        assert questions(widget) == questions(other) == ["First?", "Second?"]
        other.panel.get_by_label("Start over").click()
        widget.turns.first.wait_for(state="detached")
        widget.ask("Third?")
        other.turns.first.wait_for()
        assert questions(widget) == questions(other) == ["Third?"]
    page.reload()
    assert questions(widget.open()) == ["Third?"]


@pytest.mark.parametrize("first", [0, 1])
def test_no_turn_is_lost_when_two_tabs_ask_at_once(page: Page, stage: Stage, widget: Widget, first: int) -> None:
    end = b'data: {"type": "data-status"'
    stage.plays(Reply(said("One"), hold=end), Reply(said("Two"), hold=end))
    replies = list(stage.replies)
    url = stage.page(LOCAL)
    widget.visit(url)
    with tab(page, url) as other:
        widgets = [widget, other]
        for one, (question, shown) in zip(widgets, (("First?", "One"), ("Second?", "Two")), strict=True):
            one.input.fill(question)
            one.input.press("Enter")
            one.turns.get_by_text(shown).wait_for()
        replies[first].released.set()
        widgets[first].ended()
        page.wait_for_timeout(300)
        assert widgets[1 - first].turns.count() == 1  # a running answer is not disturbed
        replies[1 - first].released.set()
        for one in widgets:
            one.turns.nth(1).wait_for()
            one.ended()
        assert sorted(questions(widget)) == ["First?", "Second?"]
        assert questions(widget) == questions(other)
    page.reload()
    assert sorted(questions(widget.open())) == ["First?", "Second?"]
