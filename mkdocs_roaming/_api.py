"""The functions of the public API that combine packages; `mkdocs_roaming` exports them."""

from __future__ import annotations

import os
import warnings
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Literal

from anyio.from_thread import start_blocking_portal

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.conversation import check_question
from mkdocs_roaming.answer.events import Answer, Event, collect_answer
from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.models.base import Model, create_model
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.locks import hold_folder
from mkdocs_roaming.manifest.descriptions import read_configured_descriptions
from mkdocs_roaming.manifest.lookup import Scope
from mkdocs_roaming.manifest.models import NavItem, Page, Site
from mkdocs_roaming.publish.cache import ConversionCache
from mkdocs_roaming.publish.options import PublishOptions, parse_options
from mkdocs_roaming.publish.ownership import PublishedFiles
from mkdocs_roaming.publish.pipeline import convert_pages
from mkdocs_roaming.publish.writer import PublishReport, publish_batch
from mkdocs_roaming.settings import decode_table
from mkdocs_roaming.sources.project import IndexOptions
from mkdocs_roaming.sources.publication import index_site


def ask(
    library: Library | str | Path,
    question: str,
    *,
    model: Model | str | None = None,
    page: str | None = None,
    scope: Scope | None = None,
    **limits: Any,
) -> Answer:
    """Answer a question from a site, with citations.

    Example:
        ```python
        answer = mkdocs_roaming.ask("site", "How do I drain the harbour?", model="claude")
        print(answer.text)
        for source in answer.citations:
            print(source.title, source.url)
        ```

    Args:
        library: The site, or its folder or URL.
        question: The question.
        model: A model, or its name: `claude`, `claude:MODEL`, `openai:MODEL`, `offline` (search results; needs no key
            and no server), or one of a plugin. By default the one in ROAMING_MODEL, Claude if ANTHROPIC_API_KEY is set,
            or `offline`.
        page: The page that the reader is on: its path or URL.
        scope: The visible part of the site; the whole site by default.
        limits: Limits of the answer by name, such as `rounds`, the maximum number of model calls, and `seconds`.

    Returns:
        The answer. `state` is `answered` or tells why it is not: errors of the model do not raise an exception.

    Raises:
        UsageError: The question is empty or too long, a limit is invalid, there is no such model, or no page is in the
            scope.
        LibraryError: The site cannot be opened.
    """
    events = astream(library, question, model=model, page=page, scope=scope, **limits)
    with start_blocking_portal() as portal:  # works in a notebook, where an event loop is running
        return portal.call(collect_answer, events)


def stream(
    library: Library | str | Path,
    question: str,
    *,
    model: Model | str | None = None,
    page: str | None = None,
    scope: Scope | None = None,
    **limits: Any,
) -> Iterator[Event]:
    """Answer a question, and yield what happens: sections opened, text, citations, the end.

    The event classes are in `mkdocs_roaming.answer.events`. Breaking out of the loop stops the model.

    Example:
        ```python
        from mkdocs_roaming.answer.events import TextReleased

        for event in mkdocs_roaming.stream("site", "How do I drain the harbour?"):
            if isinstance(event, TextReleased):
                print(event.text, end="", flush=True)
        ```

    Args:
        library: The site, or its folder or URL.
        question: The question.
        model: A model or its name; see `ask`.
        page: The page that the reader is on: its path or URL.
        scope: The visible part of the site; the whole site by default.
        limits: Limits of the answer; see `ask`.

    Raises:
        UsageError: The question is empty or too long, a limit is invalid, there is no such model, or no page is in the
            scope.
        LibraryError: The site cannot be opened.
    """
    events = astream(library, question, model=model, page=page, scope=scope, **limits)
    queue: SimpleQueue[Event | None] = SimpleQueue()

    async def run() -> None:
        async with aclosing(events):
            async for event in events:
                queue.put(event)

    with start_blocking_portal() as portal:
        # One task runs the whole generator: its cancel scopes may not be entered and left in different tasks.
        future = portal.start_task_soon(run)
        future.add_done_callback(lambda _: queue.put(None))
        try:
            while (event := queue.get()) is not None:
                yield event
            future.result()
        finally:
            future.cancel()


