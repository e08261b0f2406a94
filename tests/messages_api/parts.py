"""What a brain may reply, whatever the wire; and what may go wrong on the way."""

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
    """A citation of the text said since the last one. `late` streams it behind the text, else before it."""

    source: str
    late: bool = True


@dataclass(frozen=True)
class Think:
    """Thinking: a signed block for Anthropic, `reasoning_content` for OpenAI."""

    text: str = ""


@dataclass(frozen=True)
class Call:
    """A tool call. Arguments in a text go over the wire as they are, be they JSON or not."""

    name: str
    arguments: object
    id: str | None = None


@dataclass(frozen=True)
class End:
    """The reason why the reply ends here, in Anthropic's words; without one it follows from the parts."""

    reason: str


@dataclass(frozen=True)
class Wait:
    """Nothing for so long."""

    seconds: float


@dataclass(frozen=True)
class Cut:
    """The connection is cut; `clean` closes the body as if it were whole."""

    clean: bool = False


@dataclass(frozen=True)
class Broken:
    """An error frame in mid-stream."""

    kind: str = "overloaded_error"
    message: str = "Overloaded"


@dataclass(frozen=True)
class Raw:
    """Bytes as they are."""

    data: bytes


@dataclass(frozen=True)
class Status:
    """No stream at all but this answer."""

    code: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    kind: str = "api_error"
    message: str = "It did not work"


Part = Say | Cite | Think | Call | End | Wait | Cut | Broken | Raw | Status


@dataclass(frozen=True)
class View:
    """A request as its reader sees it: text alone."""

    system: str
    question: str
    context: str
    """What the reader's last turn says beside the question."""
    results: tuple[str, ...]
    """What the tools gave since the question, as text."""
    opened: Mapping[str, str]
    """The text of sections, by the ids that the request names them with."""
    rounds: int
    """How often tools were called since the question."""
    tools: tuple[str, ...]
    """The tools that may be called now."""


class Brain(Protocol):
    """Whoever replies."""

    def reply(self, view: View) -> Iterable[Part]:
        """Give the parts of a reply to what it sees."""
        ...
