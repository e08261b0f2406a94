"""Mirrors a site that publishes a manifest: ids, navigation and pages stay byte for byte; its rules are dropped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, urljoin, urlsplit

import anyio
import msgspec.structs

from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.manifest.models import LLMS_FULL, Manifest, PageEntry
from mkdocs_roaming.manifest.sections import file_digest
from mkdocs_roaming.publish.writer import publish_mirror
from roaming_crawler.config import CrawlConfig, EventHandler
from roaming_crawler.discover import MAX_FULL_BYTES, DiscoveredPages
from roaming_crawler.fetch import FetchError
from roaming_crawler.flags import flag_manifest, skip_flagged_texts
from roaming_crawler.page import SkippedPage
from roaming_crawler.publish import CrawlResult, compare_with_previous, read_published_pages
from roaming_crawler.scope import disambiguate_paths, storage_path
from roaming_crawler.session import ACCEPT_ANY, Session
from roaming_crawler.state import Rollback


async def mirror_site(
    session: Session, discovered: DiscoveredPages, folder: Path, config: CrawlConfig, on_event: EventHandler
) -> CrawlResult:
    """Fetch the pages of a manifest and publish them unchanged. Pages that do not match their digest are skipped."""
    assert discovered.manifest is not None
    manifest, skipped = _drop_unsafe_paths(discovered.manifest)
    pages = tuple(page for page in manifest.pages if discovered.scope.allows_path(page.path))
    manifest = msgspec.structs.replace(manifest, pages=pages, crawled_from=urlsplit(discovered.root).netloc)
    notes = [*discovered.notes, *discovered.scope.check_patterns(strict=config.scope.strict)]
    if manifest.rules:
        notes.append(f"{discovered.root}: its {len(manifest.rules)} rules are dropped; only rules of own sites apply")
        manifest = msgspec.structs.replace(manifest, rules=())
    texts = await _split_llms_full(session, manifest, discovered.root)
    queue = iter([page for page in manifest.pages if page.path not in texts])

    async def work() -> None:
        for page in queue:
            text, reason = await _fetch_page(session, page, discovered.root)
            if text is not None:
                texts[page.path] = text
                url = page.url or manifest.site.url + page.path
                on_event("page", {"url": url, "path": page.path, "markdown": None})
            else:
                skipped.append(SkippedPage(page.path, reason))
                on_event("skipped", {"url": page.path, "why": reason})

    async with anyio.create_task_group() as group:
        for _ in range(_TASKS):
            group.start_soon(work)
    manifest, flagged = flag_manifest(manifest, texts)
    if config.skip_flagged:
        skipped += skip_flagged_texts(texts, flagged)
    old, rollback = read_published_pages(folder), Rollback(folder, session.state.path)
    digests = {page.path: page.digest for page in manifest.pages}
    rollback.save(old, digests)
    report = publish_mirror(manifest, texts, folder, config.options, embeddings=config.embeddings)
    skipped.sort(key=lambda page: page.url)
    # A page that matches the manifest is as current as the manifest, wherever it came from.
    is_stale = session.is_stale(discovered.scope.url + MANIFEST_PATH, ACCEPT_ANY)
    stale = [page.url or manifest.site.url + page.path for page in manifest.pages if is_stale and page.path in texts]
    result = compare_with_previous(old, rollback, folder, report, skipped, [*notes, *report.notes], stale)
    return replace(result, markdown=result.pages, flagged=tuple(flagged))


def _drop_unsafe_paths(manifest: Manifest) -> tuple[Manifest, list[SkippedPage]]:
    """Drop pages whose paths cannot be stored as they are; ids depend on paths, so paths cannot be changed."""
    paths = disambiguate_paths(page.path for page in manifest.pages)
    safe: dict[str, PageEntry] = {}
    skipped: list[SkippedPage] = []
    for page in manifest.pages:
        if storage_path(page.path) != page.path or paths[page.path] != page.path or page.path in safe:
            skipped.append(SkippedPage(page.path, "its path is not a safe file name"))
        else:
            safe[page.path] = page
    return msgspec.structs.replace(manifest, pages=tuple(safe.values())), skipped


async def _split_llms_full(session: Session, manifest: Manifest, root: str) -> dict[str, bytes]:
    """Return the pages that llms-full.txt contains at the manifest's offsets: one request for many pages."""
    if not any(page.full is not None for page in manifest.pages):
        return {}
    try:
        response = await session.get(urljoin(root, LLMS_FULL), cap=2 * MAX_FULL_BYTES)
    except FetchError:
        return {}
    found: dict[str, bytes] = {}
    for page in manifest.pages if response.ok else ():
        if page.full is not None:
            text = response.body[page.full : page.full + page.bytes]
            if _matches_digest(text, page):
                found[page.path] = text
    return found


async def _fetch_page(session: Session, page: PageEntry, root: str) -> tuple[bytes | None, str]:
    url = urljoin(root, quote(page.markdown.lstrip("/"), safe="/-._~!$&'()*+,;=:@"))
    if not url.startswith(root):
        return None, "its Markdown is outside of the site"
    for address in (url, f"{url}?v={page.digest.removeprefix('sha256:')[:16]}"):
        try:
            response = await session.get(address)
        except FetchError as error:
            return None, str(error).removeprefix(f"{address}: ")
        if not response.ok:
            return None, "not found" if response.status in (404, 410) else f"status {response.status}"
        if _matches_digest(response.body, page):
            return response.body, ""
    return None, "its Markdown does not match the manifest; try again later"


def _matches_digest(text: bytes, page: PageEntry) -> bool:
    return page.digest == file_digest(text)


_TASKS = 4
