"""An answer kept whole: what went in, what the model was told and said, what happened, what came out.

A trace holds no times, so the same answer gives the same bytes. Played again against the site, the recorded replies go
through the same loop: either the same events and the same answer come of it, or it is told where they part.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mkdocs_roaming import __version__
from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.conversation import Exchange
from mkdocs_roaming.answer.events import Answer, Event
from mkdocs_roaming.answer.models import Part
from mkdocs_roaming.answer.record import read, written
from mkdocs_roaming.errors import UsageError

FORMAT = "roaming-trace"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Told:
    """One reply: the digest of the request, its note, the parts as they came, and what broke it off.

    `late` says that time was nearly up when the model was asked.
    """

    request: str
    parts: tuple[Part, ...]
    note: str = ""
    late: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """One answer. `opened` are the sections that were open before it, `read` those whose text was shown in it.

    `digest` is the site's, `outline` that of the outline or whole site as the model was told it. `out_of_time` counts
    the waits up to the one in which the seconds were spent; None where they were not.
    """

    question: str
    site: str
    url: str
    digest: str
    model: str
    budget: Budget
    replies: tuple[Told, ...]
    events: tuple[Event, ...]
    answer: Answer
    outline: str = ""
    page: str | None = None
    docs: bool = True
    whole_site_tokens: int = 0
    opened: tuple[str, ...] = ()
    history: tuple[Exchange, ...] = ()
    read: tuple[str, ...] = ()
    out_of_time: int | None = None


def dump(traces: Sequence[Trace]) -> str:
    """Give the file that holds the traces of a conversation's answers, in order."""
    data = {
        "format": FORMAT,
        "version": VERSION,
        "generator": f"mkdocs-roaming {__version__}",
        "answers": [written(trace) for trace in traces],
    }
    return json.dumps(data, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace").decode() + "\n"


def load(text: str | bytes, where: str) -> tuple[Trace, ...]:
    """Give the traces that a file holds; raises UsageError with the place of what is wrong."""
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: not JSON ({error}); a trace is written by `roaming ask --trace FILE`") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise UsageError(f"{where}: not a trace; one is written by `roaming ask --trace FILE`")
    version = data.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise UsageError(f"{where}: a trace of version {version!r}; this reads up to {VERSION}: update mkdocs-roaming")
    answers = data.get("answers")
    if not isinstance(answers, list) or not answers:
        raise UsageError(f"{where}: answers is not a list of at least one")
    try:
        return tuple(read(Trace, answer, f"answers[{at}]") for at, answer in enumerate(answers))
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


def write_trace(path: Path, traces: Sequence[Trace]) -> None:
    """Write a trace's file whole or not at all; raises UsageError where that cannot be done."""
    write_whole(path, dump(traces))


def read_trace(path: Path) -> tuple[Trace, ...]:
    """Read a trace's file; raises UsageError where it is none."""
    try:
        return load(path.read_bytes(), str(path))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all; a link's target, not the link. What is no file, a pipe say, is written into."""
    try:
        if _is_no_file(path):
            path.write_text(text, "utf-8", "replace", "\n")
            return
        path = path.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise _unwritable(path, error) from None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:80]}.", dir=path.parent)
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(path)
    except (OSError, ValueError) as error:
        with suppress(OSError):
            Path(name).unlink()
        raise _unwritable(path, error) from None


def check_writable(path: Path) -> None:
    """Raise UsageError where a file cannot be written: told before money is spent on what it is to hold."""
    try:
        folder = path.resolve().parent
        fits = os.access(path if _is_no_file(path) else folder, os.W_OK) and folder.is_dir() and not path.is_dir()
    except (OSError, RuntimeError, ValueError) as error:
        raise _unwritable(path, error) from None
    if not fits:
        raise UsageError(f"{path}: cannot be written; name a file in a folder that exists")


def digest_of(*said: object) -> str:
    """Give the digest of what was told to a model."""
    plain = json.dumps(written(list(said)), sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(plain.encode()).hexdigest()}"


def _is_no_file(path: Path) -> bool:
    """Tell whether something is there that cannot be replaced by a file: a device, a pipe."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _unwritable(path: Path, error: Exception) -> UsageError:
    return UsageError(f"{path}: cannot be written ({getattr(error, 'strerror', None) or error})")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
