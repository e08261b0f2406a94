"""What a crawl remembers, in `DIR/.roaming/`: every answer, so that it can go on after any end, or ask only for news.

A journal takes each answer as it comes; a finished crawl turns it into `state.json`. Bodies lie in files named by their
digest. Nothing is written but by way of a temporary file and a rename.
"""

from __future__ import annotations

import errno
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

from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.manifest.models import canonicalize_path, markdown_path, short_markdown_path
from mkdocs_roaming.publish.files import write_atomically
from roaming_crawler.fetch import Response

STATE_DIR = ".roaming"


class CrawlFolderError(RoamingError):
    """The folder of a crawl cannot be used."""


@dataclass(frozen=True, slots=True)
class CachedResponse:
    """An answer without its body: that lies in a file named by its digest. `at` is when it came."""

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
    """The memory of one folder. `old` are the answers of the last finished crawl, `new` those of this one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / STATE_DIR
        self.old: dict[str, CachedResponse] = {}
        self.new: dict[str, CachedResponse] = {}
        self.site: dict[str, Any] = {}
        self.unfinished: dict[str, Any] = {}
        """What the crawl was asked for that never came to its end."""
        self._load()

    def begin(self, asked: dict[str, Any], *, resume: bool, since: float = 0.0) -> None:
        """Begin a crawl, or go on: with the one that was interrupted, or with what the last one got since then."""
        if resume and self.unfinished:
            with self._journal.open("rb+") as file:  # a line that was cut off in mid-air
                data = file.read()
                file.truncate(data.rfind(b"\n") + 1)
        else:
            self.new = {key: record for key, record in self.old.items() if resume and record.at >= since}
            lines = [_line({"crawl": asked}), *(_line(asdict(record)) for record in self.new.values())]
            write_atomically(self._journal, b"".join(lines))
        self.unfinished = asked

    def keep(self, key: str, answer: Response, at: float) -> None:
        """Remember an answer: its body first, then the line that speaks of it."""
        digest = hashlib.sha256(answer.body).hexdigest() if answer.good else ""
        if digest and not (file := self._body(digest)).exists():
            write_atomically(file, answer.body)
        record = CachedResponse(
            key,
            answer.url,
            answer.status,
            answer.kind,
            answer.charset,
            answer.link,
            answer.etag,
            answer.modified,
            digest,
            at,
        )
        self.new[key] = record
        with self._journal.open("ab") as journal:
            journal.write(_line(asdict(record)))

    def answer(self, record: CachedResponse) -> Response | None:
        """Give an answer as it was; None where its body is lost or is not what it was."""
        body = b""
        if record.digest:
            try:
                body = self._body(record.digest).read_bytes()
            except OSError:
                return None
            if hashlib.sha256(body).hexdigest() != record.digest:
                return None
        return Response(
            record.url, record.status, body, record.kind, record.charset, record.link, record.etag, record.modified
        )

    def finish(self, site: dict[str, Any]) -> None:
        """End a crawl that came to its end: what it asked for is the state now."""
        state = {"version": 1, "site": site, "records": [asdict(record) for record in self.new.values()]}
        write_atomically(self.state / "state.json", json.dumps(state, ensure_ascii=False).encode("utf-8"))
        self._journal.unlink(missing_ok=True)
        kept = {record.digest for record in self.new.values()}
        for file in (self.state / "bodies").glob("*/*"):
            if file.name not in kept:
                file.unlink(missing_ok=True)

    def give_up(self) -> None:
        """Forget a first crawl that found nothing: a slip in its address must not take the folder for good."""
        if not self.site:
            self._journal.unlink(missing_ok=True)

    @property
    def _journal(self) -> Path:
        return self.state / "journal.jsonl"

    def _body(self, digest: str) -> Path:
        return self.state / "bodies" / digest[:2] / digest

    def _load(self) -> None:
        try:
            state = json.loads((self.state / "state.json").read_bytes())
            self.site = state["site"]
            self.old = {record.key: record for record in map(_record, state["records"])}
        except (OSError, ValueError, KeyError, TypeError):
            self.old, self.site = {}, {}
        try:
            lines = self._journal.read_bytes().split(b"\n")[:-1]
            self.unfinished = json.loads(lines[0])["crawl"]
            for line in lines[1:]:
                record = _record(json.loads(line))
                self.new[record.key] = record
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            pass  # what follows a torn line is asked for again


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold a folder for one crawl. Raises StoreError where another one has it, or a link leads out of it."""
    state = folder / STATE_DIR
    if folder.exists() and not folder.is_dir():
        raise CrawlFolderError(f"{folder}: is a file; give a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if state.is_symlink():
            raise CrawlFolderError(f"{state}: is a link; remove it")
        state.mkdir(exist_ok=True)
        lock = os.open(state / "lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
    except OSError as error:
        raise CrawlFolderError(f"{folder}: cannot be written to ({error.strerror or error})") from None
    try:
        if not try_lock(lock, state / "lock"):
            raise CrawlFolderError(
                f"{folder}: another crawl is writing to it; wait for its end, or give another folder"
            )
        _clean(folder)
        yield
    finally:
        os.close(lock)


def storage_path(path: str) -> str:
    """Give the path that a page is stored under: its own, where every segment is a harmless name.

    Any other segment is spelt with harmless characters, and a hash of the whole path tells it from its like.
    """
    path = canonicalize_path(path)
    segments = path.split("/")
    named = [segment for segment in segments if segment]
    if all(map(_harmless, named)) and "//" not in path and not _OURS.match(path):
        return path
    digest = hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    safe = [re.sub(r"[^\w.-]+|^\.+|[. ]+$", "-", segment)[:60].strip("-.") or "-" for segment in named[:20]]
    if safe and _OURS.match("/".join([*safe, ""])):
        safe[0] = f"page-{safe[0]}"
    return "/".join([*safe[:-1], f"{safe[-1] if safe else 'page'}~{digest}"]) + ("/" if path.endswith("/") else "")


def disambiguate_paths(paths: Iterable[str]) -> dict[str, str]:
    """Give each path one under which its files are nobody else's, on file systems that ignore case, too."""
    taken: dict[str, str] = {}
    folders: set[str] = set()
    found: dict[str, str] = {}
    for path in sorted(set(paths), key=lambda one: (one.casefold(), one)):
        chosen = path
        if not _free(path, taken, folders):
            digest = hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:8]
            chosen = f"{path.rstrip('/')}~{digest}" + ("/" if path.endswith("/") else "")
        for file in _files(chosen):
            taken[file] = chosen
            folders.update(file[:at] for at, sign in enumerate(file) if sign == "/")
        found[path] = chosen
    return found


def _free(path: str, taken: dict[str, str], folders: set[str]) -> bool:
    for file in _files(path):
        above = (file[:at] for at, sign in enumerate(file) if sign == "/")
        if file in taken or file in folders or any(folder in taken for folder in above):
            return False
    return True


def _files(path: str) -> list[str]:
    files = [markdown_path(path), *([twin] if (twin := short_markdown_path(path)) else [])]
    return [unicodedata.normalize("NFC", file.casefold()) for file in files]


_OURS = re.compile(r"(roaming|llms[\w.-]*)(/|\.txt$|$)", re.IGNORECASE)
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?$", re.IGNORECASE)
_LONGEST = 120


def _harmless(segment: str) -> bool:
    return (
        bool(re.fullmatch(r"[\w~!$&'()+,;=@ .-]+", segment))
        and not segment.startswith((".", " "))
        and not segment.endswith((".", " "))
        and len(segment.encode("utf-8", "surrogatepass")) <= _LONGEST
        and not _RESERVED.match(segment)
    )


def _clean(folder: Path) -> None:
    """Refuse links below the folder, and remove what a killed crawl left half written."""
    for above, names, files in os.walk(folder):
        for name in (*names, *files):
            if os.path.islink(Path(above, name)):  # noqa: PTH114 -- a hundred thousand of them
                raise CrawlFolderError(f"{Path(above, name)}: is a link, and may lead anywhere; remove it")
        for name in files:
            if re.fullmatch(r"\.roaming-[0-9a-f]{12}", name):
                Path(above, name).unlink(missing_ok=True)


def try_lock(lock: int, file: Path) -> bool:
    """Lock an open file, unless another process has; it lets go when it ends, however it does.

    Raises StoreError, which names the file, where the disk that it lies on knows no locks.
    """
    try:
        _lock(lock)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES):
            return False
        raise CrawlFolderError(
            f"{file}: this disk cannot lock files ({error.strerror}); give a folder on another disk"
        ) from None
    return True


def _lock(lock: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt  # type: ignore[unreachable,unused-ignore]  # Windows only

        msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]  # as above
    else:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _line(data: dict[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


_NAMES = {field.name for field in fields(CachedResponse)}


def _record(data: dict[str, Any]) -> CachedResponse:
    return CachedResponse(**{name: value for name, value in data.items() if name in _NAMES})
