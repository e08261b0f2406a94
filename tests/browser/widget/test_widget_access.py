"""Keyboard, screen reader, input method, zoom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from ..targets import MISSED, TARGETS
from .conftest import Reply, Stage, Widget, answer, recorded, stream

QUESTION = "Which port is the default?"
HOLD = b": pause\n\n"
ROOT = "document.querySelector('roaming-ask').shadowRoot"
TOLERATED = r"status of 429|: 429$"
"""One answer is refused."""


def growing(url: str, *texts: str) -> bytes:
    """Write an answer that waits after each of its texts."""
    data = {"title": "Server", "path": ["Settings", "Server"], "url": url, "tokens": 9, "state": "read"}
    first = [{"type": "data-section", "id": "2ebf9271", "data": data}]
    deltas = [{"type": "text-delta", "id": "t", "delta": text} for text in texts]
    last = [{"type": "data-status", "data": {"state": "answered", "sections": 1}}]
    parts: tuple[list[dict[str, Any]], ...] = (first, *([delta] for delta in deltas), last)
    return HOLD.join(stream(*each).removesuffix(b"data: [DONE]\n\n") for each in parts)


def test_focus_and_selection_survive_streaming(page: Page, stage: Stage, widget: Widget) -> None:
    texts = ("First block.\n\n", "Second [^2ebf9271] ", "grows ", "on.")
    reply = stage.plays(Reply(growing(stage.url, *texts), hold=HOLD, every=True))
    widget.visit(stage.page())
    widget.send(QUESTION)
    row = widget.panel.locator(".trail li a")
    row.focus()
    selected = ""
    for text in texts:
        reply.released.set()
        widget.turns.locator(f".answer:has-text('{text.split(' ')[0]}')").wait_for()
        if not selected:
            selected = page.evaluate(
                f"() => {{ const block = {ROOT}.querySelector('.answer > p'); getSelection().selectAllChildren(block);"
                "window.block = block; return block.textContent }"
            )
            row.focus()
        assert widget.focused() == "a"
    reply.released.set()
    widget.turns.locator("[part=trail-item][data-state=cited]").wait_for()
    widget.ended()
    assert selected == "First block."
    assert page.evaluate(f"block === {ROOT}.querySelector('.answer > p')")


def test_phases_results_and_errors_are_announced_once(page: Page, stage: Stage, widget: Widget) -> None:
    refused = Reply(b'{"code": "rate", "retry_after": 1}', status=429)
    stage.plays(recorded("error"), recorded("error"), refused, recorded("answered"))
    widget.visit(stage.page())
    page.evaluate(
        f"() => {{ window.announced = []; for (const one of {ROOT}.querySelectorAll('[role=status], [role=alert]'))"
        "new MutationObserver(() => one.textContent && announced.push(one.textContent))"
        ".observe(one, { childList: true }) }"
    )
    announced: list[str] = []
    for _ in range(4):
        widget.panel.locator("[part=send]:enabled").wait_for()
        widget.ask(QUESTION)
        announced = page.evaluate("announced")
    error = "The answer could not be finished. Please ask again."
    assert announced.count(error) == 2
    wait = "You can ask again"
    assert [each.replace(f"Too many questions just now. {wait} in 1 s.", "wait") for each in announced] == [
        *["Reading the outline", "Reading 1 section", "Writing the answer", error] * 2,
        *["Reading the outline", "wait", f"{wait} now."],
        *["Reading the outline", "Reading 3 sections", "Writing the answer"],
        "Answer ready, 2 sources",
    ]
    assert widget.alert.inner_text() == ""


def test_focus_moves_only_on_user_action(page: Page, stage: Stage, widget: Widget) -> None:
    """A panel that is open initially takes no focus, and does not cover a small screen."""
    page.goto(stage.page('endpoint="/" open'))
    widget.panel.wait_for()
    assert page.evaluate("document.activeElement.localName") == "body"
    page.locator("main a").focus()
    page.keyboard.press("Control+i")
    assert not widget.panel.is_visible()
    assert page.evaluate("document.activeElement.textContent") == "Next"
    page.keyboard.press("Control+i")
    widget.input.evaluate(  # by an input method
        "input => void input.dispatchEvent(new KeyboardEvent('keydown', "
        "{ key: 'Escape', isComposing: true, bubbles: true, composed: true, cancelable: true }))"
    )
    assert widget.panel.is_visible()
    widget.panel.locator("h2").click()
    page.keyboard.press("Escape")
    assert not widget.panel.is_visible()
    assert page.evaluate("document.activeElement.textContent") == "Next"
    page.set_viewport_size({"width": 390, "height": 800})
    page.reload()
    page.locator("roaming-ask .opener").wait_for()
    assert not widget.panel.is_visible()
    widget.open()
    assert widget.panel.evaluate("panel => panel.matches(':modal')")


def test_system_close_request_stops_answer_then_closes_panel(page: Page, stage: Stage, widget: Widget) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    stage.plays(Reply(growing(stage.url, "Yes."), hold=HOLD))
    page.goto(stage.page())
    page.evaluate("window.times = 0; addEventListener('roaming:close', () => times++), 0")
    widget.open()
    widget.send(QUESTION)
    widget.panel.locator(".trail li a").wait_for()
    gesture = "panel => void panel.dispatchEvent(new Event('cancel', { cancelable: true }))"
    widget.panel.evaluate(gesture)
    widget.ended()
    assert widget.input.input_value() == QUESTION
    widget.panel.evaluate(gesture)
    assert not widget.panel.is_visible()
    assert page.evaluate("times") == 1
    assert page.locator("roaming-ask .opener").get_attribute("aria-expanded") == "false"
    assert widget.focused() == "opener"


def test_tab_order_follows_reading_order_and_stops_have_names(page: Page, stage: Stage, widget: Widget) -> None:
    stage.plays(recorded("answered"))
    turn = widget.visit(stage.page('endpoint="/" feedback="on"')).ask(QUESTION)
    turn.get_by_role("button", name="Not helpful").wait_for()
    widget.panel.locator(".resize").focus()
    name = "({ ariaLabel, textContent, localName }) => ariaLabel || textContent || localName"
    stops: list[str] = []
    for _ in range(18):
        stops.append(page.evaluate(f"({name})({ROOT}.activeElement)"))
        if stops[-1] == "Send":
            break
        page.keyboard.press("Tab")
    titles = turn.locator("ol a").evaluate_all("all => all.map(one => one.textContent)")
    assert stops == [
        *["Width of the panel", "Start over", "Expand the panel", "Close", "Conversation", "Read 3 sections, cited 2"],
        *["Source 1: Server", "Source 2: The port is taken", *titles],
        *["Copy answer", "Copy link", "Helpful", "Not helpful", "Ask a follow-up", "Ask about all pages", "Send"],
    ]


PHONES = [320, 360, 390]
SECTIONS = {f"{number:08x}": f"/page2.html#{number}" for number in range(1, 7)}
CITED = "".join(f"[^{id_}]" for id_ in SECTIONS)
CROWDED = (
    f"The port is 8642 {CITED}. It is in [the settings](/page2.html){CITED}, and in [others](/page2.html)[^00000001], "
    f"which a restart reads {CITED}, as does a reload {CITED}.\n\n- One {CITED}\n- Two {CITED}\n\n```sh\nkettle\n```\n"
)


@pytest.fixture
def phone(browser: Browser, stage: Stage, request: pytest.FixtureRequest) -> Iterator[Widget]:
    """An answer with crowded citations on a phone."""
    context = browser.new_context(viewport={"width": request.param, "height": 800}, has_touch=True)
    page = context.new_page()
    stage.plays(answer(CROWDED, **SECTIONS))
    page.goto(stage.page('endpoint="/" feedback="on"'))
    widget = Widget(page)
    widget.open().ask(QUESTION)
    yield widget
    context.close()


@pytest.mark.parametrize("phone", PHONES, indirect=True)
@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_touch_targets_are_hit_at_centre_and_edges(phone: Widget, direction: str) -> None:
    phone.page.evaluate("direction => document.body.dir = direction", direction)
    assert phone.page.locator("roaming-ask").evaluate(MISSED, TARGETS) == []
    assert phone.panel.evaluate("panel => panel.scrollWidth <= panel.clientWidth")
