"""Pages that are opened from a disk, where browsers load no modules."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .conftest import Stage, Widget, served
from .themes import built

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture
def tolerated() -> str:
    """The browser reports the module that it refuses to load."""
    return r"roaming-ask\.js|origin 'null'|iframe-worker|fonts\.g|ERR_FAILED"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Stage]:
    """A site of Material that is built for disks."""
    with served(tmp_path / "site") as stage:
        plugins = ["material/search", "material/offline", {"roaming": {"widget": {"endpoint": stage.url}}}]
        yield built(stage, "material plain", {"index.md": "# Ebb\n\nIt ebbs.\n"}, plugins=plugins)


@pytest.mark.parametrize("entrance", ["roaming-ask button", ".md-header [data-roaming-open]"])
def test_page_says_that_the_widget_needs_a_server(page: Page, site: Stage, entrance: str) -> None:
    page.goto((site.folder / "index.html").as_uri())
    note = page.get_by_text("Questions need a web server")
    assert not note.is_visible()
    page.locator(entrance).click()
    note.wait_for()
    page.keyboard.press("Escape")
    note.wait_for(state="hidden")


def test_note_is_not_shown_on_a_server(page: Page, site: Stage, widget: Widget) -> None:
    page.goto(site.url)
    widget.open()
    assert page.get_by_text("Questions need a web server").count() == 0
