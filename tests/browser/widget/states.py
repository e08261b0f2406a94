"""Brings the widget into each of its states."""

from __future__ import annotations

import json
from collections.abc import Iterator

from playwright.sync_api import Page

from mkdocs_roaming.publish.elements.finder_index import INDEX_PATH

from .conftest import KETTLE, TESTS, Reply, Stage, Widget, recorded

QUESTION = "How do I change the port, and what else needs a restart?"
PAUSE = b": pause\n\n"
"""Between the phases of the recorded answer."""


def sources() -> dict[str, str]:
    """Return the Markdown of the Kettle pages by file name."""
    parts = ("# " + part.removeprefix("# ") for part in KETTLE.read_text("utf-8").split("\n# "))
    names = {"Install": "install.md", "Settings": "settings.md", "Troubleshooting": "trouble.md"}
    files = {names[title]: part for part in parts if (title := part[2:].split("\n")[0]) in names}
    home = "# Kettle\n\nA server for tea.\n\n## Which port is the default?\n\nSee [settings](settings.md).\n\n"
    return {"index.md": home + "## Start it\n\n" + "Put the lid on, and wait.\n\n" * 12, **files}


def turn(url: str) -> bytes:
    """Return the stream of an answer, with pauses between its phases."""
    phases = (TESTS / "golden/widget/phases.sse").read_bytes()
    return phases.replace(b"https://kettle.example/", url.encode())


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


def _wait_for_text(page: Page, text: str) -> None:
    page.wait_for_function(
        "text => document.querySelector('roaming-ask').shadowRoot.querySelector('dialog').textContent.includes(text)",
        arg=text,
    )
