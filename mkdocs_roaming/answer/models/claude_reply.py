"""What Claude streams, read event by event into parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from mkdocs_roaming.answer.models import Citation, Part, Text, ToolCall, Usage
from mkdocs_roaming.answer.models.calls import LONGEST_ARGUMENTS, as_object, read_arguments

REASONS: Mapping[str, Literal["end", "tools", "length", "refusal"]] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tools",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "length",
    "refusal": "refusal",
}


class Reading:
    """One reply while it arrives. `blocks` are its content as it is told again, `reason` why it ended."""

    def __init__(self) -> None:
        self.blocks: list[dict[str, Any]] = []
        self.reason: Literal["end", "tools", "length", "refusal"] | None = None
        self.begun = False
        self.too_long = False
        """Whether arguments came that have no end."""
        self._block: dict[str, Any] | None = None
        self._json: list[str] = []
        self._length = 0
        self._unread: list[dict[str, Any]] = []
        self._told = Usage()

    def take(self, event: Any) -> Iterator[Part]:
        """Give the parts that an event adds."""
        match event.type:
            case "message_start":
                self.begun = True
                yield from self._usage(event.message.usage, output=False)
            case "content_block_start":
                self._block, self._json, self._length = _plain(event.content_block), [], 0
                if text := self._block.get("text"):
                    yield Text(text)
            case "content_block_delta" if self._block is not None:
                yield from self._delta(self._block, event.delta)
            case "content_block_stop" if self._block is not None:
                yield from self._whole(self._block)
                self._block = None
            case "message_delta":
                yield from self._usage(event.usage, output=True)
                yield from self._end(event.delta.stop_reason)

    def _delta(self, block: dict[str, Any], delta: Any) -> Iterator[Part]:
        match delta.type:
            case "text_delta":
                block["text"] = block.get("text", "") + delta.text
                yield Text(delta.text)
            case "citations_delta":
                block.setdefault("citations", []).append(delta.citation.to_dict())
            case "input_json_delta":
                self._json.append(delta.partial_json)
                self._length += len(delta.partial_json)
                self.too_long = self._length > LONGEST_ARGUMENTS
            case "thinking_delta":
                block["thinking"] = block.get("thinking", "") + delta.thinking
            case "signature_delta":
                block["signature"] = delta.signature

    def _whole(self, block: dict[str, Any]) -> Iterator[Part]:
        match block["type"]:
            case "text":
                text = block["text"]
                if not block.get("citations"):
                    block.pop("citations", None)
                if text.strip():
                    self.blocks.append(block)
                # The model may have written the mark itself, as the rules ask for.
                sources = dict.fromkeys(str(cited.get("source")) for cited in block.get("citations", ()))
                yield from (Citation(id_) for id_ in sources if f"[^{id_}]" not in text)
            case "tool_use":
                arguments = read_arguments("".join(self._json)) if self._length else block.get("input", {})
                block["input"] = arguments
                if isinstance(arguments, str):
                    self._unread.append(block)
                else:
                    yield self._call(block)
            case "thinking" | "redacted_thinking":
                self.blocks.append(block)

    def _end(self, stop_reason: str | None) -> Iterator[Part]:
        if stop_reason is None:
            return
        self.reason = REASONS.get(stop_reason, "end")
        if self.reason != "length":  # what was cut off in its middle is no call
            for block in self._unread:
                yield self._call(block)
        self._unread = []

    def _call(self, block: dict[str, Any]) -> ToolCall:
        self.blocks.append({**block, "input": as_object(block["input"])})
        return ToolCall(str(block["id"]), str(block["name"]), block["input"])

    def _usage(self, counted: Any, *, output: bool) -> Iterator[Part]:
        """Give what was counted beyond what was told: counts of later events are totals."""
        told = self._told

        def more(name: str, before: int) -> int:
            count = getattr(counted, name, None)
            return max(count - before, 0) if isinstance(count, int) else 0

        usage = Usage(
            more("input_tokens", told.input),
            more("cache_read_input_tokens", told.cache_read),
            more("cache_creation_input_tokens", told.cache_write),
            more("output_tokens", told.output) if output else 0,
        )
        if usage != Usage():
            self._told = told + usage
            yield usage


def _plain(block: Any) -> dict[str, Any]:
    """Give a block as it came, without what was not set."""
    return {name: value for name, value in block.to_dict().items() if value is not None}
