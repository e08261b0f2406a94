"""The languages of code, recorded while MkDocs renders the pages."""

from __future__ import annotations

import sys
from contextvars import ContextVar
from functools import cache, wraps
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.pages import Page as MkDocsPage
from msgspec import Struct, field

from mkdocs_roaming._mkdocs import blog_posts

_RecordedCode = list[tuple[str, str]]
_recorded: ContextVar[_RecordedCode | None] = ContextVar("recorded", default=None)
"""The list for the code of the page that is being rendered."""


class CodeLanguages(Struct):
    """The code on each page with the language that its author wrote, recorded by the highlighters.

    The HTML of many sites does not name it: `pygments_lang_class` is off by default, is not available where
    superfences are used without `pymdownx.highlight`, and names languages that Pygments does not know `text`.
    """

    pages: dict[str, _RecordedCode] = field(default_factory=dict)
    """The code of each page by its source."""

    def start(self, page: MkDocsPage, config: MkDocsConfig) -> None:
        """Record what is highlighted from now on as code of a page."""
        _wrap_codehilite()
        is_named = any(str(name).startswith("pymdownx") for name in config.markdown_extensions)
        if is_named or "pymdownx.highlight" in sys.modules:  # it may not be imported yet, or by mkdocstrings
            _wrap_pymdownx()
        self.pages[page.file.src_uri] = []
        _recorded.set(self.pages[page.file.src_uri])

    def stop(self) -> None:
        """Stop recording."""
        _recorded.set(None)

    def find(self, page: MkDocsPage, article: str) -> tuple[tuple[str, str], ...]:
        """Return the code of an article: of a page, or for a list of blog posts also of the posts that it links to."""
        sources = [page]
        for post in blog_posts(page) or ():
            slug = post.url.rstrip("/").rpartition("/")[2]
            if slug in article:
                sources.append(post)
        recorded: _RecordedCode = []
        for source in sources:
            recorded += self.pages.get(source.file.src_uri, ())
        return tuple(recorded)


def _record_code(code: str, language: str | None) -> None:
    recorded = _recorded.get()
    if recorded is not None:
        recorded.append((code, language or ""))


@cache
def _wrap_codehilite() -> None:
    from markdown.extensions.codehilite import CodeHilite

    hilite = CodeHilite.hilite

    @wraps(hilite)
    def record(self: CodeHilite, *args: Any, **kwargs: Any) -> str:
        code = self.src.strip("\n")
        language = self.lang
        html = hilite(self, *args, **kwargs)
        if language is None and (self.src != code or code.startswith("#!")):
            language = self.lang  # named by a first line such as `:::python`, which is removed; otherwise guessed
        _record_code(self.src, language)
        return html

    CodeHilite.hilite = record  # type: ignore[method-assign]  # it has no hook for the language


@cache
def _wrap_pymdownx() -> None:
    from pymdownx.highlight import Highlight
    from pymdownx.superfences import SuperFencesBlockPreprocessor as SuperFences

    highlight = Highlight.highlight
    process = getattr(SuperFences, "process_nested_block", None)

    @wraps(highlight)
    def record_code(self: Any, src: str, language: str | None = None, *args: Any, **kwargs: Any) -> Any:
        if not kwargs.get("inline"):
            _record_code(src, language or getattr(self, "default_lang", None))
        return highlight(self, src, language, *args, **kwargs)

    Highlight.highlight = record_code
    if process is None or not hasattr(SuperFences, "rebuild_block"):
        return  # a later version; custom fences then have no language

    @wraps(process)
    def record_fence(self: Any, *args: Any, **kwargs: Any) -> None:
        recorded = _recorded.get()
        code = self.rebuild_block(self.code)
        language = self.lang
        count = len(recorded or ())
        process(self, *args, **kwargs)
        if recorded is not None and len(recorded) == count:  # a custom fence, which has no highlighter
            _record_code(code, language)

    SuperFences.process_nested_block = record_fence
