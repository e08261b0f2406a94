"""Answers in progress, results that are no answers, failures, actions."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Page, expect

from .conftest import Reply, Stage, Widget, answer, hold, recorded

QUESTION = "Which port is the default?"
LATER = b'data: {"type":"finish-step"}'
TOLERATED = r"status of (422|429|503)|: (422|429|503)$|ERR_(INCOMPLETE_CHUNKED|CONTENT_LENGTH|CONNECTION|EMPTY)"
"""Console errors that these tests cause: refused requests."""


def test_scope_is_sent_with_question(page: Page, stage: Stage, widget: Widget) -> None:
    stage.plays(*2 * [recorded("answered")])
    for attribute, scope in (("", None), (""" scope='{"paths": ["guide/**"]}'""", {"paths": ["guide/**"]})):
        widget.visit(stage.page(f'endpoint="/"{attribute}')).ask(QUESTION)
        assert stage.asked[-1]["scope"] == scope


def test_section_opened_with_its_parent_is_shown_as_read(page: Page, stage: Stage, widget: Widget) -> None:
    body = recorded("answered").replace(b',"by":"search"', b"")
    lines = (line for line in body.split(b"\n\n") if not (b"5f4feca3" in line and b'"cited"' in line))
    requested = (line.replace(b'"read"', b'"open"') if b"5f4feca3" in line else line for line in lines)
    stage.plays(b"\n\n".join(requested))
    turn = widget.visit(stage.page()).ask(QUESTION)
    turn.locator("summary").click()
    row = turn.locator(".trail [part=trail-item]:has-text('The port is taken')")
    assert row.get_attribute("data-state") == "cited"


def test_results_link_to_their_sections_and_are_no_answer(page: Page, stage: Stage, widget: Widget) -> None:
    stage.plays(recorded("results").replace(b"https://kettle.example/", stage.url.encode()))
    turn = widget.visit(stage.page()).ask("Which port does it listen on?")
    titles = turn.locator(".answer strong a")
    assert titles.all_inner_texts() == ["The port is taken", "Server"]
    cited = [cite.get_attribute("href") for cite in turn.locator(".cite").all()]
    assert [title.get_attribute("href") for title in titles.all()] == cited
    assert all(href and href.startswith(stage.url) for href in cited)
    assert turn.locator(".trail:visible, summary:visible").count() == 0
    turn.get_by_role("button", name="Search the docs instead").click()
    widget.hits.first.wait_for()


def test_not_found_offers_nearest_sections_and_search(page: Page, stage: Stage, widget: Widget) -> None:
    stage.plays(recorded("not_found"))
    turn = widget.visit(stage.page()).ask("Does it whistle on Kubernetes?")
    assert turn.locator(".trail > summary").inner_text() == "Read 7 sections, none answers this"
    assert turn.locator("ol a b:visible").count() == 0
    turn.locator("summary", has_text="Show the nearest sections anyway").click()
    assert turn.locator("ol a b").all_inner_texts() == ["Install", "It does not whistle", "Steps"]
    turn.get_by_role("button", name="Search the docs instead").click()
    widget.hits.first.wait_for()
    assert "whistle" in widget.hits.first.inner_text()


def test_not_found_lists_nearest_sections_below_cited_and_instead_of_opened_ones(
    page: Page, stage: Stage, widget: Widget
) -> None:
    place = {"id": "4547c539", "title": "Install", "path": ["Install"], "url": stage.url}
    cited = {**place, "id": "2ebf9271", "title": "Server", "path": ["Settings", "Server"]}
    server = {"2ebf9271": stage.url}
    cases: list[tuple[dict[str, Any], dict[str, str], list[str]]] = [
        (
            {"nearest": [cited, place], "looked_at": [cited]},
            server,
            ["Sources", "2ebf9271", "Show the nearest sections anyway", "Install"],
        ),
        ({"nearest": [place], "looked_at": []}, {}, ["Show the nearest sections anyway", "Install"]),
        ({"nearest": [], "looked_at": [cited]}, {}, ["Looked at", "Server"]),
    ]
    for lists, sections, shown in cases:
        text = "It does not" + "".join(f" [^{id_}]" for id_ in sections)
        stage.plays(answer(f"{text}.", status={"state": "not_found", **lists}, **sections))
        turn = widget.visit(stage.page()).ask("Does it whistle?")
        for summary in turn.locator(":not(.trail) > summary").all():
            summary.click()
        assert turn.locator(".label, :not(.trail) > summary, ol a b").all_inner_texts() == shown
        widget.panel.get_by_role("button", name="Start over").click()


def test_question_during_answer_is_queued(page: Page, stage: Stage, widget: Widget) -> None:
    reply = stage.plays(Reply(recorded("answered"), hold=LATER))
    stage.replies.append(Reply(recorded("follow_up")))
    widget.visit(stage.page())
    widget.send(QUESTION)
    widget.turns.locator("text=3 of 11 sections").wait_for()
    widget.input.press("Enter")  # with nothing typed it neither asks nor stops
    widget.send("And its lock?")
    assert widget.status.inner_text() == "Next: And its lock?"
    assert widget.input.input_value() == ""
    widget.input.press("ArrowUp")
    assert widget.input.input_value() == "And its lock?"
    assert widget.panel.locator("text=Next:").count() == 0
    widget.send("And its log?")
    assert widget.panel.locator(".waiting").inner_text() == "Next: And its log?"
    assert len(stage.asked) == 1
    reply.released.set()
    widget.turns.nth(1).locator("[part=actions]").wait_for()
    assert widget.panel.locator("text=Next:").count() == 0
    assert [(asked["question"], asked["turns"]) for asked in stage.asked[1:]] == [("And its log?", ["<signed>"])]


def test_rate_limit_shows_countdown_and_disables_sending(page: Page, stage: Stage, widget: Widget) -> None:
    page.clock.install()
    body = json.dumps({"code": "rate", "retry_after": 99}).encode()
    stage.plays(Reply(body, status=429, headers={"retry-after": "12"}), recorded("answered"))
    turn = widget.visit(stage.page()).ask(QUESTION)
    expect(turn).to_contain_text(re.compile(r"You can ask again in 1[0-2] s\."))
    expect(widget.alert).to_have_text(re.compile(r"Too many questions just now\. You can ask again in 1[0-2] s\."))
    widget.input.press("Enter")
    page.clock.run_for(5_000)
    expect(turn).to_contain_text(re.compile(r"again in [4-7] s\."))
    assert turn.get_by_role("button", name="Try again").is_disabled()
    assert len(stage.asked) == 1
    page.clock.run_for(8_000)
    expect(turn).to_contain_text("You can ask again now.")
    assert turn.get_by_role("button", name="Try again").is_enabled()
    widget.input.press("Enter")
    widget.turns.last.locator("[part=actions]").wait_for()


def test_spent_budget_shows_results_and_says_nothing_of_money(page: Page, stage: Stage, widget: Widget) -> None:
    stage.plays(*2 * [Reply(b'{"code": "money", "retry_after": 7200}', status=429)])
    widget.visit(stage.page()).input.fill(QUESTION)
    widget.input.press("Enter")
    expect(widget.panel.locator(".notice")).to_contain_text("Answers are not available now")
    widget.hits.first.wait_for()
    assert widget.input.input_value() == QUESTION
    page.evaluate("document.querySelector('roaming-ask').setAttribute('mode', 'endpoint')")
    expect(widget.ask(QUESTION)).to_contain_text("Answers are not available now. You can ask again in 2 h.")


def test_mode_endpoint_reports_failure_without_search(page: Page, stage: Stage, widget: Widget) -> None:
    stage.plays(Reply(b"{}", status=503), Reply(b"{}", status=422))
    assert (
        "could not be finished" in widget.visit(stage.page('endpoint="/" mode="endpoint"')).ask(QUESTION).inner_text()
    )
    widget.send("x")
    widget.turns.last.locator("text=This question was not accepted.").wait_for()
    assert widget.turns.count() == 1  # the failed one is gone
    assert widget.hits.count() == 0


def test_feedback_sends_signed_turn_only_if_enabled(page: Page, stage: Stage, widget: Widget) -> None:
    stage.plays(recorded("answered"), recorded("answered"))
    thumb = (
        widget.visit(stage.page('endpoint="/" feedback="on"'))
        .ask(QUESTION)
        .get_by_role("button", name="Helpful", exact=True)
    )
    with page.expect_response("**/v1/feedback"):
        thumb.click()
    assert stage.asked[-1] == {"path": "/v1/feedback", "turn": "<signed>", "helpful": True}
    thumb.click()
    assert len(stage.asked) == 2
    assert thumb.get_attribute("aria-pressed") == "true"
    assert widget.status.inner_text() == "Thank you"
    page.goto(stage.page('endpoint="/" persist="off"'))
    assert widget.open().ask(QUESTION).get_by_role("button", name="Helpful").count() == 0


def test_events_are_dispatched_and_request_can_be_overridden(page: Page, stage: Stage, widget: Widget) -> None:
    stage.plays(recorded("answered"))
    page.goto(stage.page())
    page.evaluate(
        """() => { window.heard = [];
        for (const name of ["open", "close", "ask", "outline", "section", "delta", "answer", "error"])
            document.addEventListener("roaming:" + name, ({ type, detail }) => heard.push([type.slice(8), detail]));
        const element = document.querySelector("roaming-ask"), request = element.request;
        element.request = function (body, signal) { return request.call(this, { ...body, extra: 1 }, signal); } }"""
    )
    widget.open().ask(QUESTION)
    page.keyboard.press("Escape")
    heard = page.evaluate("heard")
    names = [name for name, _ in heard]
    assert names[:3] == ["open", "ask", "outline"]
    assert names[-2:] == ["answer", "close"]
    assert [detail["state"] for name, detail in heard if name == "section"] == [
        "read",
        "read",
        "read",
        "cited",
        "cited",
    ]
    assert next(detail for name, detail in heard if name == "section")["path"] == ["Settings", "Server"]
    assert stage.asked[0]["extra"] == 1


def test_copied_link_puts_question_into_input(page: Page, stage: Stage, widget: Widget) -> None:
    stage.plays(recorded("answered"))
    widget.visit(f"{stage.page()}#top").ask(QUESTION).get_by_role("button", name="Copy link").click()
    widget.panel.get_by_role("button", name="Copied").wait_for()
    address = page.evaluate("navigator.clipboard.readText()")
    assert address == f"{stage.url}index.html?ask={quote(QUESTION)}"
    page.goto(address)
    widget.panel.wait_for()
    expect(widget.input).to_have_value(QUESTION)
    assert len(stage.asked) == 1


def test_words_that_are_typed_while_the_panel_is_loaded_are_in_the_input(
    page: Page, stage: Stage, widget: Widget
) -> None:
    release = hold(page, "panel")
    page.goto(stage.page())
    page.locator("roaming-ask .opener").wait_for()
    page.keyboard.press("Control+i")
    page.keyboard.type("port")
    release()
    widget.panel.wait_for()
    assert widget.input.input_value() == "port"


def test_interrupted_turns_are_continued_or_asked_again(stage: Stage, widget: Widget) -> None:
    stage.plays(recorded("partial"), Reply(recorded("answered"), drop=600), recorded("answered"))
    widget.visit(stage.page()).ask(QUESTION).get_by_role("button", name="Continue").click()
    widget.turns.nth(1).get_by_role("button", name="Try again").click()
    widget.turns.last.locator("[part=actions]").wait_for()
    assert [asked["turns"] for asked in stage.asked] == [[], ["<signed>"], ["<signed>"]]
    assert stage.asked[1]["question"] == stage.asked[2]["question"]
    assert widget.turns.last.get_by_role("button", name="Try again").count() == 0


def test_stopped_answer_restores_queued_question_too(stage: Stage, widget: Widget) -> None:
    stage.plays(Reply(recorded("answered"), hold=LATER))
    widget.visit(stage.page())
    for question in (QUESTION, "And its log?"):
        widget.send(question)
        widget.turns.locator("text=3 of 11 sections").wait_for()
    widget.panel.get_by_role("button", name="Stop").click()
    widget.ended()
    assert widget.input.input_value() == f"{QUESTION}\nAnd its log?"
    assert widget.focused() == "textarea"
    assert len(stage.asked) == 1


def test_turn_has_reading_order_and_is_copied_as_markdown(page: Page, stage: Stage, widget: Widget) -> None:
    """Question, steps, answer, sources, actions, usage."""
    stage.plays(recorded("answered"))
    turn = widget.visit(stage.page('endpoint="/" show-usage')).ask(QUESTION)
    turn.get_by_role("button", name="Copy answer").click()
    widget.panel.get_by_role("button", name="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "port 8642 [1].\n" in copied
    assert "[2] Troubleshooting › The port is taken: https://kettle.example/" in copied
    assert widget.status.inner_text() == "Copied"
    parts = ("question", "trail", "answer", "sources", "actions", "usage")
    tops = [turn.locator(f"[part={part}]").bounding_box()["y"] for part in parts]
    assert tops == sorted(tops)
    assert turn.locator("[part=usage]").inner_text() == "scripted · ~210 tokens · 0.0066 USD"
