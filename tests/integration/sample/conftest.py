"""The pages of the sample site, as their HTML shows them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import lxml.html
import pytest

SITE = Path(__file__).parents[3] / "sample_site"
_HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
_BLOCKS = {"admonition", "panel", "tabbed-set"}


@dataclass(slots=True)
class RenderedPage:
    """The rendered text of one source file by section anchor."""

    source: str
    sections: dict[str, str] = field(default_factory=dict)

    @property
    def own_anchor(self) -> str:
        return next(iter(self.sections))


@pytest.fixture(scope="session")
def rendered(sample: Path) -> dict[str, RenderedPage]:
    """The pages of the sample site by source file."""
    return {page.source: page for page in _pages(sample)}


def _pages(site_dir: Path) -> Iterator[RenderedPage]:
    for source in sorted((SITE / "docs").rglob("*.md")):
        name = source.relative_to(SITE / "docs").as_posix()
        path = "" if name == "index.md" else name.removesuffix(".md") + "/"
        html = lxml.html.fromstring((site_dir / path / "index.html").read_bytes())
        page = RenderedPage(name)
        (article,) = html.xpath("//article")
        current = ""
        for kind, text in _walk(article, in_block=False):
            if kind == "heading":
                assert text not in page.sections, f"{name} has the anchor {text} twice"
                page.sections[text] = ""
                current = text
            elif current:
                page.sections[current] += text
        yield page


def _walk(element: lxml.html.HtmlElement, *, in_block: bool) -> Iterator[tuple[str, str]]:
    """Yield the top-level headings and the text of an element, in document order."""
    classes = set(element.classes) if isinstance(element.tag, str) else {"no-llms"}
    if not classes & {"no-llms", "headerlink"}:
        if element.tag in _HEADINGS and element.get("id") and not in_block:
            yield "heading", element.get("id")
        yield "text", element.text or ""
        for child in element:
            yield from _walk(child, in_block=in_block or element.tag == "details" or bool(classes & _BLOCKS))
    yield "text", element.tail or ""
