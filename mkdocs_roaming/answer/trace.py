"""Dataclasses as JSON and back: whatever is read is checked against the types that they declare.

A field that has its default is left out. Where several dataclasses may stand, `type` names the one that does.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import types
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import msgspec

from mkdocs_roaming import __version__
from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.conversation import Exchange
from mkdocs_roaming.answer.events import Answer, Event
from mkdocs_roaming.answer.models.base import Part
from mkdocs_roaming.errors import UsageError

T = TypeVar("T")


NOT_WRITTEN = "keep"


"""What a model's adapter keeps for itself has this name; it is nobody else's, and may be no JSON."""


DEEPEST = 60


"""How deep a model may nest what it passes to a tool; what lies deeper is not kept."""


def to_json(value: object, *, named: bool = False, deep: int = 0) -> Any:
    """Give what JSON holds of a value; `named` says its type too."""
    if deep > DEEPEST:
        return "…"
    if is_dataclass(value) and not isinstance(value, type):
        found = {"type": type(value).__name__} if named else {}
        hints = _hints(type(value))
        for field in fields(value):
            one, kind = getattr(value, field.name), hints[field.name]
            if field.name == NOT_WRITTEN or (_default(field) is not MISSING and one == _default(field)):
                continue
            if isinstance(one, int) and (kind is float or float in get_args(kind)):
                one = float(one)  # 1 and 1.0 are the same value, and the same bytes
            found[field.name] = to_json(one, named=_is_choice(kind), deep=deep + 1)
        return found
    if isinstance(value, msgspec.Struct):
        given = msgspec.structs.asdict(value)
        for field_ in msgspec.structs.fields(value):
            default = field_.default if field_.default_factory is msgspec.NODEFAULT else field_.default_factory()
            if given[field_.name] == default:
                del given[field_.name]
        return to_json(given, deep=deep)
    if isinstance(value, Mapping):
        return {str(name): to_json(one, deep=deep + 1) for name, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_json(one, named=named, deep=deep + 1) for one in value]
    if value is None or isinstance(value, (str, int, float)):
        return value
    return repr(value)


def from_json(kind: type[T], data: object, where: str) -> T:
    """Give the value of a type that JSON holds; raises UsageError naming the place in it that is wrong."""
    return cast(T, _read(kind, data, where))


def _read(kind: Any, data: object, where: str) -> Any:
    origin = get_origin(kind)
    if kind is object or kind is Any:
        return data
    if origin in (Union, types.UnionType):
        return _read_choice(get_args(kind), data, where)
    if origin is Literal:
        return data if data in get_args(kind) else _wrong(where, f"one of {', '.join(map(str, get_args(kind)))}")
    if origin is tuple:
        if not isinstance(data, list):
            return _wrong(where, "a list")
        return tuple(_read(get_args(kind)[0], one, f"{where}[{at}]") for at, one in enumerate(data))
    if is_dataclass(kind):
        return _read_fields(cast(type, kind), data, where)
    if kind is float and isinstance(data, (int, float)) and not isinstance(data, bool):
        return float(data) if abs(data) <= _GREATEST else _wrong(where, "a number of usual size")
    if not isinstance(data, kind) or (isinstance(data, bool) and kind is not bool):
        return _wrong(where, _NAMES.get(kind, kind.__name__))
    return data


def _read_choice(kinds: tuple[Any, ...], data: object, where: str) -> Any:
    if data is None and type(None) in kinds:
        return None
    left = [kind for kind in kinds if kind is not type(None)]
    if len(left) == 1:
        return _read(left[0], data, where)
    by_name: dict[str, type] = {kind.__name__: kind for kind in left if isinstance(kind, type) and is_dataclass(kind)}
    name = data.get("type") if isinstance(data, dict) else None
    if not isinstance(name, str) or name not in by_name:
        return _wrong(where, f"of a type among {', '.join(by_name)}")
    return _read_fields(by_name[name], {key: value for key, value in cast(Any, data).items() if key != "type"}, where)


def _read_fields(kind: type, data: object, where: str) -> Any:
    if not isinstance(data, dict):
        return _wrong(where, "an object")
    hints = _hints(kind)
    given: dict[str, object] = {}
    for field in fields(kind):
        place = f"{where}.{field.name}" if where else field.name
        if field.name in data:
            given[field.name] = _read(hints[field.name], data[field.name], place)
        elif _default(field) is MISSING:
            return _wrong(place, "there")
    return kind(**given)  # other fields are a newer version's: not ours to refuse


def _is_choice(kind: Any) -> bool:
    """Tell whether several dataclasses may stand where this type is declared, itself or in a list."""
    if get_origin(kind) is tuple:
        return _is_choice(get_args(kind)[0])
    return get_origin(kind) in (Union, types.UnionType) and sum(map(is_dataclass, get_args(kind))) > 1


def _default(field: Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


_hints_of: dict[type, dict[str, Any]] = {}


def _hints(kind: type) -> dict[str, Any]:
    if kind not in _hints_of:
        _hints_of[kind] = get_type_hints(kind)
    return _hints_of[kind]


_GREATEST = 1e15  # and NaN is not less


_NAMES = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def _wrong(where: str, what: str) -> Any:
    raise UsageError(f"{where} is not {what}")


# MERGED mkdocs_roaming.answer.trace:
# An answer kept whole: what went in, what the model was told and said, what happened, what came out.
#
# A trace holds no times, so the same answer gives the same bytes. Played again against the site, the recorded
# replies go
# through the same loop: either the same events and the same answer come of it, or it is told where they part.


FORMAT = "roaming-trace"


VERSION = 1


@dataclass(frozen=True, slots=True)
class RecordedReply:
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
    replies: tuple[RecordedReply, ...]
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


def dump_traces(traces: Sequence[Trace]) -> str:
    """Give the file that holds the traces of a conversation's answers, in order."""
    data = {
        "format": FORMAT,
        "version": VERSION,
        "generator": f"mkdocs-roaming {__version__}",
        "answers": [to_json(trace) for trace in traces],
    }
    return json.dumps(data, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace").decode() + "\n"


def load_traces(text: str | bytes, where: str) -> tuple[Trace, ...]:
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
        return tuple(from_json(Trace, answer, f"answers[{at}]") for at, answer in enumerate(answers))
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


def write_trace(path: Path, traces: Sequence[Trace]) -> None:
    """Write a trace's file whole or not at all; raises UsageError where that cannot be done."""
    write_atomically(path, dump_traces(traces))


def read_trace(path: Path) -> tuple[Trace, ...]:
    """Read a trace's file; raises UsageError where it is none."""
    try:
        return load_traces(path.read_bytes(), str(path))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None


def write_atomically(path: Path, text: str) -> None:
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


def compute_digest(*said: object) -> str:
    """Give the digest of what was told to a model."""
    plain = json.dumps(to_json(list(said)), sort_keys=True, separators=(",", ":"))
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
