"""Mirror of a site that publishes a manifest.

Ids, navigation and pages stay byte for byte; rules are dropped.
"""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote, urljoin, urlsplit

import anyio
from msgspec import structs

from mkdocs_roaming.manifest.descriptions import Descriptions, describe_manifest
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.manifest.models import LLMS_FULL, Manifest, PageEntry, path_to_url
from mkdocs_roaming.manifest.sections import extract_pages, file_digest
from mkdocs_roaming.publish.writer import publish_mirror
from roaming_crawler.config import EventHandler
from roaming_crawler.discover import MAX_FULL_BYTES, DiscoveredPages
from roaming_crawler.fetch import FetchError
from roaming_crawler.flags import flag_manifest, list_flagged_pages
from roaming_crawler.page import SkippedPage
from roaming_crawler.publish import CrawlResult, compare_with_previous
from roaming_crawler.scope import Scope, disambiguate_paths, storage_path
from roaming_crawler.session import ACCEPT_ANY, Session
from roaming_crawler.state import read_published_pages
from roaming_crawler.variants import OtherVariant

_MIRROR_TASKS = 4
_DIGEST_CHARS = 16
"""Length of the digest in the address of a page that a cache between us and the host has not seen."""
_MISMATCH = "its Markdown does not match the manifest; try again later"
_WRONG_PAGES = (_MISMATCH, "not found")
_MAX_WRONG_PAGES = 0.05
"""Share of the pages of a manifest; with more of them, the HTML of the site is crawled."""


async def mirror_site(
    session: Session,
    discovered: DiscoveredPages,
    manifest: Manifest,
    descriptions: Descriptions | None,
    on_event: EventHandler,
) -> CrawlResult | None:
    """Fetch the pages of a manifest and publish them unchanged. Pages that do not match their digest are skipped.

    Args:
        session: Network access.
        discovered: What was discovered besides the manifest.
        manifest: The manifest.
        descriptions: Descriptions of the user, which replace those of the manifest.
        on_event: Progress callback.

    Returns:
        None if these are more than a few, for example because a server rewrites the Markdown of the site.
    """
    config = session.config
    scope = discovered.scope
    root = discovered.root
    pages, skipped = _select_pages(manifest, scope)
    notes = discovered.notes + scope.check_patterns(strict=config.scope.strict)
    if manifest.rules:
        notes.append(f"{root}: its {len(manifest.rules)} rules are dropped; only rules of own sites apply")
    host = urlsplit(root).netloc
    manifest = structs.replace(manifest, pages=pages, crawled_from=host, rules=())
    texts: dict[str, bytes] = {}
    unread = await _fetch_pages(session, manifest, root, texts, on_event)
    if unread is None:
        return None
    skipped += unread
    on_event("publish", {"pages": len(texts)})
    if descriptions is not None:
        manifest, counts = describe_manifest(manifest, descriptions)
        notes.append(str(counts))
    manifest, flagged = flag_manifest(manifest, texts)
    unwanted = list_flagged_pages(flagged) if config.skip_flagged else {}
    texts = {path: text for path, text in texts.items() if path not in unwanted}
    skipped += unwanted.values()
    skipped.sort(key=lambda page: page.url)
    folder = session.state.folder
    before = read_published_pages(folder)
    report = publish_mirror(manifest, texts, folder, config.options, embeddings=config.embeddings)
    # A page that matches the manifest is as current as the manifest, wherever it came from.
    is_stale = session.is_stale(scope.url + MANIFEST_PATH, ACCEPT_ANY)
    stale = [_page_url(manifest, page) for page in manifest.pages if is_stale and page.path in texts]
    result = compare_with_previous(session, before, report, skipped, notes, stale)
    site = manifest.site
    languages = [variant.language for variant in site.alternates if variant.version == site.version]
    left_out = tuple(OtherVariant("language", name, 0) for name in languages if name)
    return replace(result, markdown=result.pages, flagged=tuple(flagged), left_out=left_out)


def _select_pages(manifest: Manifest, scope: Scope) -> tuple[tuple[PageEntry, ...], list[SkippedPage]]:
    """Return the pages in scope whose files can be written under their paths, and the other pages in scope.

    Ids depend on paths, so paths cannot be changed.
    """
    paths = disambiguate_paths(page.path for page in manifest.pages)
    pages: dict[str, PageEntry] = {}
    skipped: list[SkippedPage] = []
    for page in manifest.pages:
        is_safe = storage_path(page.path) == page.path == paths[page.path]
        if not is_safe or page.path in pages:
            skipped.append(SkippedPage(page.path, "its path is not a safe file name"))
        elif scope.allows_path(page.path):
            pages[page.path] = page
    return tuple(pages.values()), skipped


async def _fetch_pages(
    session: Session, manifest: Manifest, root: str, texts: dict[str, bytes], on_event: EventHandler
) -> list[SkippedPage] | None:
    """Fetch the texts of pages, at first those that llms-full.txt contains at the manifest's offsets: in one request.

    Returns:
        The pages that cannot be fetched, None as soon as too many are missing or do not match their digests.
    """
    if any(page.full is not None for page in manifest.pages):
        response = await session.find(urljoin(root, LLMS_FULL), cap=2 * MAX_FULL_BYTES)
        texts |= extract_pages(manifest.pages, response.body if response else b"")
    skipped: list[SkippedPage] = []
    queue = iter([page for page in manifest.pages if page.path not in texts])
    room = int(_MAX_WRONG_PAGES * len(manifest.pages))

    async def work() -> None:
        nonlocal room
        for page in queue:
            text, reason = await _fetch_page(session, page, root)
            if text is not None:
                texts[page.path] = text
                on_event("page", {"url": _page_url(manifest, page), "path": page.path, "markdown": None})
            else:
                skipped.append(SkippedPage(page.path, reason))
                on_event("skipped", {"url": page.path, "why": reason})
                room -= reason in _WRONG_PAGES
            if room < 0:
                return

    async with anyio.create_task_group() as group:
        for _ in range(_MIRROR_TASKS):
            group.start_soon(work)
    return None if room < 0 else skipped


def _page_url(manifest: Manifest, page: PageEntry) -> str:
    return page.url or path_to_url(manifest.site.url, page.path)


async def _fetch_page(session: Session, page: PageEntry, root: str) -> tuple[bytes | None, str]:
    url = urljoin(root, quote(page.markdown.lstrip("/"), safe="/-._~!$&'()*+,;=:@"))
    if not url.startswith(root):
        return None, "its Markdown is outside of the site"
    digest = page.digest.removeprefix("sha256:")
    for address in (url, f"{url}?v={digest[:_DIGEST_CHARS]}"):
        try:
            response = await session.get(address)
        except FetchError as error:
            return None, str(error).removeprefix(f"{address}: ")
        if not response.ok:
            return None, response.problem
        if page.digest == file_digest(response.body):
            return response.body, ""
    return None, _MISMATCH
