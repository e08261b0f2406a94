"""What Claude is sent: turns as messages, opened sections as search results, marks where its cache may cut.

A conversation is only ever added to, byte for byte, so that what was sent once is read from the cache. Claude's
thinking is bound to all that stands before it: where sections were closed to make room, what it thought behind them is
left out.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.models import Asked, OpenSection, Request, Results, Said, ToolResult
from mkdocs_roaming.answer.models.calls import Ids, as_object, sendable
from mkdocs_roaming.answer.models.opened import opened
from mkdocs_roaming.roam.navigator import TOOLS, Expanded, Misused, Tool
from mkdocs_roaming.roam.results import render

Block = dict[str, Any]
Ttl = Literal["5m", "1h"]


@dataclass(frozen=True, slots=True)
class Kept:
    """What comes back with a turn of Claude's: its blocks as they were, the note it was told, what stood before it."""

    blocks: tuple[Mapping[str, Any], ...]
    note: str
    before: str


@dataclass(frozen=True, slots=True)
class Sent:
    """The parameters of a request, and the digest of what it says."""

    parameters: dict[str, Any]
    digest: str


def sent(request: Request, *, ttl: Ttl = "5m") -> Sent:
    """Give what is sent for a request.

    Where there is something to open the tools stay defined in the last round, when none may be called: they come first
    in the cached prefix, and the API wants them wherever earlier turns called one.
    """
    roams = (request.outline and not request.site) or any(isinstance(turn, Results) for turn in request.turns)
    tools = [_tool(tool) for tool in request.tools or (TOOLS if roams else ())]
    system = [_text(text) for text in (request.rules, request.outline) if text.strip()]
    first = _digest(tools, system)
    messages = _messages(request, first)
    digest = _digest(first, messages)
    if system:
        system[-1]["cache_control"] = {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}
    parameters: dict[str, Any] = {"system": system, "messages": messages}
    if tools:
        parameters["tools"] = tools
    if request.tools:
        # The turn before was marked last time: a mark finds its entry however many blocks have come since.
        for message in [message for message in messages if message["role"] == "user"][-2:]:
            message["content"][-1]["cache_control"] = {"type": "ephemeral"}
    elif tools:
        parameters["tool_choice"] = {"type": "none"}
    return Sent(sendable(parameters), digest)


# Turns


def _messages(request: Request, first: str) -> list[Block]:
    messages: list[Block] = []
    ids = Ids()

    def add(role: str, content: Iterable[Block]) -> None:
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"].extend(content)
        else:
            messages.append({"role": role, "content": list(content)})

    for turn in request.turns:
        match turn:
            case Asked():
                add("user", [_text(prompts.asked(turn))])
            case Results():
                add("user", [_tool_result(result, ids) for result in turn.results])
            case Said():
                kept = turn.keep if isinstance(turn.keep, Kept) else None
                if kept and kept.note:
                    add("user", [_text(kept.note)])
                add("assistant", _said(turn, kept, ids, lambda: _digest(first, messages)))
    if request.note:
        add("user", [_text(request.note)])
    return messages


def _said(turn: Said, kept: Kept | None, ids: Ids, before: Callable[[], str]) -> list[Block]:
    if kept is None or len(_calls(kept.blocks)) != len(turn.calls):
        text = [_text(turn.text)] if turn.text.strip() else []
        calls = [
            {"type": "tool_use", "id": ids.of(call), "name": _name(call.name), "input": as_object(call.arguments)}
            for call in turn.calls
        ]
        return [*text, *calls] or [_text(prompts.NO_ANSWER_HERE)]
    blocks = [dict(block) for block in kept.blocks]
    if kept.before != before():
        blocks = [_loosened(block) for block in blocks if "thinking" not in block["type"]]
    for call, block in zip(turn.calls, _calls(blocks), strict=True):
        block["id"], block["name"] = ids.of(call), _name(call.name)
    return blocks or [_text(prompts.NO_ANSWER_HERE)]


def _calls(blocks: Sequence[Mapping[str, Any]]) -> list[Any]:
    return [block for block in blocks if block["type"] == "tool_use"]


def _loosened(block: Block) -> Block:
    """Give a block without its citations: they count search results, of which some are gone."""
    return {name: value for name, value in block.items() if name != "citations"}


def _name(name: object) -> str:
    """Give a tool's name as it may stand on the wire, whatever the model made up."""
    plain = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "_-") else "_" for letter in str(name)
    )
    return plain[:64] or "unknown"


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _tool(tool: Tool) -> Block:
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}


# What tools gave


def _tool_result(told: ToolResult, ids: Ids) -> Block:
    result = told.result
    block: Block = {"type": "tool_result", "tool_use_id": ids.of(told.call)}
    content: list[Block] = []
    if isinstance(result, Expanded):
        content += [_search_result(section) for expansion in result.sections for section in opened(expansion)]
        result = replace(result, sections=tuple(replace(expansion, shown=()) for expansion in result.sections))
    if isinstance(result, Misused):
        block["is_error"] = True
    if (text := re.sub(r"\n{3,}", "\n\n", render(result))).strip():
        content.append(_text(text))
    return {**block, "content": content}


def _search_result(section: OpenSection) -> Block:
    """Give a section as a search result of its own, so that it is cited by its own id."""
    return {
        "type": "search_result",
        "source": section.id,
        "title": " › ".join(section.breadcrumb) or section.id,
        "content": [_text(section.text)],
        "citations": {"enabled": True},
    }


def _digest(*said: object) -> str:
    return hashlib.sha256(json.dumps(said, ensure_ascii=False, sort_keys=True).encode("utf-8", "replace")).hexdigest()
