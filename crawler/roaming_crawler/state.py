"""State of a crawl in `DIR/.roaming/`: all responses, and large values.

A crawl can be resumed or updated. Each response is appended to a journal; a finished crawl replaces the journal by
`state.json`. Bodies are compressed files named by their digest. All files are written atomically.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
from collections import UserDict
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import zstandard
from msgspec import structs

from mkdocs_roaming._json import decode_json
from mkdocs_roaming.errors import ManifestError, UsageError, explain_os_error
from mkdocs_roaming.files import write_atomically
from mkdocs_roaming.locks import STATE_DIR, hold_folder
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_pages
from mkdocs_roaming.manifest.models import PageEntry
from roaming_crawler.fetch import Response

V = TypeVar("V")

_TEMPORARY_PREFIX = ".roaming-"
_TEMPORARY_CHARS = len(".roaming-0123456789ab")
"""Length of the names that `write_atomically` gives to temporary files."""


class CachedResponse(Response, frozen=True, omit_defaults=True, kw_only=True):
    """A response whose body is a file named by its digest; `at` is its time in Unix seconds."""

    key: str
    digest: str = ""
    at: float = 0.0


class CrawlRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a crawl stores about its site."""

    given: str
    """URL that the user gave."""
    url: str = ""
    """URL of the scope."""
    language: str = ""
    version: str = ""
    max_pages: int | None = None
    """The page limit, if it was reached."""
    boilerplate: tuple[str, ...] | None = None
    """What most pages repeat; learned once, so that an update changes no page because another one changed."""


class _FinishedCrawl(msgspec.Struct):
    site: CrawlRecord
    records: list[CachedResponse]


class CrawlState:
    """The stored responses of a folder.

    Attributes:
        old: Responses of the last finished crawl by key.
        new: Responses of the current crawl by key.
        site: The last finished crawl.
        unfinished: An interrupted crawl.
        boilerplate: What most pages repeat; None if it is to be learned.
    """

    def __init__(self, folder: Path) -> None:
        """Load the state of a folder. A damaged state counts as empty."""
        self.folder = folder
        self.path = folder / STATE_DIR
        self._journal = self.path / "journal.jsonl"
        self.old: dict[str, CachedResponse] = {}
        self.new: dict[str, CachedResponse] = {}
        self.site: CrawlRecord | None = None
        self.unfinished: CrawlRecord | None = None
        with suppress(OSError, ValueError):
            finished = decode_json((self.path / "state.json").read_bytes(), _FinishedCrawl)
            self.site = finished.site
            self.old = {record.key: record for record in finished.records}
        with suppress(OSError, ValueError):  # responses after a damaged line are requested again
            first, *lines = self._journal.read_bytes().split(b"\n")[:-1] or [b""]
            self.unfinished = decode_json(first, CrawlRecord)
            for line in lines:
                record = decode_json(line, CachedResponse)
                self.new[record.key] = record
        self.boilerplate: tuple[str, ...] | None = self.site.boilerplate if self.site else None

    def start(self, site: CrawlRecord, *, resume: bool, since: float = 0.0) -> None:
        """Start a crawl, or resume.

        Args:
            site: The crawl, stored in case of an interruption.
            resume: Continue an interrupted crawl, or use the last crawl's responses that are newer than `since`.
            since: Unix time in seconds.
        """
        if resume and self.unfinished:
            with self._journal.open("rb+") as file:  # remove a truncated last line
                data = file.read()
                file.truncate(data.rfind(b"\n") + 1)
        else:
            recent = {key: record for key, record in self.old.items() if record.at >= since}
            self.new = recent if resume else {}
            write_atomically(self._journal, msgspec.json.Encoder().encode_lines([site, *self.new.values()]))
        self.unfinished = site

    def add(self, key: str, response: Response, at: float) -> None:
        """Store a response: first its body, then the line in the journal."""
        digest = hashlib.sha256(response.body).hexdigest() if response.ok else ""
        if digest and not (file := self._body_file(digest)).exists():
            write_atomically(file, zstandard.compress(response.body))
        headers = structs.asdict(response) | {"body": b"", "key": key, "digest": digest, "at": at}
        record = msgspec.convert(headers, CachedResponse)
        self.new[key] = record
        with self._journal.open("ab") as journal:
            journal.write(msgspec.json.encode(record) + b"\n")

    def load_response(self, record: CachedResponse | None) -> Response | None:
        """Return a stored response with its body, or None if there is none, or its body is missing or damaged."""
        if record is None:
            return None
        body = b""
        if record.digest:
            try:
                body = zstandard.decompress(self._body_file(record.digest).read_bytes())
            except (OSError, zstandard.ZstdError):
                return None
            if hashlib.sha256(body).hexdigest() != record.digest:
                return None
        return structs.replace(record, body=body)

    def finish(self, site: CrawlRecord) -> None:
        """Replace the stored state by the responses of this crawl."""
        state = _FinishedCrawl(site, list(self.new.values()))
        write_atomically(self.path / "state.json", msgspec.json.encode(state))
        self._journal.unlink(missing_ok=True)
        digests = {record.digest for record in self.new.values()}
        for file in (self.path / "bodies").glob("*/*"):
            if file.name not in digests:
                file.unlink(missing_ok=True)

    def discard_first_crawl(self) -> None:
        """Remove the journal of a first crawl that found nothing, so that the folder is free for another URL."""
        if self.site is None:
            self._journal.unlink(missing_ok=True)

    def _body_file(self, digest: str) -> Path:
        return self.path / "bodies" / digest[:2] / digest


