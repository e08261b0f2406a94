"""What a chat-completions server streams, read piece by piece into parts, in any of its dialects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mkdocs_roaming.answer.models import UNUSED, Part, Text, ToolCall, Usage
from mkdocs_roaming.answer.models.calls import LONGEST_ARGUMENTS, read_arguments

Reason = Literal["end", "tools", "length", "refusal"]
REASONS: Mapping[str, Reason] = {
    "stop": "end",
    "eos": "end",
    "tool_calls": "tools",
    "function_call": "tools",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
}


@dataclass(slots=True)
class _Call:
    """A tool call while it arrives; `key` tells it from the others, where the server says so."""

    key: object
    id: str = ""
    name: str = ""
    text: list[str] = field(default_factory=list)
    whole: object = None
    """Arguments that came as an object."""

    def is_whole(self) -> bool:
        return self.whole is not None or isinstance(read_arguments("".join(self.text) or "…"), dict)

    def done(self) -> ToolCall:
        written = "".join(self.text)
        return ToolCall(self.id, self.name, read_arguments(written) if written or self.whole is None else self.whole)


class Reading:
    """One reply while it arrives. `reason` is why it ended, None as long as the server has not said."""

    def __init__(self) -> None:
        self.reason: Reason | None = None
        self.too_long = False
        """Whether arguments came that have no end."""
        self._calls: list[_Call] = []
        self._length = 0
        self._refused = False
        self._usage = UNUSED

    def take(self, data: Mapping[str, Any]) -> Iterator[Part]:
        """Give the parts that a piece adds."""
        if isinstance(data.get("usage"), Mapping):
            self._usage = _usage(data["usage"])
        choices = data.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else {}
        delta = choice.get("delta") or choice.get("message") or {}
        if text := _text(delta.get("content")):
            yield Text(text)
        if text := _text(delta.get("refusal")):
            self._refused = True
            yield Text(text)
        for fragment in delta.get("tool_calls") or ():
            yield from self._fragment(fragment)
        if isinstance(reason := choice.get("finish_reason"), str) and reason:
            self.reason = REASONS.get(reason, "end")

    def end(self) -> Iterator[Part]:
        """Give what is only known at the end: the last call, and what was used if the server counted."""
        cut = self.reason == "length"
        for call in (one.done() for one in self._calls):
            if not (cut and isinstance(call.arguments, str)):  # what was cut off in its middle is no call
                yield call
                self.reason = "tools" if self.reason == "end" else self.reason
        if self._refused:
            self.reason = "refusal"
        if self._usage != UNUSED:
            yield self._usage

    def _fragment(self, fragment: Mapping[str, Any]) -> Iterator[Part]:
        function = fragment.get("function") or {}
        id_, name = fragment.get("id") or "", function.get("name") or ""
        call = self._call_of(fragment.get("index"), str(id_), str(name))
        if call is None:
            if len(self._calls) == 1:  # calls come one after the other: the one before is whole
                yield self._calls.pop().done()
            call = _Call(fragment.get("index"), str(id_), str(name))
            self._calls.append(call)
            self._length = 0
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            call.text.append(arguments)
            self._length += len(arguments)
            self.too_long = self._length > LONGEST_ARGUMENTS
        elif arguments is not None:
            call.whole = arguments

    def _call_of(self, index: object, id_: str, name: str) -> _Call | None:
        """Give the call that a fragment goes on with, None where it begins another one."""
        last = self._calls[-1] if self._calls else None
        if last is None:
            return None
        if index is not None and last.key is not None and index != last.key:
            return None
        if id_ and last.id and id_ != last.id:  # some number all their calls 0
            return None
        if name and not (id_ and id_ == last.id) and (index is None or last.is_whole()):
            return None  # a name comes with the first fragment; some repeat it, others number all their calls 0
        return last


def _text(content: object) -> str:
    """Give a text that may come as a list of typed pieces."""
    if isinstance(content, list):
        pieces = [piece for piece in content if isinstance(piece, Mapping) and piece.get("type") == "text"]
        return "".join(str(piece.get("text") or "") for piece in pieces)
    return content if isinstance(content, str) else ""


def _usage(counted: Mapping[str, Any]) -> Usage:
    def count(of: object, name: str) -> int:
        value = of.get(name) if isinstance(of, Mapping) else None
        return value if isinstance(value, int) and value > 0 else 0

    prompt = count(counted, "prompt_tokens")
    read = min(count(counted.get("prompt_tokens_details"), "cached_tokens"), prompt)
    return Usage(input=prompt - read, cache_read=read, output=count(counted, "completion_tokens"))
