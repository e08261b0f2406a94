"""What a prompt cache would have read and written: prefixes that were really seen, byte for byte."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

LOOKBACK = 20
SMALLEST = 512
SECONDS = {"5m": 300.0, "1h": 3600.0}


@dataclass
class Cache:
    """Entries are written where a `cache_control` mark stands, and found there or up to twenty blocks before one."""

    smallest: int = SMALLEST
    """Prefixes of fewer tokens are not kept."""
    clock: Callable[[], float] = time.monotonic
    entries: dict[str, float] = field(default_factory=dict)

    def count(self, body: Any) -> dict[str, int]:
        """Give the usage of a request, and remember its prefixes."""
        stones = list(_stones(body))
        automatic = "system" not in body  # the chat-completions API takes no marks and keeps what it likes
        marks = [at for at, stone in enumerate(stones) if stone.mark or automatic]
        total = sum(stone.tokens for stone in stones)
        now = self.clock()
        read = max((self._found(stones, at, now) for at in marks), default=-1)
        wrote = -1
        for at in marks:
            if _tokens(stones, at) >= self.smallest:
                wrote = max(wrote, at)
                self.entries[stones[at].digest] = now + SECONDS[stones[at].mark or "5m"]
        read_tokens = _tokens(stones, read)
        write_tokens = max(_tokens(stones, wrote) - read_tokens, 0)
        return {
            "input_tokens": total - read_tokens - write_tokens,
            "cache_creation_input_tokens": write_tokens,
            "cache_read_input_tokens": read_tokens,
        }

    def _found(self, stones: list[_Stone], mark: int, now: float) -> int:
        for at in range(mark, max(mark - LOOKBACK, -1), -1):
            if self.entries.get(stones[at].digest, 0.0) > now:
                self.entries[stones[at].digest] = now + SECONDS[stones[mark].mark or "5m"]
                return at
        return -1


@dataclass(frozen=True)
class _Stone:
    """A block of a request: the digest of everything up to its end, its tokens, its mark's time to live."""

    digest: str
    tokens: int
    mark: str


def _tokens(stones: list[_Stone], at: int) -> int:
    return sum(stone.tokens for stone in stones[: at + 1])


def _stones(body: Mapping[str, Any]) -> Iterator[_Stone]:
    """Give the blocks in the order of the cache: tools, system, messages. A tool choice counts for messages alone."""
    digest = hashlib.sha256(json.dumps(body.get("model")).encode())

    def stone(block: Any) -> _Stone:
        mark = block.get("cache_control") if isinstance(block, dict) else None
        text = json.dumps(_bare(block), ensure_ascii=False)
        digest.update(text.encode() + b"\0")
        return _Stone(digest.hexdigest(), len(text) // 4 + 1, mark.get("ttl", "5m") if mark else "")

    for tool in body.get("tools") or ():
        yield stone(tool)
    system = body.get("system") or ()
    for block in [{"type": "text", "text": system}] if isinstance(system, str) else system:
        yield stone(block)
    digest.update(json.dumps([body.get("tool_choice"), body.get("thinking")]).encode())
    for message in body.get("messages") or ():
        digest.update(str(message.get("role")).encode())
        content = message.get("content")
        for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            yield stone(block)


def _bare(block: Any) -> Any:
    if isinstance(block, dict):
        return {name: _bare(value) for name, value in block.items() if name != "cache_control"}
    return [_bare(one) for one in block] if isinstance(block, list) else block


def prefix(body: Any) -> str:
    """Give what comes first in a request and should never change: tools and system prompt."""
    first = body["messages"][0] if "system" not in body else None
    return json.dumps([body.get("tools"), body.get("system", first)], ensure_ascii=False)


def before(body: Any, messages: int) -> str:
    """Give a digest of a request's tools, system prompt and first messages, marks apart."""
    said = _bare([body.get("tools"), body.get("system"), body["messages"][:messages]])
    return hashlib.sha256(json.dumps(said, ensure_ascii=False).encode()).hexdigest()
