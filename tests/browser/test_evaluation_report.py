"""The report of an evaluation, in a real browser: it opens from a file, asks for nothing, and fits a phone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mkdocs_roaming.library.library import open_library

if TYPE_CHECKING:
    from playwright.sync_api import Browser

KETTLE = Path(__file__).parents[1] / "golden" / "answer" / "kettle.md"
QUESTIONS = """\
questions:
  - ask: Which port is the default?
    sections: [settings#server]
    contains: ['8642']
  - ask: do the relays clatter on a Tuesday in a room of which nobody has ever measured the width
    sections: [settings#logs]
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report as the command writes it."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "q.yml").write_text(QUESTIONS, "utf-8")
    command = [sys.executable, "-m", "mkdocs_roaming", "eval", KETTLE, "q.yml", "--compare", "search,offline"]
    subprocess.run([*command, "--html", "report.html"], cwd=folder, capture_output=True, check=True)
    return folder / "report.html"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
def test_report_opens_from_a_file(browser: Browser, report: Path, scheme: str, width: int) -> None:
    """Opened from a file it shows plots and questions in the reader's colours, by keyboard too, and fetches nothing."""
    dark = scheme == "dark"
    size = {"width": width, "height": 900}
    context = browser.new_context(viewport=size, color_scheme="dark" if dark else "light")
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("request", lambda request: said.append(request.url))
    page.goto(report.as_uri())
    assert said == [report.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") is not dark
    page.locator("summary").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("details").first.get_by_text("a right answer holds").is_visible()
    assert page.locator("details:visible").count() == 2
    page.get_by_label("Only those").check()
    assert page.locator("details:visible").count() == 1
    assert page.get_by_role("img").first.bounding_box() is not None
    context.close()


HOSTILE = "<img src=https://evil.example/x onerror=alert(1)><script>alert(2)</script>"


def test_a_hostile_site_runs_nothing(browser: Browser, tmp_path: Path) -> None:
    """Titles, text, questions and literals that would be HTML are shown as they are written: no dialog, no request."""
    (tmp_path / "docs.md").write_text(
        f"# Site `{HOSTILE}`\n\n## Port `{HOSTILE}`\n\nThe port of `{HOSTILE}` is 8642.\n", "utf-8"
    )
    (tmp_path / "q.yml").write_text(
        f"questions:\n- ask: which port has {HOSTILE}\n  answerable: false\n  note: '{HOSTILE}'\n"
        f"- ask: port 8642\n  sections: docs\n  contains: ['{HOSTILE}']\n",
        "utf-8",
    )
    library = open_library(tmp_path / "docs.md")
    place = next(place for place in library.sections if place.position)
    text = (tmp_path / "q.yml").read_text("utf-8").replace("sections: docs", f"sections: '{place.id}'")
    (tmp_path / "q.yml").write_text(text, "utf-8")
    command = [sys.executable, "-m", "mkdocs_roaming", "eval", "docs.md", "q.yml", "--compare", "search,offline"]
    subprocess.run([*command, "--html", "report.html"], cwd=tmp_path, capture_output=True, check=True)
    page = browser.new_page()
    said: list[str] = []
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("request", lambda request: said.append(request.url))
    url = (tmp_path / "report.html").as_uri()
    page.goto(url)
    for summary in page.locator("summary").all():
        summary.click()
    assert page.get_by_text(HOSTILE).count() >= 3
    assert page.locator("script, img").count() == 0
    assert said == [url]
    page.close()
