"""Backup of published pages while a crawl overwrites them.

Pages are written first and the manifest last. If the crawl is killed in between, the folder contains the old manifest
with new pages, or the new manifest with files that it does not name. The backup resolves both cases.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path

import msgspec

from mkdocs_roaming.errors import PublishError
from mkdocs_roaming.manifest.aliases import PreviousSite
from mkdocs_roaming.manifest.models import PageEntry, SectionEntry, page_files
from mkdocs_roaming.manifest.sections import file_digest, slice_digest
from mkdocs_roaming.publish.files import resolve_inside, write_atomically


class Rollback:
    """Backup of the Markdown of a folder's pages, and the list of their files with the digests of what was written."""

    def __init__(self, folder: Path, state: Path) -> None:
        """Use the backup of a folder; `state` is its state folder."""
        self._folder, self._backup = folder, state / "before"

    def save(self, old: Iterable[PageEntry], new: Mapping[str, str]) -> None:
        """Back up the pages that will be overwritten or removed.

        Args:
            old: Published pages.
            new: Digests of the pages that will be written, by path.
        """
        files = self._files()
        for page in old:
            with suppress(OSError, PublishError):
                if new.get(page.path) != page.digest and not self._copy_of(page).exists():
                    self._link(resolve_inside(self._folder, page.markdown), page)
        for path, digest in chain(((page.path, page.digest) for page in old), new.items()):
            for file in page_files(path):
                files.setdefault(file, set()).add(digest)
        data = {file: sorted(digests) for file, digests in files.items()}
        write_atomically(self._backup / "files.json", json.dumps(data).encode("utf-8"))

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
        """Remove the files of pages that are no longer published, unless they were changed, and the backup."""
        published = {file for page in pages for file in page_files(page.path)}
        for path, digests in self._files().items():
            if path not in published:
                with suppress(OSError, PublishError):
                    file = resolve_inside(self._folder, path)
                    if file_digest(file.read_bytes()) in digests:
                        file.unlink()
        shutil.rmtree(self._backup, ignore_errors=True)

    def _files(self) -> dict[str, set[str]]:
        try:
            return msgspec.json.decode((self._backup / "files.json").read_bytes(), type=dict[str, set[str]])
        except (OSError, msgspec.MsgspecError):
            return {}

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
