"""Faulty endpoints, hosts, browsers and timing: no errors, no freezes, no lost questions."""

from __future__ import annotations

import json
import time

import pytest
from playwright.sync_api import Page, Route, expect
from tables import read_tables

from mkdocs_roaming.publish.elements.finder_index import INDEX_PATH

from .conftest import TESTS, Reply, Stage, Widget, answer, recorded, stream

TABLES = read_tables(__file__)
QUESTION = "Which port is the default?"
LATER = b'data: {"type":"finish-step"}'
TOLERATED = r"status of (404|429|503)|: (404|429|503)$|ERR_(INCOMPLETE|CONTENT|FAILED|ABORTED)|asked for|CORS|redirect"
"""Console errors that these tests cause: refused requests and missing files."""


def begun(widget: Widget, question: str = QUESTION) -> None:
    """Ask a question whose answer is not ended yet."""
    widget.send(question)
    widget.turns.locator("text=3 of 11 sections").wait_for()


# What endpoints do wrong

STREAMS = json.loads((TESTS / "golden/widget/streams.json").read_text("utf-8"))


def test_invalid_stream_ends_turn_with_error_and_restores_question(page: Page, stage: Stage, widget: Widget) -> None:
    widget.visit(stage.page('endpoint="/" mode="endpoint"'))
    for name, parts in STREAMS["senseless"].items():
        stage.plays(stream(*parts))
        turn = widget.ask(name)
        assert widget.input.input_value() == name
        assert "lease ask again." in turn.inner_text(), name
        assert "lease ask again." in widget.alert.inner_text(), name
        widget.panel.get_by_role("button", name="Start over").click()


def test_unusual_stream_is_shown(page: Page, stage: Stage, widget: Widget) -> None:
    widget.visit(stage.page())
    for name, parts in STREAMS["unusual"].items():
        stage.plays(stream(*parts))
        turn = widget.ask(name)
        turn.get_by_role("button", name="Copy link").wait_for()
        shown = turn.inner_text()
        assert "On 8642.[1]" in shown, name
        assert not any(wrong in shown for wrong in ("undefined", "{", "NaN", "null", "function")), name
        widget.panel.get_by_role("button", name="Start over").click()


@pytest.mark.parametrize(("retry_after", "body", "said"), TABLES["retries"])
def test_retry_after_is_limited_and_always_a_number(
    stage: Stage, widget: Widget, retry_after: str, body: str, said: str
) -> None:
    stage.plays(Reply(body.encode(), status=429, headers={"retry-after": retry_after}))
    turn = widget.visit(stage.page()).ask(QUESTION)
    turn.locator(f"text=Too many questions just now. You can ask again {said}").wait_for()


def test_redirect_to_other_host_is_not_followed(page: Page, stage: Stage, widget: Widget) -> None:
    elsewhere: list[str] = []
    page.on("request", lambda request: elsewhere.append(request.url) if "evil" in request.url else None)
    stage.plays(Reply(status=307, headers={"location": "https://evil.example/v1/ask", "content-length": "0"}))
    widget.visit(stage.page())
    widget.send("port taken")
    widget.hits.first.wait_for()
    assert elsewhere == []
    assert widget.input.input_value() == "port taken"


