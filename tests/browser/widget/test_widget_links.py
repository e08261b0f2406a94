"""Links to answers: what they hold, and what they show when they are opened."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.models.base import Stop, Text, ToolCall
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.serve.app import AppConfig
from mkdocs_roaming.serve.service import AnswerConfig

from .conftest import Stage, Widget, stream
from .test_widget_endpoint import running

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

PORT = "Which port is the default?"
TEXT = "It listens on port 8642 [^{id}]."
PACK = """async (text) => {
  const packed = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
  return btoa(String.fromCharCode(...bytes)).replace(/\\+/g, "-").replace(/\\//g, "_").replace(/=/g, "");
}"""
PHISHING = "Your account is locked: sign in at evil.example."


@pytest.fixture
def server(stage: Stage) -> Any:
    """The section about the port."""
    return next(place for place in open_library(str(stage.folder)).sections if place.section.title == "Server")


def configure(folder: Path, *texts: str, opened: str, key: bytes = b"a key of the tests") -> AppConfig:
    """Return an endpoint that also serves the site; its model opens a section, then writes texts."""
    opens = [ToolCall("1", "expand_sections", {"ids": [opened]}), Stop("tools")]
    model = ScriptedModel([opens, *([Text(text), Stop("end")] for text in texts)])
    return AppConfig(str(folder), AnswerConfig(model, Budget(), 0), site=folder, key=key)


def copy_link(page: Page, widget: Widget) -> str:
    """Press *Copy link* below the last answer, and return the address."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    widget.turns.last.get_by_label("Copy link").click()
    widget.turns.last.get_by_label("Copied").wait_for()
    return str(page.evaluate("navigator.clipboard.readText()"))


def link(page_url: str, server: Any, digest: str = "", *, question: str = PORT, more: str = "") -> str:
    """Return a link to an answer without its text."""
    return f"{page_url}#roaming={quote(question)}&sections={server.id}{digest or server.section.digest[:6]}{more}"


def verified(valid: bool, **more: Any) -> bytes:
    return json.dumps({"valid": valid, "problem": "" if valid else "signature", "time": 1_800_000_000, **more}).encode()


# With a real endpoint


def test_signed_link_shows_text_and_can_be_continued(page: Page, stage: Stage, widget: Widget, server: Any) -> None:
    stage.page()
    text = TEXT.format(id=server.id)
    with running(configure(stage.folder, text, text, opened=server.id)) as url:
        page.goto(url)
        widget.open().ask(PORT)
        address = copy_link(page, widget)
        given = parse_qs(urlsplit(address).fragment)
        assert given["roaming"] == [PORT]
        assert given["sections"] == [server.id + server.section.digest[:6]]
        page.evaluate("sessionStorage.clear()")
        page.goto("about:blank")
        page.goto(address)
        turn = widget.ended()
        assert "It listens on port 8642.[1]" in turn.inner_text()
        assert re.search(r"From a link\. Answered on \w+ \d+, \d{4}\. Nothing has changed since\.", turn.inner_text())
        assert turn.locator(".cite").get_attribute("href") == f"{url}settings/"
        assert "server.workers" in turn.locator(".passage").inner_text()
        assert page.url == url
        assert "8642.[1]" in widget.ask("Is that so?").inner_text()
        page.reload()
        widget.open()
        assert widget.turns.count() == 2
        widget.turns.first.get_by_text("Answered on").wait_for()
        assert copy_link(page, widget).count("text=") == 0  # a follow-up question is not signed


@pytest.mark.parametrize(
    "forge",
    [
        lambda address, packed: re.sub(r"text=[^&]+", f"text={packed}", address),
        lambda address, packed: address.replace("default", "wrong"),
        lambda address, packed: re.sub(r"sections=\w{8}", "sections=01234567", address),
        lambda address, packed: address[:-9],  # cut by a mail program
        lambda address, packed: re.sub(r"signature=\w{8}", "signature=00000000", address),
        lambda address, packed: re.sub(r"signature=[^&]+&", "", address),
    ],
    ids=["text", "question", "section", "cut", "key", "unsigned"],
)
def test_forged_link_shows_no_text(
    page: Page, stage: Stage, widget: Widget, server: Any, forge: Callable[[str, str], str]
) -> None:
    stage.page()
    with running(configure(stage.folder, TEXT.format(id=server.id), opened=server.id)) as url:
        page.goto(url)
        widget.open().ask(PORT)
        address = copy_link(page, widget)
        packed = page.evaluate(PACK, f"{PHISHING} [^{server.id}]")
        page.evaluate("sessionStorage.clear()")
        page.goto("about:blank")
        page.goto(forge(address, packed))
        turn = widget.ended()
        turn.get_by_text("From a link to an answer;").wait_for()
        assert "evil.example" not in widget.panel.inner_text()
        assert "It listens on port 8642" not in turn.inner_text()
        assert turn.locator("[part=actions]").count() == 0
        assert turn.get_by_role("button", name="Ask again").is_visible()


# With a recorded endpoint


def test_text_is_not_shown_if_endpoint_is_down(page: Page, stage: Stage, widget: Widget, server: Any) -> None:
    stage.plays(stream())
    page.goto(link(stage.page(), server, more="&signature=x&text=y"))
    turn = widget.ended()
    turn.get_by_text("server.workers").wait_for()
    assert stage.asked == []  # the text cannot be read


def test_changed_section_is_marked(page: Page, stage: Stage, widget: Widget, server: Any) -> None:
    page.goto(link(stage.page(), server, "000000"))
    turn = widget.ended()
    assert "1 of 1 sections has changed since." in turn.inner_text()
    assert "changed since" in turn.locator(".source").inner_text()


def test_moved_section_is_found_by_alias_and_removed_one_is_named(
    page: Page, stage: Stage, widget: Widget, server: Any
) -> None:
    manifest = stage.folder / "roaming" / "manifest.json"
    data = json.loads(manifest.read_text("utf-8"))
    for entry in (section for one in data["pages"] for section in one["sections"]):
        if entry["id"] == server.id:
            entry["aliases"] = ["0a0a0a0a"]
    manifest.write_text(json.dumps(data), "utf-8")
    digest = server.section.digest[:6]
    page.goto(f"{stage.page()}#roaming=Which&sections=0a0a0a0a{digest}.12345678123456.{server.id}{digest}")
    turn = widget.ended()
    turn.locator(".passage").nth(1).wait_for()
    rows = turn.locator(".rows > li")
    assert "1 of 3 sections has changed since." in turn.inner_text()
    assert [rows.nth(at).inner_text()[0] for at in range(3)] == ["1", "3", "2"]
    assert "No longer in these docs" in rows.nth(2).inner_text()
    assert turn.locator("a.source").first.get_attribute("href") == f"{stage.url}settings/"


def test_link_works_without_endpoint(page: Page, stage: Stage, widget: Widget, server: Any) -> None:
    page.goto(link(stage.page(""), server, more="&signature=x&text=y"))
    turn = widget.ended()
    turn.get_by_text("server.workers").wait_for()
    assert turn.is_visible()
    assert PORT in turn.inner_text()
    assert turn.get_by_role("button", name="Ask again").count() == 0
    widget.input.fill("boil")
    widget.hits.first.wait_for()
    assert not turn.is_visible()
    assert stage.asked == []


def test_unsigned_question_is_plain_text_of_limited_length(
    page: Page, stage: Stage, widget: Widget, server: Any
) -> None:
    page.goto(link(stage.page(), server, question="<img src=x onerror=alert(1)> \u202egnp.exe " + "wörter " * 200))
    heading = widget.ended().locator("h3")
    assert heading.locator("*").count() == 0
    assert heading.inner_text().startswith("<img src=x onerror=alert(1)> gnp.exe wörter")
    assert len(heading.inner_text()) < 310


def test_link_is_followed_without_page_load(page: Page, stage: Stage, widget: Widget, server: Any) -> None:
    url = stage.page()
    page.goto(url)
    widget.open()
    page.evaluate("address => (location.href = address)", link(url, server))
    assert PORT in widget.ended().inner_text()
    page.go_back()
    assert widget.turns.count() == 1


@pytest.mark.parametrize(
    "fragment", ["#roaming=", "#roaming=%20", "#roaming=x&sections=zz.1", "#roaming=%E0%A4%A&sections=%"]
)
def test_damaged_link_breaks_nothing(page: Page, stage: Stage, widget: Widget, fragment: str) -> None:
    page.goto(stage.page() + fragment)
    page.wait_for_function("!location.hash")
    page.locator("roaming-ask .opener:visible, roaming-ask article[aria-busy=false]").first.wait_for()
    assert widget.turns.count() <= 1


def test_verified_text_is_shown_without_feedback(page: Page, stage: Stage, widget: Widget, server: Any) -> None:
    """Its question is not in the log of this turn."""
    stage.plays(verified(True, turn="signed"))
    page.goto(stage.page('endpoint="/" feedback="on"'))
    text = f"It has 3 ports – ü [^{server.id}]."
    packed = page.evaluate(PACK, text)
    page.goto("about:blank")
    page.goto(link(stage.url + "index.html", server, more=f"&signature=s&text={packed}"))
    turn = widget.ended()
    assert "It has 3 ports – ü" in turn.inner_text()
    assert turn.get_by_label("Copy answer").is_visible()
    assert turn.get_by_label("Helpful", exact=True).count() == 0
    sections = [server.id + server.section.digest[:6]]
    body = {"question": PORT, "answer": text, "sections": sections, "signature": "s"}
    assert stage.asked == [{"path": "/v1/verify", **body}]


@pytest.mark.parametrize("reply", [verified(False), b"{}", b"[1]", b"not JSON", b'{"valid": "yes"}'])
def test_text_that_is_not_confirmed_is_not_shown(
    page: Page, stage: Stage, widget: Widget, server: Any, reply: bytes
) -> None:
    stage.plays(reply)
    page.goto(stage.page())
    packed = page.evaluate(PACK, PHISHING)
    page.goto("about:blank")
    page.goto(link(stage.url + "index.html", server, more=f"&signature=s&text={packed}"))
    assert "as they are now" in widget.ended().inner_text()
    assert "evil.example" not in widget.panel.inner_text()
    assert len(stage.asked) == 1


@pytest.mark.parametrize("name", ["guide/deep.html", "guide/deep/index.html"])
def test_link_works_on_other_pages(page: Page, stage: Stage, widget: Widget, server: Any, name: str) -> None:
    (stage.folder / name).parent.mkdir(parents=True)
    url = stage.page('endpoint="/"', name=name, manifest="/roaming/manifest.json")
    html = (stage.folder / name).read_text("utf-8").replace('src="roaming/', 'src="/roaming/')
    (stage.folder / name).write_text(html, "utf-8")
    page.goto(link(url.removesuffix("index.html"), server))
    turn = widget.ended()
    turn.locator(".passage").wait_for()
    assert turn.locator("a.source").get_attribute("href") == f"{stage.url}settings/"
