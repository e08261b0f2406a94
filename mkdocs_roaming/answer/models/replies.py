"""The normal form of a reply: text, calls and the reason of its end, whatever a server sends."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.models.base import (
    NO_USAGE,
    AssistantTurn,
    JsonObject,
    ModelRequest,
    Part,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
    ToolTurn,
    UserTurn,
    to_identifier,
)
from mkdocs_roaming.answer.models.reasoning import remove_reasoning

MAX_ARGUMENT_CHARS = 65_536
"""Maximum length of a call's arguments; real calls need less than a hundredth of it."""

_MAX_CALLS = 32
_MAX_NAME_CHARS = 64
_MAX_DEPTH = 20  # of arguments; those of real calls have three levels
_MAX_ECHOED_CHARS = 500


def parse_arguments(text: str) -> object:
    """Return a call's arguments: JSON, what remains of JSON in a text or without its end, or the text itself."""
    if not text.strip():
        return {}
    with suppress(ValueError, RecursionError):
        return limit_depth(json.loads(text))
    from json_repair import repair_json  # few replies need it

    _, brace, rest = text.partition("{")
    with suppress(ValueError, RecursionError):
        repaired: object = repair_json(brace + rest, return_objects=True)
        return limit_depth(repaired) if isinstance(repaired, dict) and repaired else text
    return text


def limit_depth(arguments: object) -> object:
    """Return arguments, or a text instead of those that are nested so deeply that they cannot be written again."""
    level = [arguments]
    for _ in range(_MAX_DEPTH):
        below: list[object] = []
        for value in level:
            if isinstance(value, Mapping):
                below += value.values()
            elif isinstance(value, list | tuple):
                below += value
        level = below
    return "(nested too deeply)" if level else arguments


def arguments_as_object(arguments: object) -> dict[str, object]:
    """Return arguments as the JSON object that providers require when a call is sent back."""
    arguments = parse_arguments(arguments) if isinstance(arguments, str) else limit_depth(arguments)
    if isinstance(arguments, dict):
        return {str(name): value for name, value in arguments.items()}
    return {"arguments": arguments if not isinstance(arguments, str) else arguments[:_MAX_ECHOED_CHARS]}


def encode_tool_name(name: object) -> str:
    """Return a tool's name in the characters that APIs allow, whatever the model wrote."""
    return to_identifier(name, _MAX_NAME_CHARS) or "unknown"


@dataclass(slots=True)
class PartialCall:
    """A tool call while it arrives.

    Attributes:
        index: The server's number of the call, if any.
        id: The server's id of the call, if any.
        name: The name of the tool.
        fragments: The text of the arguments.
        parsed: Arguments that the server sent as JSON data.
    """

    index: object
    id: str
    name: str
    fragments: list[str] = field(default_factory=list)
    parsed: object = None

    @property
    def is_complete(self) -> bool:
        """Whether the arguments are complete JSON."""
        try:
            return isinstance(json.loads("".join(self.fragments)), dict) if self.fragments else self.parsed is not None
        except (ValueError, RecursionError):
            return False

    def to_call(self) -> ToolCall:
        """Return the call with what is known of its arguments."""
        text = "".join(self.fragments)
        arguments = parse_arguments(text) if text or self.parsed is None else limit_depth(self.parsed)
        return ToolCall(self.id, self.name, arguments)


@dataclass(frozen=True, slots=True)
class TurnState:
    """Provider state of a turn.

    Attributes:
        note: The note of the request, which is sent again before the reply.
        blocks: The content blocks of the reply, if the API requires them unchanged.
    """

    note: str
    blocks: tuple[JsonObject, ...] = ()


def read_turns(request: ModelRequest) -> Iterator[str | AssistantTurn | ToolResult]:
    """Yield the conversation in the order of messages: what the reader's side says, replies, and results of tools."""
    for turn in request.turns:
        match turn:
            case UserTurn():
                yield prompts.format_question(turn)
            case ToolTurn():
                yield from turn.results
            case AssistantTurn():
                yield turn.provider_state.note if isinstance(turn.provider_state, TurnState) else ""
                yield turn
    yield request.note


class ReplyReader(ABC):
    """Turns the events of a reply into parts: the normal form of the replies of all servers.

    Attributes:
        parameters: The parameters of the request.
        state: The provider state of the turn.
        reason: Why the reply ended; None until then.
        usage: The tokens that the server counted.
        text: The pieces of text.
        calls: The tool calls in order.
        has_thought: Whether the server sent reasoning.
    """

    def __init__(self, parameters: JsonObject, note: str = "") -> None:
        """Start before the first event of a reply to a request with some parameters and a note."""
        self.parameters = parameters
        self.state = TurnState(note)
        self.reason: StopReason | None = None
        self.usage = NO_USAGE
        self.text: list[str] = []
        self.calls: list[PartialCall] = []
        self.has_thought = False
        self._argument_chars = 0

    @property
    def is_too_long(self) -> bool:
        """Whether the calls exceed a limit that no useful reply reaches."""
        return self._argument_chars > MAX_ARGUMENT_CHARS or len(self.calls) > _MAX_CALLS

    @property
    def lacks_room(self) -> bool:
        """Whether the output ended before any text or call."""
        return self.reason == "length" and not self.text and not self.calls

    @property
    def needs_room(self) -> bool:
        """Whether the model thinks, or wrote nothing else before its output ended."""
        is_cut_off = self.reason == "length" and not self._argument_chars
        return self.has_thought or (is_cut_off and not remove_reasoning("".join(self.text)).strip())

    def find_error(self, data: JsonObject) -> object:
        """Return the error in an event, or None."""
        is_error = "error" in (data.get("type"), data.get("object")) or isinstance(data.get("message"), str)
        return data if is_error or data.get("error") or data.get("detail") else None

    @abstractmethod
    def feed(self, data: JsonObject) -> Iterator[Part]:
        """Yield the parts that an event completes; errors such as `KeyError` mean that it is malformed."""

    def end(self) -> Iterator[Part]:
        """Yield the calls, without those that were cut off when the output ended."""
        is_cut_off = self.reason == "length"
        self.calls = [call for call in self.calls if call.is_complete or not is_cut_off]
        for call in self.calls:
            yield call.to_call()
        if self.calls and self.reason == "end":
            self.reason = "tools"

    def _add_text(self, text: str) -> Iterator[Text]:
        if text:
            self.text.append(text)
            yield Text(text)

    def _add_arguments(self, call: PartialCall, arguments: object) -> None:
        if isinstance(arguments, str):
            call.fragments.append(arguments)
            self._argument_chars += len(arguments)
        elif arguments is not None:
            call.parsed = arguments
