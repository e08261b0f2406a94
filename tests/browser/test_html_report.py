"""The HTML report of `roaming report` in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from kettle import KETTLE
from report_logs import line, rate, write_lines

from mkdocs_roaming.cli import main

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

HOSTILE = "<img src=https://evil.example/x onerror=alert(1)><script>alert(2)</script>"


@pytest.fixture(scope="module")
def log_report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the URL of a report on hostile questions, comments and causes."""
    folder = tmp_path_factory.mktemp("log")
    texts = (HOSTILE, "port " * 200, "\u202etroper eht", "relay clatter", "x" * 2_000)
    questions = [line(text, state, turn=text, cause=HOSTILE) for text in texts for state in ("not_found", "error")]
    agent = {"ts": 1, "request": {"uri": "/llms.txt", "headers": {"User-Agent": ["GPTBot"]}}, "status": 200}
    log = write_lines(folder / "q.jsonl", questions)
    feedback = write_lines(folder / "f.jsonl", [rate(HOSTILE, HOSTILE)])
    access = write_lines(folder / "access.log", [agent])
    options = ["--feedback", feedback, "--access-log", access, "--site", KETTLE, "--html", folder / "report.html"]
    assert CliRunner().invoke(main, ["report", *map(str, (log, *options))]).exit_code == 0
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
    assert events == [log_report]
    page.evaluate(axe)
    assert page.evaluate("async () => (await axe.run()).violations.map(one => one.id)") == []
    context.close()
