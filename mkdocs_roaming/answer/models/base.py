"""What a model is here: it reads a request and streams its reply in parts.

A model keeps nothing between two replies: each request holds the whole conversation. What it is asked to read comes in
the order in which it is worth caching: the rules and the outline, which depend on the site alone, then the turns, then
the note, which is new each time.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from mkdocs_roaming.library.tools import Tool, ToolOutput
from mkdocs_roaming.manifest.expand import Expansion

NO_SOURCE = "none"


"""What a model cites where the docs do not say what was asked: `[^none]`."""


@dataclass(frozen=True, slots=True)
class UserTurn:
    """The reader's turn: the question, and what the site has to say about it (`around`, already worded)."""

    question: str
    around: str = ""


@dataclass(frozen=True, slots=True)
class AssistantTurn:
    """The model's turn: its text with `[^id]` citations, and the tools it called.

    `keep` is what the model's adapter left in its `Stop`, and is given back to it untouched.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    keep: object = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What one tool call gave."""

    call: ToolCall
    result: ToolOutput


@dataclass(frozen=True, slots=True)
class ToolTurn:
    """The tools' turn: what each call of the turn before gave, in the same order."""

    results: tuple[ToolResult, ...]


Turn = UserTurn | AssistantTurn | ToolTurn


@dataclass(frozen=True, slots=True)
class OpenSection:
    """A section of a small site that is read whole."""

    id: str
    breadcrumb: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Request:
    """All that a model is told for one reply.

    `rules` and `outline` depend on the site alone, so they stay cached from question to question; `turns` only grows,
    but for sections that were closed to make room; `note` is said last, behind the last turn. No `tools` are offered
    in the last round. `output_tokens` is the most that the reply may have.

    A small site is read whole: then `outline` has all its text, already worded, and `site` the same as data, for a
    model that reads no prompts. Where a model is asked without the docs, `outline` is empty.
    """

    rules: str
    outline: str
    turns: tuple[Turn, ...]
    tools: tuple[Tool, ...] = ()
    note: str = ""
    output_tokens: int = 700
    language: str = "en"
    site: tuple[OpenSection, ...] = ()


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of the reply's text."""

    text: str


@dataclass(frozen=True, slots=True)
class Citation:
    """A native citation: the text so far rests on this section. Models without them write `[^id]` into the text."""

    id: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool; `arguments` is what the model wrote, whatever it is."""

    id: str
    name: str
    arguments: object


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the model's provider counts them."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.output + other.output,
        )


NO_USAGE = Usage()


"""Nothing used, or nothing counted."""


@dataclass(frozen=True, slots=True)
class Stop:
    """The end of the reply and its reason; `keep` comes back in the conversation as `Said.keep`."""

    reason: Literal["end", "tools", "length", "refusal"] = "end"
    keep: object = None


Part = Text | Citation | ToolCall | Usage | Stop


class Model(Protocol):
    """Anything that can roam: Claude, a local server, the offline answerer, a script."""

    @property
    def name(self) -> str:
        """What readers are told answered them."""
        ...

    def reply(self, request: Request) -> AsyncIterator[Part]:
        """Stream the reply to a request. An async generator: it is closed when nobody waits for it any more.

        It holds no cancel scope and no task group open while it yields. What goes wrong is raised, as a RoamingError
        where there is a cure to name.
        """
        ...


# MERGED mkdocs_roaming.answer.models.calls:
# What wires want: ids of plain characters, each once, arguments that are an object, text of whole characters.


MAX_ARGUMENT_CHARS = 65_536


"""Characters of a call's arguments; no call of ours needs a hundredth of them."""


class CallIds:
    """The ids of calls within one request; the same turns get the same ids each time."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}
        self._taken: set[str] = set()

    def of(self, call: ToolCall) -> str:
        """Give the id that a call has on the wire."""
        if call.id not in self._given:
            plain = re.sub(r"[^a-zA-Z0-9_-]", "_", str(call.id))[:60] or "call"
            id_, again = plain, 1
            while id_ in self._taken:
                again += 1
                id_ = f"{plain}_{again}"
            self._taken.add(id_)
            self._given[call.id] = id_
        return self._given[call.id]


def parse_arguments(text: str) -> object:
    """Give what a model wrote as arguments: an object where it is JSON, else the text itself."""
    if not text.strip():
        return {}
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def arguments_as_object(arguments: object) -> dict[str, object]:
    """Give arguments as the object that they must be when they are told again."""
    if isinstance(arguments, str):
        arguments = parse_arguments(arguments)
    if isinstance(arguments, dict):
        return {str(name): value for name, value in arguments.items()}
    return {"arguments": arguments if not isinstance(arguments, str) else arguments[:_SHOWN]}


def replace_surrogates(value: Any) -> Any:
    """Give what can be sent: halves of characters, which a page may hold, have no bytes."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {replace_surrogates(name): replace_surrogates(one) for name, one in value.items()}
    return [replace_surrogates(one) for one in value] if isinstance(value, (list, tuple)) else value


_SHOWN = 500


# MERGED mkdocs_roaming.answer.models.opened:
# The sections that a tool's result shows, each on its own, for models that are told of them one by one.


def split_expansion(expansion: Expansion) -> Iterator[OpenSection]:
    """Give what an expansion shows: the section itself, then those inside, each with its heading for a place."""
    for shown in expansion.shown:
        if shown.text.strip():
            heading = shown.text.lstrip().partition("\n")[0].strip("# \t")
            inside = () if shown.id == expansion.id else (heading[:_LONGEST],)
            yield OpenSection(shown.id, tuple(filter(None, (*expansion.breadcrumb, *inside))), shown.text)


_LONGEST = 120
