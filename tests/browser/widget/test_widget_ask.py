"""Questions and answers: the main path of the panel."""

from __future__ import annotations

import re

from playwright.sync_api import Page

from .conftest import TESTS, Reply, Stage, Widget, answer, recorded

QUESTION = "Which port is the default?"
LATER = b'data: {"type":"finish-step"}'
TOLERATED = r"status of (422|429|503)|: (422|429|503)$|ERR_(INCOMPLETE_CHUNKED|CONTENT_LENGTH|CONNECTION|EMPTY)"
"""Console errors that these tests cause: refused requests."""


def test_answer_shows_citations_sources_and_steps(stage: Stage, widget: Widget) -> None:
    stage.plays(recorded("answered"))
    turn = widget.visit(stage.page()).ask(QUESTION)
    assert "It listens on port 8642.[1]" in turn.inner_text()
    assert (
        turn.locator(".cite").first.get_attribute("href") == f"{stage.url}#:~:text=server.port,port%20it%20listens%20on"
    )
    assert turn.locator(".cite").first.get_attribute("aria-label") == "Source 1: Server"
    rows = turn.locator("ol a")
    assert [row.split("\n")[:3] for row in rows.all_inner_texts()] == [
        ["1", "Settings", "Server"],
        ["2", "Troubleshooting", "The port is taken"],
    ]
    assert rows.nth(1).locator(".snippet").inner_text() == "Choose another server.port."
    assert turn.locator("summary").inner_text() == "Read 3 sections, cited 2"
    assert turn.locator(".beads circle").evaluate_all("all => all.map(one => one.classList.contains('on'))") == [
        True,
        True,
        False,
    ]
    assert widget.status.inner_text() == "Answer ready, 2 sources"
    turn.locator("summary").click()
    groups = turn.locator(".tree > li").all_inner_texts()
    assert [" ".join(group.split()) for group in groups] == [
        "Settings Server cited 1 Boiling not used",
        "Troubleshooting The port is taken cited 2",
    ]
    assert not re.search("token|USD|scripted", turn.inner_text())
    sent = stage.asked[0]
    assert (sent["path"], sent["question"], sent["page"], sent["turns"]) == ("/v1/ask", QUESTION, "settings/", [])


def test_turns_are_restored_on_next_page_and_sent_with_a_follow_up(page: Page, stage: Stage, widget: Widget) -> None:
    """Unless they are deleted, or not kept."""
    stage.plays(recorded("answered"), recorded("follow_up"), recorded("answered"))
    turn = widget.visit(stage.page()).ask(QUESTION)
    turn.get_by_role("button", name="Copy link").wait_for()
    before = turn.inner_text()
    page.reload()
    widget.open()
    assert widget.turns.count() == 1
    turn.get_by_role("button", name="Copy link").wait_for()
    assert turn.inner_text() == before
    assert widget.status.inner_text() == ""
    widget.input.press("ArrowUp")
    assert widget.input.input_value() == QUESTION
    widget.ask("And its log?")
    assert stage.asked[1]["turns"] == ["<signed>"]
    widget.panel.get_by_role("button", name="Start over").click()
    assert widget.turns.count() == 0
    widget.ask(QUESTION)
    assert stage.asked[2]["turns"] == []
    widget.visit(stage.page('endpoint="/" persist="off"', name="other.html"))
    assert widget.turns.count() == 0


ENDS = {
    "partial": "The answer may be incomplete.",
    "results": "Search results",
    "not_found": "The docs do not seem to answer this.",
    "refused": "The model declined to answer this.",
    "budget": "The answer reached its limit and may be incomplete.",
    "error": "The answer could not be finished. Please ask again.",
}
OWN = {
    "not_found": "The docs do not say whether it runs there.",
    "error": "The answer could not be finished. Please ask again in a moment.",
}


def test_all_results_are_shown_and_announced(stage: Stage, widget: Widget) -> None:
    stage.plays(*map(recorded, ENDS))
    widget.visit(stage.page())
    for state, end in ENDS.items():
        turn = widget.ask(QUESTION)
        turn.get_by_role("button", name="Copy link").wait_for()
        shown = turn.inner_text()
        assert shown.count(OWN.get(state, end)) == 1, state
        assert shown.count("Search results\n\nBoiling · Settings\n\nWater boils") == (state == "error")
        assert shown.count("Written by a model") == (state in ("partial", "not_found", "budget"))
        assert turn.locator("[part=sources]:visible").count() == (state in ("partial", "refused", "budget"))
        assert shown.count("could not be finished") == (state == "error")
        polite = state in ("partial", "results", "not_found")
        assert (widget.status if polite else widget.alert).inner_text() == end
        assert widget.input.input_value() == (QUESTION if state == "error" else "")
        widget.panel.get_by_role("button", name="Start over").click()


def test_escape_stops_answer_and_restores_question(page: Page, stage: Stage, widget: Widget) -> None:
    stage.plays(Reply(recorded("answered"), hold=LATER))
    widget.visit(stage.page())
    widget.send(QUESTION)
    widget.panel.get_by_role("button", name="Stop").wait_for()
    page.keyboard.press("Escape")
    assert "Stopped. Your question is back in the input." in widget.ended().inner_text()
    assert widget.input.input_value() == QUESTION
    page.keyboard.press("Escape")
    assert not widget.panel.is_visible()


def test_lost_connection_keeps_text_and_a_dead_endpoint_leads_to_search(stage: Stage, widget: Widget) -> None:
    body = recorded("answered")
    stage.plays(Reply(body, drop=body.index(b'"text-end"')), Reply(b"{}", status=503))
    turn = widget.visit(stage.page()).ask(QUESTION)
    assert "8642" in turn.inner_text()
    assert "The connection was lost." in turn.inner_text()
    assert widget.input.input_value() == QUESTION
    widget.panel.get_by_role("button", name="Start over").click()
    widget.send("port taken")
    widget.hits.first.wait_for()
    assert widget.panel.locator(".notice").inner_text().startswith("Answers are not available now.\n")
    assert widget.input.input_value() == "port taken"
    assert "The port is taken" in widget.hits.first.inner_text()
    assert widget.turns.count() == 0


def test_hostile_answer_is_shown_as_text(page: Page, stage: Stage, widget: Widget) -> None:
    hostile = (TESTS / "golden/widget/hostile.md").read_text("utf-8")
    stage.plays(answer(hostile + "[^2ebf9271]", **{"2ebf9271": "javascript:alert(5)"}))
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    turn = widget.visit(stage.page()).ask("Well?")
    assert {
        name: turn.locator(name).count() for name in ("img", "script", "iframe", "b", "object", "form", "style")
    } == dict.fromkeys(("img", "script", "iframe", "b", "object", "form", "style"), 0)
    links = turn.locator(".answer a[href]").evaluate_all("links => links.map(link => link.href)")
    assert links == [stage.url + "settings/"]
    assert turn.locator(".trail a[href]").count() == 0
    shown = turn.locator(".answer").text_content() or ""
    assert "<img src=x onerror=alert(1)>" in shown
    assert not any(sign in shown for sign in "\u202e\u202c\u2066\u2069")
    assert "<iframe src=javascript:alert(4)>" in turn.locator("pre").inner_text()
    assert dialogs == []
