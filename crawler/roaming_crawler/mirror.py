"""Mirrors a site that publishes the contract itself: ids and nav unchanged, pages byte for byte, its rules left out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin

import anyio
import msgspec

from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.manifest.models import Manifest, PageEntry
from mkdocs_roaming.publish.llms_txt import LLMS_FULL
from mkdocs_roaming.publish.writer import PublishOptions, publish_mirror
from roaming_crawler.discover import LARGEST_FULL, DiscoveredPages
from roaming_crawler.fetch import FetchError
from roaming_crawler.page import SkippedPage
from roaming_crawler.publish import CrawlResult, compare_with_previous, read_published_pages
from roaming_crawler.rollback import Rollback
from roaming_crawler.session import ACCEPT_ANY, Session
from roaming_crawler.state import disambiguate_paths, storage_path


async def mirror_site(
    session: Session,
    found: DiscoveredPages,
    folder: Path,
    options: PublishOptions,
    tell: Callable[[str, dict[str, Any]], None],
) -> CrawlResult:
    """Fetch what a manifest speaks of, and publish it as it is. A page that does not fit its digest is left out."""
    assert found.manifest is not None
    manifest, skipped = _harmless(found.manifest)
    manifest = msgspec.structs.replace(
        manifest, pages=tuple(page for page in manifest.pages if found.scope.takes(page.path))
    )
    notes = list(found.notes)
    if manifest.rules:
        notes.append(
            f"{found.root}: its {len(manifest.rules)} rules are left out; rules are followed of one's own sites"
        )
        manifest = msgspec.structs.replace(manifest, rules=())
    texts = await _from_full(session, manifest, found.root)
    left = [page for page in manifest.pages if page.path not in texts]

    async def one(page: PageEntry) -> None:
        text, why = await _page(session, page, found.root)
        if text is not None:
            texts[page.path] = text
            tell("page", {"url": page.url or manifest.site.url + page.path, "path": page.path, "markdown": None})
        else:
            skipped.append(SkippedPage(page.path, why))
            tell("skipped", {"url": page.path, "why": why})

    todo = iter(left)

    async def work() -> None:
        for page in todo:
            await one(page)

    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(work)
    old, before = read_published_pages(folder), Rollback(folder, session.store.state)
    now = {page.path: page.digest for page in manifest.pages}
    before.keep(old, now, lambda page: page.digest != now.get(page.path))
    report = publish_mirror(manifest, texts, folder, options)
    skipped.sort(key=lambda one: one.url)
    # A page that fits a manifest of today is one of today, wherever it came from.
    stands = session.stood_in(found.scope.url + MANIFEST_PATH, ACCEPT_ANY)
    kept = [page.url or manifest.site.url + page.path for page in manifest.pages if stands and page.path in texts]
    outcome = compare_with_previous(old, before, folder, report, skipped, [*notes, *report.notes], kept)
    return replace(outcome, markdown=outcome.pages)


def _harmless(manifest: Manifest) -> tuple[Manifest, list[SkippedPage]]:
    """Leave out pages whose paths a folder cannot hold as they are: ids are made of paths, so none is changed."""
    places = disambiguate_paths(page.path for page in manifest.pages)
    kept: dict[str, PageEntry] = {}
    skipped: list[SkippedPage] = []
    for page in manifest.pages:
        if storage_path(page.path) != page.path or places[page.path] != page.path or page.path in kept:
            skipped.append(SkippedPage(page.path, "its path cannot be a file's here"))
        else:
            kept[page.path] = page
    return msgspec.structs.replace(manifest, pages=tuple(kept.values())), skipped


async def _from_full(session: Session, manifest: Manifest, root: str) -> dict[str, bytes]:
    """Give the pages that llms-full.txt holds where the manifest says: one request for a whole library."""
    if not any(page.full is not None for page in manifest.pages):
        return {}
    try:
        answer = await session.get(urljoin(root, LLMS_FULL), cap=2 * LARGEST_FULL)
    except FetchError:
        return {}
    found: dict[str, bytes] = {}
    for page in manifest.pages if answer.good else ():
        if page.full is not None:
            text = answer.body[page.full : page.full + page.bytes]
            if _fits(text, page):
                found[page.path] = text
    return found


async def _page(session: Session, page: PageEntry, root: str) -> tuple[bytes | None, str]:
    url = urljoin(root, quote(page.markdown.lstrip("/"), safe="/-._~!$&'()*+,;=:@"))
    if not url.startswith(root):
        return None, "its Markdown lies outside of its site"
    for address in (url, f"{url}?v={page.digest.removeprefix('sha256:')[:16]}"):
        try:
            answer = await session.get(address)
        except FetchError as error:
            return None, str(error).removeprefix(f"{address}: ")
        if not answer.good:
            return None, "not found" if answer.status in (404, 410) else f"answers {answer.status}"
        if _fits(answer.body, page):
            return answer.body, ""
    return None, "its Markdown is not the one that the manifest speaks of; try again later"


def _fits(text: bytes, page: PageEntry) -> bool:
    return page.digest == "sha256:" + hashlib.sha256(text).hexdigest()
