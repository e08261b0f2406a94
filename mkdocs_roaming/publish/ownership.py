"""Ownership of files: which files of a folder an earlier build published, and which ones something else wrote.

The manifest in the folder describes what was published. While files are being written, the new manifest is next to it:
after an interruption the folder contains files of both.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from mkdocs_roaming.errors import ManifestError, PublishError
from mkdocs_roaming.files import Content, is_temporary, name_file, read_regular_file, site_path, write_site_file
from mkdocs_roaming.manifest.io import MANIFEST_PATH, VECTORS_PATH, iter_pages
from mkdocs_roaming.manifest.models import LLMS_FULL, LLMS_TXT, LlmsTxtEntry, PageEntry, page_files
from mkdocs_roaming.manifest.sections import file_digest
from mkdocs_roaming.publish.agents.skill import SKILL_FOLDER, WELL_KNOWN, is_own_copy, iter_own_copies
from mkdocs_roaming.publish.llms_txt import is_page_list
from mkdocs_roaming.publish.options import PublishOptions

_UNFINISHED = "roaming/.unfinished-"
"""The manifest of a build that is writing its files. Each has another name: several may have been interrupted."""
_NAV = "roaming/nav/"
_SHARDS = "roaming/finder/"
_SECTIONS = "roaming/sections/"
_HEX = "[0-9a-f]"
_PATTERNS = (
    f"{_SECTIONS}{_HEX * 8}.md",
    f"{_SHARDS}{_HEX * 12}.json",
    f"{_SHARDS}{_HEX * 12}.bin",
    f"{_NAV}*/llms.txt",
    VECTORS_PATH,
    f"{SKILL_FOLDER}index.json",
    f"{SKILL_FOLDER}*/SKILL.md",
)
"""The files below `roaming/` whose names depend on the site."""
_MAX_NAMED = 3
"""Number of files in a message."""
_TOKEN_BYTES = 6


class ForeignFilesError(PublishError):
    """Files would be overwritten that something else wrote. Nothing is written.

    Attributes:
        paths: The files, relative to the folder.
    """

    def __init__(self, folder: Path, paths: Sequence[str]) -> None:
        """Set the message."""
        self.paths = tuple(sorted(paths, key=lambda path: (path != LLMS_TXT, path)))
        ways = "remove what writes there; or `overwrite: true` (--overwrite) replaces what exists"
        if LLMS_TXT in self.paths:
            ways = (
                "remove the plugin that writes llms.txt from the configuration of the generator, such as `llmstxt` of "
                "Zensical and MkDocs; or keep it: `llms_txt: preamble` (--llms-txt preamble) adds the list of pages "
                "below its text, `llms_txt: false` (--llms-txt no) leaves it as it is, `overwrite: true` (--overwrite) "
                "replaces what exists"
            )
        super().__init__(
            f"{folder}: publishing would overwrite {_name(self.paths)}, which something else wrote or changed. "
            f"Nothing is published. Choose: {ways}"
        )


def _name(paths: Sequence[str]) -> str:
    """Return the first paths, and the number of the others."""
    named = ", ".join(paths[:_MAX_NAMED])
    more = len(paths[_MAX_NAMED:])
    return f"{named} and {more} more" if more else named


class PublishedFiles:
    """The files that an earlier build published in a folder, according to its manifest.

    Attributes:
        found: Whether there is a manifest.
        has_sources: Whether it names the sources of pages and the nav of MkDocs, which HTML does not show.
        author_text: The text of llms.txt above the list of pages: all of it if an earlier build did not write it.
        page_list: The list of pages in llms.txt that an earlier build wrote.
        is_unfinished: Whether the build that wrote the files was interrupted.
    """

    def __init__(self, folder: Path) -> None:
        """Read the manifest of a folder, and those of interrupted builds, if there are any."""
        self._folder = folder
        self._digests: dict[str, set[str]] = {}
        self._in_full: list[list[tuple[int, PageEntry]]] = []
        self._section_ids: set[str] = set()
        self._lists: list[LlmsTxtEntry | None] = []
        self.has_sources = False
        self.is_unfinished = sum(map(self._read, folder.glob(f"{_UNFINISHED}*"))) > 0
        self._version = self._read_version()
        self.found = self._read(folder / MANIFEST_PATH)
        self.author_text = b""
        self.page_list = b""
        with suppress(OSError):
            self.author_text = read_regular_file(folder / LLMS_TXT)
        text = self.author_text
        for entry in self._lists:
            if entry and entry.bytes and file_digest(text[-entry.bytes :]) == entry.digest:
                self.author_text = text[: -entry.bytes]
                self.page_list = text[-entry.bytes :]
                break

    def _read(self, file: Path) -> bool:
        """Add the files of a manifest; return False if there is none, or a part of one."""
        in_full: list[tuple[int, PageEntry]] = []
        has_sources = False
        if not file.is_file():
            return False
        try:
            head, pages = iter_pages(file)
            for page in pages:
                has_sources |= page.source is not None
                own = {page.markdown, *page_files(page.path)}
                for path in own:  # `guide.md` is also the name of the copy of `guide/index.md`
                    self._digests.setdefault(path, set()).add(page.digest)
                for section in page.sections:
                    self._section_ids.update((section.id, *section.aliases))
                if page.full is not None:
                    in_full.append((page.full, msgspec.structs.replace(page, sections=())))
        except (OSError, ManifestError):
            return False
        self._in_full.append(sorted(in_full, key=lambda entry: entry[0]))
        self._lists.append(head.llms_txt)
        self.has_sources |= has_sources and head.nav_source == "mkdocs"
        return True

    def _read_version(self) -> tuple[int, int] | None:
        """Return what changes when a build publishes its manifest; None if there is none."""
        with suppress(OSError):
            status = (self._folder / MANIFEST_PATH).stat()
            return status.st_ino, status.st_mtime_ns
        return None

    def start(self, manifest: Content) -> Path:
        """Write the manifest of a build before all its other files, under a temporary name."""
        path = _UNFINISHED + os.urandom(_TOKEN_BYTES).hex()
        try:
            write_site_file(self._folder, path, manifest)
        except OSError as error:
            name_file(error, site_path(self._folder, path), self._folder / "roaming")
            raise
        return self._folder / path

    def check(self, manifest: Path) -> None:
        """Check before files are written that no other build has published its manifest: they would be mixed.

        Raises:
            PublishError: Another build has: of another user, or in a container, which has other locks.
        """
        if not manifest.exists() or self._read_version() != self._version:
            raise PublishError(f"{self._folder}: another build wrote into it at the same time; build again")

    def finish(self, manifest: Path, *, is_unchanged: bool) -> None:
        """Publish the manifest of a build, and remove those of interrupted builds.

        Raises:
            PublishError: As for `check`.
        """
        self.check(manifest)
        if is_unchanged:  # its modification time stays
            manifest.unlink()
        else:
            manifest.replace(self._folder / MANIFEST_PATH)
        for file in self._folder.glob(f"{_UNFINISHED}*"):
            file.unlink(missing_ok=True)

    def owns(self, path: str) -> bool:
        """Return whether an existing file was published by an earlier build and is unchanged.

        Below `roaming/`, sections are recognized by their ids, lists by their form, and other files by their names.
        """
        if path.startswith(WELL_KNOWN):
            return is_own_copy(self._folder, path)
        if path == LLMS_TXT:
            return not self.author_text.strip()
        try:
            if path.startswith(_NAV):
                return is_page_list(read_regular_file(self._folder / path).decode("utf-8", "replace"))
            if path in self._digests:
                return file_digest(read_regular_file(self._folder / path)) in self._digests[path]
            if path == LLMS_FULL and (self._folder / path).is_file():
                return any(map(self._owns_llms_full, self._in_full))
        except OSError:
            return False
        if path.startswith(_SECTIONS) and path.endswith(".md"):
            return path.removeprefix(_SECTIONS).removesuffix(".md") in self._section_ids
        if self.is_unfinished and is_temporary(path):
            return True
        is_named = path.startswith(_SHARDS) or (path.startswith("roaming/") and path.count("/") == 1)
        return bool(self._lists) and (is_named or path.startswith(SKILL_FOLDER))

    def is_named(self, path: str) -> bool:
        """Return whether a file is recognized without reading it."""
        is_read = path in self._digests or path.startswith(_NAV)
        return path.startswith("roaming/") and not is_read and self.owns(path)

    def iter_paths(self) -> Iterator[str]:
        """Yield the files that may be those of an earlier build, except for the fixed names below `roaming/`."""
        yield from iter_own_copies(self._folder)
        if not self._lists:
            return
        yield from self._digests
        yield from (LLMS_FULL, LLMS_TXT)
        for pattern in _PATTERNS:
            for file in self._folder.glob(pattern):
                yield file.relative_to(self._folder).as_posix()
        if self.is_unfinished:
            for file in self._folder.rglob(".roaming-*"):
                yield file.relative_to(self._folder).as_posix()

    def _owns_llms_full(self, pages: Iterable[tuple[int, PageEntry]]) -> bool:
        """Return whether llms-full.txt contains these pages, and nothing else but a line above each."""
        with (self._folder / LLMS_FULL).open("rb") as file:
            end = 0
            for start, page in pages:
                above = file.read(start - end).removeprefix(b"\n")
                is_line = above.startswith(b"Source: ") and above.find(b"\n") == len(above) - 2
                if not is_line or not above.endswith(b"\n\n"):
                    return False
                if file_digest(file.read(page.bytes)) != page.digest:
                    return False
                end = start + page.bytes
            return end > 0 and file.read() == b"\n"


def check_llms_txt(author_text: bytes, folder: Path, options: PublishOptions) -> None:
    """Check for an llms.txt of an author before pages are converted.

    Raises:
        ForeignFilesError: The options do not say what happens to it.
    """
    text = author_text.decode("utf-8", "replace")
    # A list of pages may equal the one that will be written.
    if options.llms_txt is True and not options.overwrite and text.strip() and not is_page_list(text):
        raise ForeignFilesError(folder, [LLMS_TXT])
