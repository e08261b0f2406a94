"""The parts of a brain's reply, independent of the API, and the faults of a connection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class Say:
    """Text."""

    text: str


@dataclass(frozen=True)
class Cite:
    """A citation for the text since the last one; `late` streams it after the text, otherwise before it."""

    source: str
    late: bool = True


@dataclass(frozen=True)
class Think:
    """Thinking: a signed block for Anthropic, `reasoning_content` for OpenAI."""

    text: str = ""


@dataclass(frozen=True)
class Call:
    """A tool call. Arguments that are a string are sent unchanged, JSON or not."""

    name: str
    arguments: object
    id: str | None = None


@dataclass(frozen=True)
class End:
    """The end of the reply, with Anthropic's stop reason (default: derived from the parts)."""

    reason: str


@dataclass(frozen=True)
class Wait:
    """A pause in seconds."""

    seconds: float


@dataclass(frozen=True)
class Cut:
    """The connection is cut; `clean` closes the body as if it were complete."""

    clean: bool = False


@dataclass(frozen=True)
class Broken:
    """An error event in the middle of the stream."""

    kind: str = "overloaded_error"
    message: str = "Overloaded"


@dataclass(frozen=True)
class Raw:
    """Raw bytes."""

    data: bytes


@dataclass(frozen=True)
class Status:
    """A response without a stream."""

    code: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    kind: str = "api_error"
    message: str = "It did not work"


Part = Say | Cite | Think | Call | End | Wait | Cut | Broken | Raw | Status


@dataclass(frozen=True)
class View:
    """A request as a brain sees it: text only."""

    system: str
    question: str
    context: str
    """The last user turn without the question."""
    results: tuple[str, ...]
    """The tool results since the question, as text."""
    opened: Mapping[str, str]
    """The text of sections, by id."""
    rounds: int
    """Number of replies with tool calls since the question."""
    tools: tuple[str, ...]
    """The tools that may be called."""


class Brain(Protocol):
    """Computes the replies."""

    def reply(self, view: View) -> Iterable[Part]:
        """Return the parts of a reply."""
        ...
