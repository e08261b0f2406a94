"""What a model is here: it reads a request and streams its reply in parts.

A model keeps nothing between two replies: each request holds the whole conversation. What it is asked to read comes in
the order in which it is worth caching: the rules and the outline, which depend on the site alone, then the turns, then
the note, which is new each time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal, Protocol

from mkdocs_roaming.roam.navigator import Result, Tool

NONE = "none"
"""What a model cites where the docs do not say what was asked: `[^none]`."""


# What a model reads


@dataclass(frozen=True, slots=True)
class Asked:
    """The reader's turn: the question, and what the site has to say about it (`around`, already worded)."""

    question: str
    around: str = ""


@dataclass(frozen=True, slots=True)
class Said:
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
    result: Result


@dataclass(frozen=True, slots=True)
class Results:
    """The tools' turn: what each call of the turn before gave, in the same order."""

    results: tuple[ToolResult, ...]


Turn = Asked | Said | Results


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


# What a model replies


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


UNUSED = Usage()
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
