"""Backup of published pages while a crawl overwrites them.

Pages are written first and the manifest last. If the crawl is killed in between, the folder contains the old manifest
with new pages, or the new manifest with files that it does not name. The backup resolves both cases.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from mkdocs_roaming.errors import PublishError
from mkdocs_roaming.manifest.aliases import PreviousSite
from mkdocs_roaming.manifest.models import PageEntry, SectionEntry, markdown_path, short_markdown_path
from mkdocs_roaming.manifest.sections import file_digest, slice_digest
from mkdocs_roaming.publish.files import resolve_inside, write_atomically


class Rollback:
    """Backup of the Markdown of a folder's pages, and the list of their files."""

    def __init__(self, folder: Path, state: Path) -> None:
        """Use the backup of a folder; `state` is its state folder."""
        self._folder, self._backup = folder, state / "before"

    def save(self, old: Iterable[PageEntry], new: Iterable[str], is_changed: Callable[[PageEntry], bool]) -> None:
        """Back up the pages that will be overwritten or removed.

        Args:
            old: Published pages.
            new: Paths of the pages that will be written.
            is_changed: Returns whether the Markdown of an old page will change.
        """
        files = dict.fromkeys(self._files())
        for page in old:
            files |= dict.fromkeys(_page_files(page.path))
            with suppress(OSError, PublishError):
                if is_changed(page) and not self._copy_of(page).exists():
                    self._link(resolve_inside(self._folder, page.markdown), page)
        for path in new:
            files |= dict.fromkeys(_page_files(path))
        write_atomically(self._backup / "files.json", json.dumps(list(files)).encode("utf-8"))

    def restore_texts(self, previous: PreviousSite) -> PreviousSite:
        """Return the previous site with the texts that a killed crawl has overwritten."""

        def text(page: PageEntry, section: SectionEntry) -> str | None:
            found = previous.text(page, section)
            if found is None:
                with suppress(OSError):
                    piece = self._copy_of(page).read_bytes()[section.start : section.end]
                    found = piece.decode("utf-8", "replace") if slice_digest(piece) == section.digest else None
            return found

        return PreviousSite(previous.manifest, text)

    def finish(self, pages: Iterable[PageEntry]) -> None:
        """Remove the files of pages that are no longer published, and the backup."""
        published = {file for page in pages for file in _page_files(page.path)}
        for path in self._files():
            if path not in published:
                with suppress(OSError, PublishError):
                    resolve_inside(self._folder, path).unlink()
        shutil.rmtree(self._backup, ignore_errors=True)

    def _files(self) -> list[str]:
        try:
            files = json.loads((self._backup / "files.json").read_bytes())
        except (OSError, ValueError):
            return []
        return [path for path in files if isinstance(path, str)] if isinstance(files, list) else []

    def _copy_of(self, page: PageEntry) -> Path:
        name = f"{page.path} {page.digest}".encode("utf-8", "surrogatepass")
        return self._backup / hashlib.sha256(name).hexdigest()[:32]

    def _link(self, file: Path, page: PageEntry) -> None:
        """Back up a file by a hard link: replacing the file leaves the link intact."""
        if file_digest(file.read_bytes()) != page.digest:
            return
        self._backup.mkdir(exist_ok=True)
        try:
            os.link(file, self._copy_of(page))
        except OSError:  # the file system has no hard links
            write_atomically(self._copy_of(page), file.read_bytes())


def _page_files(path: str) -> tuple[str, ...]:
    return tuple(file for file in (markdown_path(path), short_markdown_path(path)) if file)
