"""How sections, answers and what supports them look as JSON: in the stream's parts, and in one object.

Titles, paths and addresses are the manifest's; of what a model writes only the text goes out, and the ids that it
asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mkdocs_roaming.answer.events import Answer, Finished, Reference, SupportChecked
from mkdocs_roaming.answer.support import Mark, Support

Part = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Around:
    """What a stream tells beside the events: whether the answer was kept from before, how many turns were dropped.

    `refer` gives the section that an id, an alias or an address names; `sign`, called at the end, the
    turn that the answer ends with, empty where a follow-up cannot refer to it.
    """

    refer: Callable[[str], Reference | None]
    sign: Callable[[], str]
    cached: bool = False
    turns_dropped: int = 0


def whole(answer: Answer, around: Around, *, digest: str) -> Part:
    """Give an answer as one object."""
    turn = around.sign()
    return {
        "state": answer.state,
        "answer": answer.text,
        "sources": [section(one) for one in answer.citations],
        "trail": [section(one) for one in answer.trail],
        "support": support(SupportChecked(answer.support, answer.support_skipped)) if answer.text else None,
        "status": status(answer, around, sections=len(answer.trail)),
        "digest": digest,
        **({"turn": turn} if turn else {}),
    }


def section(reference: Reference) -> Part:
    """Give a section as clients are told of it; `tokens` is an estimate."""
    return {
        "id": reference.id,
        "title": reference.title,
        "path": list(reference.breadcrumb),
        "url": reference.url,
        "tokens": reference.tokens,
    }


def status(end: Finished | Answer, around: Around, *, sections: int) -> Part:
    """Give how an answer ended, what it read and what it cost."""
    usage = end.usage
    told: Part = {
        "state": end.state,
        "code": code_of(end),
        "model": end.model,
        "rounds": end.rounds,
        "sections": sections,
        "tokens_read": end.tokens_read,
        "usage": {
            "input": usage.input,
            "cache_read": usage.cache_read,
            "cache_write": usage.cache_write,
            "output": usage.output,
        },
        "cost": end.cost,
        "currency": end.currency,
        "cached": around.cached,
    }
    if end.dropped_citations or end.withheld:
        told |= {"dropped_citations": end.dropped_citations, "withheld": end.withheld}
    if around.turns_dropped:
        told["turns_dropped"] = around.turns_dropped
    if end.not_found is not None:
        told["looked_at"] = [section(one) for one in end.not_found.looked_at]
        told["nearest"] = [section(one) for one in end.not_found.nearest]
    return told


def code_of(end: Finished | Answer) -> str:
    """Give the code of an end: its state, what budget was spent, `failed` where something did."""
    if end.state == "error":
        return "failed"
    return f"budget_{end.spent}" if end.state == "budget" and end.spent else end.state


def support(checked: SupportChecked) -> Part:
    """Give what supports an answer; offsets are UTF-16, into the text without its `[^id]` markers."""
    if checked.support is None:
        return {"skipped": True}
    return _judged(checked.support)


def _judged(support: Support) -> Part:
    return {
        "score": support.score,
        "sentences": [
            {
                "start": one.start,
                "end": one.end,
                "section": one.section,
                "score": one.score,
                "marks": [_mark(mark) for mark in one.marks],
            }
            for one in support.sentences
        ],
    }


def _mark(mark: Mark) -> Part:
    told: Part = {"kind": mark.kind, "start": mark.start, "end": mark.end}
    return {**told, "instead": mark.instead} if mark.instead else told