async def astream(
    library: Library | str | Path,
    question: str,
    *,
    model: Model | str | None = None,
    page: str | None = None,
    scope: Scope | None = None,
    **limits: Any,
) -> AsyncGenerator[Event, None]:
    """Answer a question, and yield what happens: the asynchronous twin of `stream`.

    It runs on asyncio and on trio. Use `contextlib.aclosing` if the loop may be left early.

    Example:
        ```python
        async for event in mkdocs_roaming.astream("site", "How do I drain the harbour?"):
            print(event)
        ```

    Args:
        library: The site, or its folder or URL.
        question: The question.
        model: A model or its name; see `ask`.
        page: The page that the reader is on: its path or URL.
        scope: The visible part of the site; the whole site by default.
        limits: Limits of the answer; see `ask`.

    Raises:
        UsageError: The question is empty or too long, a limit is invalid, there is no such model, or no page is in the
            scope.
        LibraryError: The site cannot be opened.
    """
    check_question(question)
    budget = decode_table(limits, Budget, "limits")
    if model is None or isinstance(model, str):
        model = create_model(model, environ=os.environ)
    if not isinstance(library, Library):
        library = open_library(library)
    if scope:
        library = library.restrict(scope)
    given = answer(question, Navigator(library), model, page=page, budget=budget)
    async with aclosing(given) as events:
        async for event in events:
            yield event


def publish_site(
    folder: str | Path, *, url: str | None = None, name: str | None = None, **options: object
) -> PublishReport:
    """Publish the folder of a built site in place: Markdown, llms.txt and the manifest.

    Problems with single pages are reported as `UserWarning`.

    Example:
        ```python
        report = mkdocs_roaming.publish_site("site", url="https://docs.example/", exclude=["drafts/"])
        print(report.pages, "pages")
        ```

    Args:
        folder: The folder with the site's HTML.
        url: The site's URL; by default from the canonical link of its home page.
        name: The site's name; by default from the title of its home page.
        options: Options of the `roaming` block, such as `description`, `exclude` or `previous`.

    Raises:
        UsageError: The folder is not a built site, its URL is unknown, or an option is invalid.
        PublishError: There is no page to publish, or a file would be overwritten that something else wrote.
    """
    return index_site(Path(folder), IndexOptions(url=url, name=name, publish=parse_options(options)), warn=_warn)


def publish_pages(
    pages: Iterable[Page],
    folder: str | Path,
    *,
    url: str,
    name: str,
    description: str = "",
    language: str = "en",
    version: str | None = None,
    llms_txt: Literal["preamble"] | bool = True,
    overwrite: bool = False,
    descriptions: str | Path | None = None,
) -> PublishReport:
    """Publish pages from any source to a folder: Markdown, llms.txt and the manifest.

    Problems with single pages are reported as `UserWarning`.

    Example:
        ```python
        page = mkdocs_roaming.Page("guide/", "Guide", article="<h1>Guide</h1><p>Drain the harbour first.</p>")
        mkdocs_roaming.publish_pages([page], "site", url="https://docs.example/", name="Harbour")
        ```

    Args:
        pages: The pages, in reading order. The files of an earlier call that are not among them are deleted.
        folder: The folder to write to; created if it does not exist.
        url: The site's URL.
        name: The site's name.
        description: A sentence about the site, for llms.txt.
        language: The site's language: `en`, `pt-BR`.
        version: The version that the site documents.
        llms_txt: Whether the list of pages is written to llms.txt; `preamble`: below the text of one that exists.
        overwrite: Whether files in the folder that something else wrote are overwritten.
        descriptions: A file with descriptions of sections, from `roaming describe`.

    Raises:
        UsageError: The file of descriptions cannot be read, or is not valid.
        PublishError: There is no page to publish, or a file would be overwritten that something else wrote.
    """
    texts = read_configured_descriptions(Path(descriptions), _warn) if descriptions else None
    all_pages = list(pages)
    nav = tuple(NavItem(page.title, path=page.path) for page in all_pages)
    has_llms_txt = llms_txt is not False or bool(PublishedFiles(Path(folder)).author_text.strip())
    site = Site(name, url.rstrip("/") + "/", description, language, version, nav=nav, has_llms_txt=has_llms_txt)
    batch = convert_pages(site, all_pages, cache=ConversionCache(None), warn=_warn)
    options = PublishOptions(llms_txt=llms_txt, overwrite=overwrite)
    with hold_folder(Path(folder), _warn):
        return publish_batch(batch, Path(folder), options, descriptions=texts)


def _warn(message: str) -> None:
    warnings.warn(message, stacklevel=3)
