"""State of a crawl in `DIR/.roaming/`: all responses, so that a crawl can be resumed or updated.

Each response is appended to a journal; a finished crawl replaces the journal by `state.json`. Bodies are files named by
their digest. All files are written atomically.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import zstandard
from filelock import lock_descriptor

from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.manifest.models import canonicalize_path, markdown_path, short_markdown_path
from mkdocs_roaming.publish.files import write_atomically
from roaming_crawler.fetch import Response

STATE_DIR = ".roaming"


class CrawlFolderError(RoamingError):
    """The output folder of a crawl cannot be used."""


class CrawlFolderBusyError(CrawlFolderError):
    """Another crawl writes to the output folder."""


@dataclass(frozen=True, slots=True)
class CachedResponse:
    """A response without its body, which is a file named by its digest; `at` is its time in Unix seconds."""

    key: str
    url: str
    status: int
    kind: str = ""
    charset: str = ""
    link: str = ""
    etag: str = ""
    modified: str = ""
    digest: str = ""
    at: float = 0.0


class CrawlState:
    """The stored responses of a folder.

    Attributes:
        old: Responses of the last finished crawl by key.
        new: Responses of the current crawl by key.
        site: What the last finished crawl stored about the site.
        unfinished: Start parameters of an interrupted crawl.
    """

    def __init__(self, folder: Path) -> None:
        """Load the state of a folder. A damaged state counts as empty."""
        self.folder = folder
        self.path = folder / STATE_DIR
        self.old: dict[str, CachedResponse] = {}
        self.new: dict[str, CachedResponse] = {}
        self.site: dict[str, Any] = {}
        self.unfinished: dict[str, Any] = {}
        self._load()

    def start(self, parameters: dict[str, Any], *, resume: bool, since: float = 0.0) -> None:
        """Start a crawl, or resume.

        Args:
            parameters: Start parameters, stored in case of an interruption.
            resume: Continue an interrupted crawl, or use the last crawl's responses that are newer than `since`.
            since: Unix time in seconds.
        """
        if resume and self.unfinished:
            with self._journal.open("rb+") as file:  # remove a truncated last line
                data = file.read()
                file.truncate(data.rfind(b"\n") + 1)
        else:
            self.new = {key: record for key, record in self.old.items() if resume and record.at >= since}
            lines = [_to_line({"crawl": parameters}), *(_to_line(asdict(record)) for record in self.new.values())]
            write_atomically(self._journal, b"".join(lines))
        self.unfinished = parameters

    def add(self, key: str, response: Response, at: float) -> None:
        """Store a response: first its body, then the line in the journal."""
        digest = hashlib.sha256(response.body).hexdigest() if response.ok else ""
        if digest and not (file := self._body_file(digest)).exists():
            write_atomically(file, zstandard.compress(response.body))
        record = CachedResponse(
            key,
            response.url,
            response.status,
            response.kind,
            response.charset,
            response.link,
            response.etag,
            response.modified,
            digest,
            at,
        )
        self.new[key] = record
        with self._journal.open("ab") as journal:
            journal.write(_to_line(asdict(record)))

    def load_response(self, record: CachedResponse) -> Response | None:
        """Return a stored response with its body, or None if the body is missing or damaged."""
        body = b""
        if record.digest:
            try:
                body = zstandard.decompress(self._body_file(record.digest).read_bytes())
            except (OSError, zstandard.ZstdError):
                return None
            if hashlib.sha256(body).hexdigest() != record.digest:
                return None
        return Response(
            record.url, record.status, body, record.kind, record.charset, record.link, record.etag, record.modified
        )

    def finish(self, site: dict[str, Any]) -> None:
        """Replace the stored state by the responses of this crawl."""
        state = {"version": 1, "site": site, "records": [asdict(record) for record in self.new.values()]}
        write_atomically(self.path / "state.json", json.dumps(state, ensure_ascii=False).encode("utf-8"))
        self._journal.unlink(missing_ok=True)
        digests = {record.digest for record in self.new.values()}
        for file in (self.path / "bodies").glob("*/*"):
            if file.name not in digests:
                file.unlink(missing_ok=True)

    def discard_first_crawl(self) -> None:
        """Remove the journal of a first crawl that found nothing, so that the folder is free for another URL."""
        if not self.site:
            self._journal.unlink(missing_ok=True)

    @property
    def _journal(self) -> Path:
        return self.path / "journal.jsonl"

    def _body_file(self, digest: str) -> Path:
        return self.path / "bodies" / digest[:2] / digest

    def _load(self) -> None:
        try:
            state = json.loads((self.path / "state.json").read_bytes())
            self.site = state["site"]
            self.old = {record.key: record for record in map(_parse_record, state["records"])}
        except (OSError, ValueError, KeyError, TypeError):
            self.old, self.site = {}, {}
        try:
            lines = self._journal.read_bytes().split(b"\n")[:-1]
            self.unfinished = json.loads(lines[0])["crawl"]
            for line in lines[1:]:
                record = _parse_record(json.loads(line))
                self.new[record.key] = record
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            pass  # responses after a damaged line are requested again


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock a folder for one crawl, and create it if needed.

    Raises:
        CrawlFolderError: The folder cannot be written to, another crawl uses it, or it contains a symbolic link.
    """
    state = folder / STATE_DIR
    if folder.exists() and not folder.is_dir():
        raise CrawlFolderError(f"{folder}: is a file; give a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if state.is_symlink():
            raise CrawlFolderError(f"{state}: is a symbolic link; remove it")
        state.mkdir(exist_ok=True)
        lock = os.open(state / "lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
    except OSError as error:
        raise CrawlFolderError(f"{folder}: cannot be written to ({error.strerror or error})") from None
    try:
        if not try_lock(lock, state / "lock"):
            raise CrawlFolderBusyError(f"{folder}: another crawl is writing to it; wait for it, or give another folder")
        _clean_up(folder)
        yield
    finally:
        os.close(lock)


def storage_path(path: str) -> str:
    """Return the path under which a page is stored: its own if all segments are safe file names.

    Otherwise unsafe characters are replaced, and a hash of the original path is appended.
    """
    path = canonicalize_path(path)
    segments = path.split("/")
    names = [segment for segment in segments if segment]
    if all(map(_is_safe_name, names)) and "//" not in path and not _OWN_FILES.match(path):
        return path
    digest = hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    safe = [re.sub(r"[^\w.-]+|^\.+|[. ]+$", "-", segment)[:60].strip("-.") or "-" for segment in names[:20]]
    if safe and _OWN_FILES.match("/".join([*safe, ""])):
        safe[0] = f"page-{safe[0]}"
    return "/".join([*safe[:-1], f"{safe[-1] if safe else 'page'}~{digest}"]) + ("/" if path.endswith("/") else "")


def disambiguate_paths(paths: Iterable[str]) -> dict[str, str]:
    """Map each path to one whose files collide with no others, also on case-insensitive file systems."""
    taken: dict[str, str] = {}
    folders: set[str] = set()
    found: dict[str, str] = {}
    for path in sorted(set(paths), key=lambda path: (path.casefold(), path)):
        chosen = path
        if not _is_free(path, taken, folders):
            digest = hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:8]
            chosen = f"{path.rstrip('/')}~{digest}" + ("/" if path.endswith("/") else "")
        for file in _page_files(chosen):
            taken[file] = chosen
            folders.update(file[:at] for at, char in enumerate(file) if char == "/")
        found[path] = chosen
    return found


def try_lock(lock: int, file: Path) -> bool:
    """Lock an open file unless another process has; the lock ends with the process.

    Raises:
        CrawlFolderError: The file system does not support locks.
    """
    try:
        return lock_descriptor(lock, blocking=False)
    except OSError as error:
        raise CrawlFolderError(
            f"{file}: this disk cannot lock files ({error.strerror}); give a folder on another disk"
        ) from None


def _is_free(path: str, taken: dict[str, str], folders: set[str]) -> bool:
    for file in _page_files(path):
        parents = (file[:at] for at, char in enumerate(file) if char == "/")
        if file in taken or file in folders or any(folder in taken for folder in parents):
            return False
    return True


def _page_files(path: str) -> list[str]:
    files = [markdown_path(path), *([short] if (short := short_markdown_path(path)) else [])]
    return [unicodedata.normalize("NFC", file.casefold()) for file in files]


def _is_safe_name(segment: str) -> bool:
    return (
        bool(re.fullmatch(r"[\w~!$&'()+,;=@ .-]+", segment))
        and not segment.startswith((".", " "))
        and not segment.endswith((".", " "))
        and len(segment.encode("utf-8", "surrogatepass")) <= _MAX_NAME_BYTES
        and not _WINDOWS_RESERVED.match(segment)
    )


def _clean_up(folder: Path) -> None:
    """Refuse symbolic links below the folder, and remove temporary files of a killed crawl."""
    for above, names, files in os.walk(folder):
        for name in (*names, *files):
            if os.path.islink(Path(above, name)):  # noqa: PTH114 -- faster for a hundred thousand files
                raise CrawlFolderError(f"{Path(above, name)}: is a symbolic link; remove it")
        for name in files:
            if re.fullmatch(r"\.roaming-[0-9a-f]{12}", name):
                Path(above, name).unlink(missing_ok=True)


def _to_line(data: dict[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def _parse_record(data: dict[str, Any]) -> CachedResponse:
    return CachedResponse(**{name: value for name, value in data.items() if name in _RECORD_FIELDS})


_RECORD_FIELDS = {field.name for field in fields(CachedResponse)}
_OWN_FILES = re.compile(r"(roaming|llms[\w.-]*)(/|\.txt$|$)", re.IGNORECASE)
_WINDOWS_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?$", re.IGNORECASE)
_MAX_NAME_BYTES = 120