class DiskDict(UserDict[str, V], AbstractContextManager["DiskDict[V]"]):
    """A dict that stores its values in an anonymous temporary file.

    Reading a key returns a copy: assign a changed value to store it.
    """

    data: dict[str, Any]
    """Start and size of each value in the file."""

    def __init__(self, folder: Path) -> None:
        """Create an empty dict with its file in `folder`."""
        super().__init__()
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 -- closed by __exit__
        self._end = 0

    def __getitem__(self, key: str) -> V:
        """Return a copy of a value."""
        start, size = self.data[key]
        self._file.seek(start)
        value: V = pickle.loads(self._file.read(size))  # trusted: no other process can open an anonymous file
        return value

    def __setitem__(self, key: str, value: V) -> None:
        """Store a value at the end of the file; the space of removed ones is not reused."""
        pickled = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        self._file.seek(self._end)
        self._file.write(pickled)
        self.data[key] = self._end, len(pickled)
        self._end += len(pickled)

    def __exit__(self, *_: object) -> None:
        """Delete the file."""
        self._file.close()
        self.data.clear()


def read_published_pages(folder: Path) -> tuple[PageEntry, ...]:
    """Return the published pages of a folder without their sections."""
    try:
        return load_pages(folder / MANIFEST_PATH)
    except (OSError, ManifestError):
        return ()


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock a folder for one crawl; create it if needed, and remove temporary files of a killed crawl.

    Raises:
        UsageError: The folder cannot be used, or contains a symbolic link.
        FolderBusyError: Another command writes into it.
    """
    state = folder / STATE_DIR
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: is a file; give a folder")
    with ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if state.is_symlink():
                raise UsageError(f"{state}: is a symbolic link; remove it")
            state.mkdir(exist_ok=True)
            stack.enter_context(hold_folder(folder))
        except OSError as error:
            raise UsageError(explain_os_error(error)) from None
        for above, names, files in os.walk(folder):
            for name in (*names, *files):
                if os.path.islink(Path(above, name)):  # noqa: PTH114 -- faster for a hundred thousand files
                    raise UsageError(f"{Path(above, name)}: is a symbolic link; remove it")
            for name in files:
                if name.startswith(_TEMPORARY_PREFIX) and len(name) == _TEMPORARY_CHARS:  # of a killed crawl
                    Path(above, name).unlink(missing_ok=True)
        yield