def test_thousands_of_chunks_are_rendered_quickly(page: Page, stage: Stage, widget: Widget) -> None:
    widget.visit(stage.page())
    for block in ("- item with **bold** and `code` [^2ebf9271]\n", "word ", "[^2ebf9271] ", "**a", "[a", "> "):
        text = block * (50_000 // len(block))
        pieces = [{"type": "text-delta", "delta": text[at : at + 8]} for at in range(0, len(text), 8)]
        stage.plays(answer("", *pieces, **{"2ebf9271": stage.url}))
        widget.input.fill("?")
        start = time.monotonic()
        widget.input.press("Enter")
        widget.ended()
        assert time.monotonic() - start < 10, block  # a minute and more when each piece was shown
        widget.panel.get_by_role("button", name="Start over").click()


def test_mark_offsets_count_utf_16_code_units(page: Page, stage: Stage, widget: Widget) -> None:
    text = "🫖🫖🫖 listens on `8642` 🫖."
    at = {word: len(text[: text.index(word)].encode("utf-16-le")) // 2 for word in ("listens", "8642")}
    spans = [{"kind": "word", "start": start, "end": start + len(word)} for word, start in at.items()]
    support = {"type": "data-support", "data": {"marks": spans}}
    stage.plays(answer(text, support))
    marks = widget.visit(stage.page()).ask(QUESTION).locator("mark")
    marks.nth(1).wait_for()
    assert marks.all_text_contents() == ["listens", "8642"]


# What hosts and browsers do wrong


def test_sandboxed_frame_without_storage_works(page: Page, stage: Stage, widget: Widget) -> None:

    def shared(route: Route) -> None:
        got = route.fetch()
        route.fulfill(response=got, headers={**got.headers, "access-control-allow-origin": "*"})

    page.route("**/roaming/**", shared)
    stage.page()
    frame = '<!doctype html><link rel=icon href="data:,"><iframe sandbox="allow-scripts" src="index.html"'
    (stage.folder / "frame.html").write_text(f"{frame} width=1000 height=700></iframe>", "utf-8")
    page.goto(stage.url + "frame.html")
    inner = page.frame_locator("iframe")
    inner.locator("roaming-ask .opener").click()
    body = answer("Yes [^2ebf9271].", **{"2ebf9271": stage.url}).decode()
    inner.locator("roaming-ask").evaluate("(one, body) => { one.request = async () => new Response(body) }", body)
    inner.locator("textarea").fill(QUESTION)
    inner.locator("textarea").press("Enter")
    inner.locator(".answer:has-text('Yes.[1]')").wait_for()
    inner.locator("roaming-ask").evaluate("one => one.setAttribute('mode', 'finder')")
    inner.locator("textarea").fill("whistle")
    inner.locator(".hit").first.wait_for()
    page.unroute_all(behavior="ignoreErrors")


def test_invalid_stored_turns_are_ignored(page: Page, stage: Stage, widget: Widget) -> None:
    page.goto(stage.page())
    for stored in ("{}", "5", "[null]", '[{"question": "?", "parts": [null]}]', '[{"parts": 5}]', "x"):
        page.evaluate("([key, stored]) => sessionStorage.setItem(key, stored)", [f"roaming:{stage.url}", stored])
        page.reload()
        widget.open()
        assert widget.turns.count() == 0, stored
    stage.plays(recorded("answered"))
    assert "8642" in widget.ask(QUESTION).inner_text()


def test_full_storage_does_not_affect_answer(page: Page, stage: Stage, widget: Widget) -> None:
    stage.plays(recorded("answered"))
    page.goto(stage.page())
    page.evaluate("for (let size = 2 ** 22; size; size >>= 1) try { sessionStorage[size] = 'x'.repeat(size) } catch {}")
    widget.open().ask(QUESTION).get_by_role("button", name="Copy link").wait_for()


def test_missing_modules_are_reported(page: Page, stage: Stage, widget: Widget) -> None:
    for name in ("turn", "find"):
        (stage.folder / "roaming" / f"roaming-{name}.js").unlink()
    widget.visit(stage.page())
    widget.send(QUESTION)
    expect(widget.alert).to_have_text("The connection was lost. Please ask again.")
    assert widget.input.input_value() == QUESTION
    page.evaluate("document.querySelector('roaming-ask').setAttribute('mode', 'finder')")
    widget.input.fill("port")
    widget.panel.get_by_text("The connection was lost.").last.wait_for()


def test_page_paths_that_look_like_urls_stay_on_the_site(page: Page, stage: Stage, widget: Widget) -> None:
    path = stage.folder / INDEX_PATH
    index = json.loads(path.read_text("utf-8"))
    (trouble,) = (page for page in index["pages"] if page["path"] == "trouble/")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    addresses = ("a#b?c 100%.md", "//evil.example/x.md", "https://evil.example/x.md", "api:v1.md")
    for number, markdown in enumerate(addresses):
        trouble["markdown"] = markdown
        path.write_text(json.dumps(index), "utf-8")
        if number == 0:
            (stage.folder / "trouble" / "index.md").rename(stage.folder / markdown)
        widget.visit(stage.page(""))
        widget.input.fill("port taken")
        widget.hits.first.locator(".peek").click()
        shown = "PortTaken" if number == 0 else "This cannot be read"
        widget.hits.first.locator(f".open:has-text('{shown}')").wait_for()
    assert len(asked) > len(addresses)
    assert [url for url in asked if not url.startswith((stage.url, "data:"))] == []


# Haste


def test_question_right_after_stop_is_sent(page: Page, stage: Stage, widget: Widget) -> None:
    stage.plays(Reply(recorded("answered"), hold=LATER))
    stage.replies.append(Reply(recorded("follow_up")))
    widget.visit(stage.page())
    begun(widget)
    page.evaluate("{ const one = document.querySelector('roaming-ask'); one.stop(); one.ask('And its log?'); }")
    widget.turns.last.locator("[part=actions]").wait_for()
    assert [asked["question"] for asked in stage.asked] == [QUESTION, "And its log?"]
    assert widget.input.input_value() == QUESTION


def test_reset_during_answer_discards_it(page: Page, stage: Stage, widget: Widget) -> None:
    stage.plays(Reply(recorded("answered"), hold=LATER))
    widget.visit(stage.page())
    begun(widget)
    widget.panel.get_by_role("button", name="Start over").click()
    stage.plays(recorded("follow_up"))
    widget.ask("And its log?")
    assert widget.turns.count() == 1
    assert widget.input.input_value() == ""
    assert widget.alert.inner_text() == ""


def test_unfinished_turn_is_restored_on_next_page(page: Page, stage: Stage, widget: Widget) -> None:
    stage.plays(Reply(recorded("answered"), hold=LATER), recorded("answered"))
    page.goto(stage.page())
    stage.page(name="other.html")
    widget.open()
    begun(widget)
    widget.visit(stage.url + "other.html")
    turn = widget.turns.last
    assert "lease ask again." in turn.inner_text()
    assert turn.get_attribute("aria-busy") == "false"
    assert widget.alert.inner_text() == ""  # nobody asked here yet
    turn.get_by_role("button", name="Try again").click()
    widget.turns.locator("text=Read 3 sections").wait_for()
    assert stage.asked[1]["question"] == QUESTION
    page.goto(stage.url)  # here nobody asks, nor opens the panel
    widget.visit(stage.url + "other.html")
    assert widget.turns.count() == 1


def test_draft_survives_fallback_to_search(page: Page, stage: Stage, widget: Widget) -> None:
    reply = stage.plays(Reply(b"{ }", status=503, hold=b" "))
    widget.visit(stage.page())
    widget.send("port")
    widget.turns.last.wait_for()
    widget.input.fill("whistle")
    reply.released.set()
    widget.hits.first.wait_for()
    assert widget.input.input_value() == "port\nwhistle"


def test_api_calls_before_initialization_are_executed_later(page: Page, stage: Stage, widget: Widget) -> None:
    calls = "for (const one of document.querySelectorAll('roaming-ask')) { one.open(); one.prefill('Port?'); }"
    (stage.folder / "early.js").write_text(calls, "utf-8")
    url = stage.page(lang="de")
    with (stage.folder / "index.html").open("a") as file:
        file.write("<script type=module src=early.js></script>")
    page.goto(url)
    expect(widget.input).to_have_value("Port?")


def test_element_can_be_removed_and_inserted_again(page: Page, stage: Stage, widget: Widget) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    stage.plays(recorded("answered"))
    widget.visit(stage.page()).ask(QUESTION)
    page.evaluate("{ const one = document.querySelector('roaming-ask'); one.remove(); document.body.append(one); }")
    assert widget.panel.evaluate("panel => panel.matches(':modal')")
    assert widget.turns.count() == 1
    page.keyboard.press("Control+i")
    assert not widget.panel.is_visible()


def test_two_elements_do_not_interfere(page: Page, stage: Stage, widget: Widget) -> None:
    page.goto(stage.page(body="<roaming-ask></roaming-ask>"))
    page.locator("roaming-ask .opener").first.wait_for(state="attached")
    for opened in (1, 0, 1):
        page.keyboard.press("Control+i")
        expect(page.locator("roaming-ask dialog[open]")).to_have_count(opened)
