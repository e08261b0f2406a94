"""Traces: an answer with everything that led to it, as a JSON file that can be replayed.

A trace contains no times, so equal answers have equal traces.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from mkdocs_roaming._version import __version__
from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.conversation import Exchange
from mkdocs_roaming.answer.events import Answer, Event
from mkdocs_roaming.answer.models.base import Part
from mkdocs_roaming.errors import UsageError

T = TypeVar("T")

FORMAT = "roaming-trace"
VERSION = 1


class RecordedReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """One reply of the model.

    Attributes:
        request: Digest of the request.
        parts: The parts of the reply, in order.
        note: The note of the request.
        late: Whether the note said that the time was nearly over.
        error: The error that ended the reply.
    """

    request: str
    parts: tuple[Part, ...]
    note: str = ""
    late: bool = False
    error: str = ""


class Trace(msgspec.Struct, frozen=True, omit_defaults=True):
    """One answer.

    Attributes:
        question: The question.
        site: Name of the site.
        url: URL of the site.
        digest: Digest of the manifest.
        model: Name of the model.
        budget: Limits of the answer.
        replies: The replies of the model.
        events: The events.
        answer: The complete answer.
        outline: Digest of the outline, or of the text of a small site.
        page: The reader's page.
        whole_site_tokens: A site with fewer estimated tokens was read whole.
        opened: The sections that were open before the question.
        history: Earlier questions and answers.
        read: The sections whose text was shown to the model.
        out_of_time: Number of the operation in which the time was over; None if it was not.
    """

    question: str
    site: str
    url: str
    digest: str
    model: str
    budget: Budget
    replies: tuple[RecordedReply, ...]
    events: tuple[Event, ...]
    answer: Answer
    outline: str = ""
    page: str | None = None
    whole_site_tokens: int = 0
    opened: tuple[str, ...] = ()
    history: tuple[Exchange, ...] = ()
    read: tuple[str, ...] = ()
    out_of_time: int | None = None


def dump_traces(traces: Sequence[Trace]) -> str:
    """Return the JSON file with the traces of a conversation's answers, in order."""
    data = {
        "format": FORMAT,
        "version": VERSION,
        "generator": f"mkdocs-roaming {__version__}",
        # Converted twice: a price of 1 becomes 1.0, as it will be after loading.
        "answers": [to_json(from_json(Trace, to_json(trace), "trace")) for trace in traces],
    }
    return json.dumps(data, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace").decode() + "\n"


def load_traces(text: str | bytes, where: str) -> tuple[Trace, ...]:
    """Return the traces in a JSON file; fields of newer versions are ignored.

    Args:
        text: The content of the file.
        where: The file, for error messages.

    Raises:
        UsageError: The content is not a trace; the message names the place.
    """
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: not JSON ({error}); write a trace with `roaming ask --trace FILE`") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise UsageError(f"{where}: not a trace; write one with `roaming ask --trace FILE`")
    version = data.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise UsageError(f"{where}: version {version!r} of the format is not supported; update mkdocs-roaming")
    answers = data.get("answers")
    if not isinstance(answers, list) or not answers:
        raise UsageError(f"{where}: answers must be a list with at least one item")
    return tuple(
        from_json(Trace, answer, f"{where}: answers[{number}]")
        for number, answer in enumerate(answers)
        if not _is_without_docs(answer)
    )


def _is_without_docs(answer: object) -> bool:
    """Return whether a trace was recorded by the former option `--no-docs`."""
    return isinstance(answer, dict) and answer.get("docs") is False


def write_trace(path: Path, traces: Sequence[Trace]) -> None:
    """Write a trace file atomically.

    Raises:
        UsageError: The file cannot be written.
    """
    write_atomically(path, dump_traces(traces))


def read_trace(path: Path) -> tuple[Trace, ...]:
    """Read a trace file.

    Raises:
        UsageError: The file cannot be read, or is not a trace.
    """
    try:
        return load_traces(path.read_bytes(), str(path))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None


# JSON


def to_json(value: object) -> Any:
    """Return dataclasses and structs as JSON data; objects of other types become their `repr`."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=repr)


def from_json(kind: type[T], data: object, where: str) -> T:
    """Convert JSON data to dataclasses and structs.

    Raises:
        UsageError: The data has another structure; the message begins with `where`.
    """
    try:
        return msgspec.convert(data, kind)
    except (msgspec.ValidationError, UsageError, RecursionError) as error:
        raise UsageError(f"{where}: {error}" if where else str(error)) from None


def compute_digest(*values: object) -> str:
    """Return the SHA-256 digest of values as JSON."""
    text = json.dumps(to_json(values), sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


# Files


def write_atomically(path: Path, text: str) -> None:
    """Write a text file completely or not at all.

    A symbolic link is followed. If the path is a device or a pipe, the text is written into it.

    Raises:
        UsageError: The file cannot be written.
    """
    try:
        if _is_special_file(path):
            path.write_text(text, "utf-8", "replace", "\n")
            return
        path = path.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise _write_error(path, error) from None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:80]}.", dir=path.parent)
    except (OSError, ValueError) as error:
        raise _write_error(path, error) from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
        Path(name).chmod(0o666 & ~_get_umask())
        Path(name).replace(path)
    except (OSError, ValueError) as error:
        with suppress(OSError):
            Path(name).unlink()
        raise _write_error(path, error) from None


def check_writable(path: Path) -> None:
    """Check that a file can be written, before money is spent on its content.

    Raises:
        UsageError: The file cannot be written.
    """
    try:
        folder = path.resolve().parent
        target = path if _is_special_file(path) else folder
        writable = os.access(target, os.W_OK) and folder.is_dir() and not path.is_dir()
    except (OSError, RuntimeError, ValueError) as error:
        raise _write_error(path, error) from None
    if not writable:
        raise UsageError(f"{path}: cannot be written; choose a file in an existing folder")


def _is_special_file(path: Path) -> bool:
    """Return whether the path is a device or a pipe, which a file must not replace."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _write_error(path: Path, error: Exception) -> UsageError:
    return UsageError(f"{path}: cannot be written ({getattr(error, 'strerror', None) or error})")


def _get_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
