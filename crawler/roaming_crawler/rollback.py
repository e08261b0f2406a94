"""What stood in a folder before pages were written into it, until the last file is: a crawl may be killed in between.

Pages are written first, the manifest last. So whoever goes on after a kill finds the old manifest beside new pages,
or the new one beside files that nobody speaks of any more. What is kept here tells them apart.
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
from mkdocs_roaming.manifest.builder import PreviousSite
from mkdocs_roaming.manifest.models import PageEntry, SectionEntry, markdown_path, short_markdown_path
from mkdocs_roaming.manifest.sections import slice_digest
from mkdocs_roaming.publish.files import resolve_inside, write_atomically


class Rollback:
    """The Markdown of a folder's last published pages, and which files they lie in."""

    def __init__(self, folder: Path, state: Path) -> None:
        self._folder, self._kept = folder, state / "before"

    def keep(self, old: Iterable[PageEntry], now: Iterable[str], changes: Callable[[PageEntry], bool]) -> None:
        """Keep what is about to be overwritten or removed: old pages whose Markdown changes, and what all are named.

        `now` gives the paths of the pages to be written.
        """
        files = dict.fromkeys(self._files())
        for page in old:
            files |= dict.fromkeys(_names(page.path))
            with suppress(OSError, PublishError):
                if changes(page) and not self._copy(page).exists():
                    self._link(resolve_inside(self._folder, page.markdown), page)
        for path in now:
            files |= dict.fromkeys(_names(path))
        write_atomically(self._kept / "files.json", json.dumps(list(files)).encode("utf-8"))

    def previous(self, previous: PreviousSite) -> PreviousSite:
        """Give what was published last with texts that a killed crawl has overwritten."""

        def text(page: PageEntry, section: SectionEntry) -> str | None:
            found = previous.text(page, section)
            if found is None:
                with suppress(OSError):
                    piece = self._copy(page).read_bytes()[section.start : section.end]
                    found = piece.decode("utf-8", "replace") if slice_digest(piece) == section.digest else None
            return found

        return PreviousSite(previous.manifest, text)

    def forget(self, pages: Iterable[PageEntry]) -> None:
        """Remove the files that none of the pages published now has, and what was kept."""
        now = {file for page in pages for file in _names(page.path)}
        for path in self._files():
            if path not in now:
                with suppress(OSError, PublishError):
                    resolve_inside(self._folder, path).unlink()
        shutil.rmtree(self._kept, ignore_errors=True)

    def _files(self) -> list[str]:
        try:
            files = json.loads((self._kept / "files.json").read_bytes())
        except (OSError, ValueError):
            return []
        return [path for path in files if isinstance(path, str)] if isinstance(files, list) else []

    def _copy(self, page: PageEntry) -> Path:
        name = f"{page.path} {page.digest}".encode("utf-8", "surrogatepass")
        return self._kept / hashlib.sha256(name).hexdigest()[:32]

    def _link(self, file: Path, page: PageEntry) -> None:
        """Keep a file by a second name: to replace the first one leaves it as it is."""
        if "sha256:" + hashlib.sha256(file.read_bytes()).hexdigest() != page.digest:
            return
        self._kept.mkdir(exist_ok=True)
        try:
            os.link(file, self._copy(page))
        except OSError:  # a file system without such names
            write_atomically(self._copy(page), file.read_bytes())


def _names(path: str) -> tuple[str, ...]:
    """Give the files that a page's Markdown lies in."""
    return tuple(file for file in (markdown_path(path), short_markdown_path(path)) if file)
