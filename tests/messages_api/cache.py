"""A prompt cache: tokens read and written, by the exact bytes of earlier prefixes."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

LOOKBACK = 20
SMALLEST = 512
"""Prefixes with fewer tokens are not cached."""
SECONDS = 300.0


@dataclass
class Cache:
    """Writes an entry at each `cache_control` breakpoint, and finds entries there or up to twenty blocks before one."""

    entries: dict[str, float] = field(default_factory=dict)

    def count(self, body: Any) -> dict[str, int]:
        """Return the usage of a request, and cache its prefixes."""
        blocks = list(_split_blocks(body))
        automatic = "system" not in body  # the chat completions API has no breakpoints and caches on its own
        marks = [at for at, block in enumerate(blocks) if block.mark or automatic]
        total = sum(block.tokens for block in blocks)
        now = time.monotonic()
        read = max((self._found(blocks, at, now) for at in marks), default=-1)
        wrote = -1
        for at in marks:
            if _tokens(blocks, at) >= SMALLEST:
                wrote = max(wrote, at)
                self.entries[blocks[at].digest] = now + SECONDS
        read_tokens = _tokens(blocks, read)
        write_tokens = max(_tokens(blocks, wrote) - read_tokens, 0)
        return {
            "input_tokens": total - read_tokens - write_tokens,
            "cache_creation_input_tokens": write_tokens,
            "cache_read_input_tokens": read_tokens,
        }

    def _found(self, blocks: list[_Block], mark: int, now: float) -> int:
        for at in range(mark, max(mark - LOOKBACK, -1), -1):
            if self.entries.get(blocks[at].digest, 0.0) > now:
                self.entries[blocks[at].digest] = now + SECONDS
                return at
        return -1


@dataclass(frozen=True)
class _Block:
    """A block of a request: the digest of everything up to its end, its tokens, and whether it has a breakpoint."""

    digest: str
    tokens: int
    mark: bool


def _tokens(blocks: list[_Block], at: int) -> int:
    return sum(block.tokens for block in blocks[: at + 1])


def _split_blocks(body: Mapping[str, Any]) -> Iterator[_Block]:
    """Return the blocks in cache order: tools, system, messages. A tool choice affects messages only."""
    digest = hashlib.sha256(json.dumps(body.get("model")).encode())

    def make_block(block: Any) -> _Block:
        text = json.dumps(_bare(block), ensure_ascii=False)
        digest.update(text.encode() + b"\0")
        return _Block(digest.hexdigest(), len(text) // 4 + 1, "cache_control" in block)

    for tool in body.get("tools") or ():
        yield make_block(tool)
    system = body.get("system") or ()
    for block in [{"type": "text", "text": system}] if isinstance(system, str) else system:
        yield make_block(block)
    digest.update(json.dumps([body.get("tool_choice"), body.get("thinking")]).encode())
    for message in body.get("messages") or ():
        digest.update(str(message.get("role")).encode())
        content = message.get("content")
        for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            yield make_block(block)


def _bare(block: Any) -> Any:
    if isinstance(block, dict):
        return {name: _bare(value) for name, value in block.items() if name != "cache_control"}
    return [_bare(one) for one in block] if isinstance(block, list) else block


def prefix(body: Any) -> str:
    """Return the constant start of a request: tools and system prompt."""
    first = body["messages"][0] if "system" not in body else None
    return json.dumps([body.get("tools"), body.get("system", first)], ensure_ascii=False)


def before(body: Any, messages: int) -> str:
    """Return a digest of tools, system prompt and first messages, without breakpoints."""
    said = _bare([body.get("tools"), body.get("system"), body["messages"][:messages]])
    return hashlib.sha256(json.dumps(said, ensure_ascii=False).encode()).hexdigest()
