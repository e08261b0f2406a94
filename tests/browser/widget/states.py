"""Brings the widget into each of its states."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from playwright.sync_api import Page

from mkdocs_roaming.publish.elements.finder_index import INDEX_PATH

from .conftest import KETTLE, TESTS, Reply, Stage, Widget, recorded, stream

QUESTION = "How do I change the port, and what else needs a restart?"
PAUSE = b": pause\n\n"
_SECTIONS = json.loads((TESTS / "golden/widget/answer.json").read_text("utf-8"))
PLACES = _SECTIONS["places"]
SNIPPETS = _SECTIONS["snippets"]
PASSAGES = _SECTIONS["passages"]
FOUND = ("2ebf9271", "1f43e0f5")
ANSWER = (TESTS / "golden/widget/answer.md").read_text("utf-8")


def sources() -> dict[str, str]:
    """Return the Markdown of the Kettle pages by file name."""
    parts = ("# " + part.removeprefix("# ") for part in KETTLE.read_text("utf-8").split("\n# "))
    names = {"Install": "install.md", "Settings": "settings.md", "Troubleshooting": "trouble.md"}
    files = {names[title]: part for part in parts if (title := part[2:].split("\n")[0]) in names}
    home = "# Kettle\n\nA server for tea.\n\n## Which port is the default?\n\nSee [settings](settings.md).\n\n"
    return {"index.md": home + "## Start it\n\n" + "Put the lid on, and wait.\n\n" * 12, **files}


def turn(url: str) -> bytes:
    """Return the stream of an answer, with pauses between its phases."""
    found = [_section(url, id_, "read", by="search") for id_ in FOUND]
    opened = [_section(url, id_, "open") for id_ in PLACES if id_ not in FOUND]
    read = [_section(url, id_, "read") for id_ in PLACES if id_ not in FOUND]
    outline = {"type": "data-outline", "data": {"digest": "d", "sections": 212, "whole": False}}
    start = ANSWER.index("21")
    marked = {
        "kind": "number",
        "start": start,
        "end": start + 2,
        "section": "fed26049",
        "passage": "Old logs are deleted after 12 days.",
    }
    passages = [
        {"section": id_, "text": text, "fragment": "", "start": ANSWER.index(f"[^{id_}]")}
        for id_, text in PASSAGES.items()
    ]
    support = {"score": 0.9, "marks": [marked], "passages": passages}
    status = {
        "state": "answered",
        "model": "claude-haiku-5-5",
        "sections": len(PLACES),
        "tokens_read": 1480,
        "cost": 0.0042,
        "currency": "USD",
    }
    half = ANSWER.index("Three")
    ending = [
        {"type": "text-delta", "id": "t", "delta": ANSWER[half:]},
        *(_section(url, id_, "cited", snippet=SNIPPETS[id_]) for id_ in PLACES if id_ in ANSWER),
        {"type": "data-support", "data": support},
        {"type": "data-followups", "data": {"questions": ["How do I see the log?", "How many brew at once?"]}},
        {"type": "data-status", "data": status},
        {"type": "finish", "messageMetadata": {"turn": "signed"}},
    ]
    first = [*read, {"type": "text-delta", "id": "t", "delta": ANSWER[:half]}]
    return PAUSE.join(_encode(*parts) for parts in ([outline], [*found, {"type": "start-step"}], opened, first, ending))


def every_state(page: Page, stage: Stage, widget: Widget, url: str) -> Iterator[str]:
    """Show the widget in each of its states, and yield the name of the state."""
    page.clock.install()
    page.goto(url)
    yield "closed"
    widget.open()
    yield "empty"
    reply = stage.plays(Reply(turn(stage.url), hold=PAUSE, every=True))
    widget.input.fill(QUESTION)
    widget.input.press("Enter")
    _wait_for_text(page, "212 sections")
    yield "reading"
    reply.released.set()
    _wait_for_text(page, "Reading 2 sections")
    yield "found"
    reply.released.set()
    _wait_for_text(page, "Opening Logs")
    yield "roaming"
    page.clock.fast_forward(5_100)
    _wait_for_text(page, "Still reading")
    yield "slow"
    reply.released.set()
    widget.turns.locator("pre").wait_for()
    yield "writing"
    reply.released.set()
    ended = widget.ended()
    yield "answered"
    ended.locator(".trail > summary").click()
    yield "trail"
    ended.locator("mark").click()
    yield "note"
    ended.get_by_role("button", name="Not helpful").click()
    yield "comment"
    ended.locator(".cite").first.hover()
    page.clock.fast_forward(200)
    widget.panel.locator(".card").wait_for()
    yield "card"
    page.keyboard.press("Escape")
    for name in ("partial", "marked", "results", "not_found", "unusable", "refused", "budget", "error"):
        start_over(widget)
        stage.plays(recorded(name))
        widget.ask("Does it whistle on Kubernetes?")
        yield name
    start_over(widget)
    page.evaluate("document.querySelector('roaming-ask').search()")
    widget.panel.locator(".start").wait_for()
    yield "start"
    widget.input.fill("server port")
    widget.hits.first.wait_for()
    yield "search"
    widget.panel.get_by_role("button", name="Ask the docs").click()
    widget.input.fill("")
    yield from _failure_states(page, stage, widget)
    yield from _search_states(page, stage, widget, url)


def start_over(widget: Widget) -> None:
    widget.panel.get_by_role("button", name="Start over").click()


def _failure_states(page: Page, stage: Stage, widget: Widget) -> Iterator[str]:
    reply = stage.plays(Reply(turn(stage.url), hold=PAUSE))
    widget.input.fill(QUESTION)
    widget.input.press("Enter")
    _wait_for_text(page, "212 sections")
    widget.panel.get_by_role("button", name="Stop").click()
    widget.ended()
    reply.released.set()
    yield "stopped"
    start_over(widget)
    body = turn(stage.url).replace(PAUSE, b"")
    stage.plays(Reply(body, drop=body.index(b"Three settings")))
    widget.ask(QUESTION)
    yield "lost"
    start_over(widget)
    stage.plays(Reply(b'{"code": "money", "retry_after": 7200}', status=429))
    widget.input.fill(QUESTION)
    widget.input.press("Enter")
    widget.panel.locator(".notice").wait_for()
    widget.hits.first.wait_for()
    yield "money"
    start_over(widget)
    stage.plays(Reply(b'{"code": "rate", "retry_after": 42}', status=429))
    widget.ask(QUESTION)
    yield "rate"
    page.clock.fast_forward(43_000)
    _wait_for_text(page, "ask again now")


def _search_states(page: Page, stage: Stage, widget: Widget, url: str) -> Iterator[str]:
    start_over(widget)
    stage.plays(Reply(b"{}", status=503))
    widget.input.fill("port taken")
    widget.input.press("Enter")
    widget.hits.first.wait_for()
    yield "down"
    page.evaluate("document.querySelector('roaming-ask').setAttribute('mode', 'finder')")
    widget.input.fill("")
    yield "finder"
    widget.input.fill("server port")
    widget.panel.locator(".hit h3:has-text('Server')").wait_for()
    yield "hits"
    widget.hits.first.locator(".peek").click()
    widget.hits.first.locator(".open a").wait_for()
    yield "opened"
    widget.input.fill("zzzz")
    _wait_for_text(page, "Nothing found")
    yield "none"
    index = stage.folder / INDEX_PATH
    large = {name: value for name, value in json.loads(index.read_bytes()).items() if name not in ("pages", "search")}
    for state, text in (("many", json.dumps({**large, "count": 10_001})), ("unread", "{")):
        index.write_text(text, "utf-8")
        page.goto(url)
        widget.open()
        page.evaluate("document.querySelector('roaming-ask').setAttribute('mode', 'finder')")
        widget.input.fill("port")
        _wait_for_text(page, {"many": "too many to search", "unread": "cannot be read"}[state])
        yield state


def _section(url: str, id_: str, state: str, **given: str) -> dict[str, Any]:
    *_, title = path = PLACES[id_]
    data = {"title": title, "path": path, "url": f"{url}#{id_}", "tokens": 40 + len(title) * 9, "state": state, **given}
    return {"type": "data-section", "id": id_, "data": data}


def _encode(*parts: dict[str, Any]) -> bytes:
    return stream(*parts).replace(b"data: [DONE]\n\n", b"")


def _wait_for_text(page: Page, text: str) -> None:
    page.wait_for_function(
        "text => document.querySelector('roaming-ask').shadowRoot.querySelector('dialog').textContent.includes(text)",
        arg=text,
    )
