"""What a chat-completions server is sent: turns as messages of text.

A conversation is only ever added to, so that servers which keep prefixes find them again. What tools gave is wrapped as
text that others wrote; each section stands between lines with its own id.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.models import Asked, Request, Results, Said
from mkdocs_roaming.answer.models.calls import Ids, as_object, sendable
from mkdocs_roaming.answer.models.opened import opened
from mkdocs_roaming.expand import Expansion, Shown
from mkdocs_roaming.roam.navigator import Expanded, Result, Tool
from mkdocs_roaming.roam.results import render

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Kept:
    """What comes back with a turn of the model's: the note that it was told."""

    note: str


def sent(request: Request) -> dict[str, Any]:
    """Give the parameters of a request.

    In the last round tools are left out: many servers do not know `tool_choice` and would go on calling.
    """
    parameters: dict[str, Any] = {"messages": _messages(request)}
    if request.tools:
        parameters["tools"] = [_tool(tool) for tool in request.tools]
    return dict(sendable(parameters))


def as_text(result: Result) -> str:
    """Give a tool's result as text, sections wrapped as text that others wrote."""
    if isinstance(result, Expanded):
        result = replace(result, sections=tuple(map(_wrapped, result.sections)))
    return render(result)


def _messages(request: Request) -> list[Message]:
    """Give the messages. A note goes to the end of the one before it: not every server takes a user's turn there."""
    first = "\n\n".join(text for text in (request.rules, request.outline) if text.strip())
    messages: list[Message] = [{"role": "system", "content": first}] if first else []
    ids = Ids()

    def note(text: str) -> None:
        if text and messages[-1]["role"] in ("user", "tool"):
            messages[-1]["content"] += f"\n\n{text}"
        elif text:
            messages.append({"role": "user", "content": text})

    for turn in request.turns:
        match turn:
            case Asked() if messages and messages[-1]["role"] == "user":
                messages[-1]["content"] += f"\n\n{prompts.asked(turn)}"
            case Asked():
                messages.append({"role": "user", "content": prompts.asked(turn)})
            case Said():
                note(turn.keep.note if isinstance(turn.keep, Kept) else "")
                messages.append(_said(turn, ids))
            case Results():
                messages += [
                    {"role": "tool", "tool_call_id": ids.of(told.call), "content": as_text(told.result)}
                    for told in turn.results
                ]
    note(request.note)
    return messages


def _said(turn: Said, ids: Ids) -> Message:
    if not turn.calls:
        return {"role": "assistant", "content": turn.text if turn.text.strip() else prompts.NO_ANSWER_HERE}
    calls = [
        {
            "id": ids.of(call),
            "type": "function",
            "function": {"name": str(call.name), "arguments": _arguments(call.arguments)},
        }
        for call in turn.calls
    ]
    return {"role": "assistant", "content": turn.text, "tool_calls": calls}


def _arguments(arguments: object) -> str:
    """Give arguments as JSON: servers read what they are told again."""
    return json.dumps(as_object(arguments), ensure_ascii=False)


def _tool(tool: Tool) -> Mapping[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _wrapped(expansion: Expansion) -> Expansion:
    """Give an expansion in which each section stands between lines with its own id."""
    shown = tuple(Shown(section.id, prompts.section(section)) for section in opened(expansion))
    return replace(expansion, shown=shown)
