"""The HTML reports of `roaming eval` and `roaming report` in a browser."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from kettle import KETTLE

from mkdocs_roaming.library.targets import open_library

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

QUESTIONS = """\
questions:
  - ask: Which port is the default?
    sections: [settings#server]
    contains: ['8642']
  - ask: do the relays clatter on a Tuesday in a room of which nobody has ever measured the width
    sections: [settings#logs]
"""
HOSTILE = "<img src=https://evil.example/x onerror=alert(1)><script>alert(2)</script>"


def write_report(folder: Path, site: Path) -> str:
    """Evaluate `q.yml` in a folder and return the URL of the report."""
    command = [sys.executable, "-m", "mkdocs_roaming", "eval", str(site), "q.yml", "--compare", "search,offline"]
    subprocess.run([*command, "--html", "report.html"], cwd=folder, capture_output=True, check=True)
    return (folder / "report.html").as_uri()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report")
    (folder / "q.yml").write_text(QUESTIONS, "utf-8")
    return write_report(folder, KETTLE)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
def test_report_works_offline_by_keyboard_and_on_narrow_screens(
    browser: Browser, report: str, scheme: str, width: int
) -> None:
    is_dark = scheme == "dark"
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme="dark" if is_dark else "light")
    page = context.new_page()
    events: list[str] = []
    page.on("console", lambda message: events.append(message.text))
    page.on("request", lambda request: events.append(request.url))
    page.goto(report)
    assert events == [report]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") is not is_dark
    page.locator("summary").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("details").first.get_by_text("expected literals").is_visible()
    assert page.locator("details:visible").count() == 2
    bar = page.locator("meter").first.bounding_box()
    assert bar is not None
    assert bar["width"] > 50
    context.close()


def test_report_of_hostile_site_shows_markup_as_text(browser: Browser, tmp_path: Path) -> None:
    site = tmp_path / "docs.md"
    site.write_text(f"# Site `{HOSTILE}`\n\n## Port `{HOSTILE}`\n\nThe port of `{HOSTILE}` is 8642.\n", "utf-8")
    ref = next(ref for ref in open_library(site).sections if ref.position)
    (tmp_path / "q.yml").write_text(
        f"questions:\n- ask: which port has {HOSTILE}\n  answerable: false\n  note: '{HOSTILE}'\n"
        f"- ask: port 8642\n  sections: '{ref.id}'\n  contains: ['{HOSTILE}']\n",
        "utf-8",
    )
    url = write_report(tmp_path, site)
    page = browser.new_page()
    events: list[str] = []
    page.on("dialog", lambda dialog: events.append(dialog.message))
    page.on("request", lambda request: events.append(request.url))
    page.goto(url)
    for summary in page.locator("summary").all():
        summary.click()
    assert page.get_by_text(HOSTILE).count() >= 3
    assert page.locator("script, img").count() == 0
    assert events == [url]
    page.close()


# The report on the logs of an endpoint


@pytest.fixture(scope="module")
def log_report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the URL of a report on hostile questions, comments and addresses."""
    folder = tmp_path_factory.mktemp("log")
    lines = [
        {"time": f"2026-03-0{day}T10:00:00Z", "question": text, "state": state, "turn": text, "cause": HOSTILE}
        for day, text in enumerate((HOSTILE, "port " * 200, "\u202etroper eht", "relay clatter", "x" * 2_000), 1)
        for state in ("not_found", "error")
    ]
    rating = {"time": "2026-03-06T10:00:00Z", "turn": HOSTILE, "helpful": False, "comment": HOSTILE}
    agent = {"ts": 1, "request": {"uri": "/%3Cimg%20src=x%3E", "headers": {"User-Agent": ["GPTBot"]}}, "status": 404}
    for name, content in (("q.jsonl", lines), ("f.jsonl", [rating]), ("access.log", [agent])):
        (folder / name).write_text("".join(f"{json.dumps(line)}\n" for line in content), "utf-8")
    options = ["--feedback", "f.jsonl", "--access-log", "access.log", "--site", str(KETTLE), "--html", "report.html"]
    command = [sys.executable, "-m", "mkdocs_roaming", "report", "q.jsonl", *options]
    subprocess.run(command, cwd=folder, capture_output=True, check=True)
    return (folder / "report.html").as_uri()


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_report_of_hostile_log_is_readable_and_requests_nothing(
    browser: Browser, log_report: str, axe: str, scheme: str, width: int
) -> None:
    is_dark = scheme == "dark"
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme="dark" if is_dark else "light")
    page = context.new_page()
    events: list[str] = []
    page.on("console", lambda message: events.append(message.text))
    page.on("dialog", lambda dialog: events.append(dialog.message))
    page.on("request", lambda request: events.append(request.url))
    page.goto(log_report)
    page.locator("summary").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("details[open] h3").first.is_visible()
    for details in page.locator("details").all():
        details.evaluate("node => node.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("script, img").count() == 0
    assert page.get_by_text(HOSTILE).count() >= 3
    assert page.locator("svg rect").count() == 10
    assert events == [log_report]
    page.evaluate(axe)
    assert page.evaluate("async () => (await axe.run()).violations.map(one => one.id)") == []
    context.close()
