"""An answer as Markdown: for a terminal, for an agent with nothing but GET."""

from __future__ import annotations

import re

from mkdocs_roaming.serve.objects import Part


def as_markdown(told: Part) -> str:
    """Give an answer, its sources as footnotes; or what lies nearest where the docs do not answer."""
    pieces = [told["answer"].strip()] if told["answer"] else []
    if told["sources"]:
        pieces.append("\n".join(f"[^{one['id']}]: {_link(one)}" for one in told["sources"]))
    status = told["status"]
    if not told["answer"]:
        pieces.append(_UNANSWERED.get(told["state"], "The docs do not seem to answer this."))
        near = status.get("looked_at") or status.get("nearest") or []
        if near:
            title = "Looked at:" if status.get("looked_at") else "Nearest:"
            pieces.append("\n".join([title, "", *(f"- {_link(one)}" for one in near[:_MOST])]))
    elif told["state"] == "partial":
        pieces.append("The docs answer only a part of this.")
    elif told["state"] == "budget":
        pieces.append("The answer was cut short and may be incomplete.")
    opened = f"{status['sections']} section{'' if status['sections'] == 1 else 's'} opened"
    pieces.append(f"*{told['state']} · {status['model']} · {opened}*")
    return "\n\n".join(pieces) + "\n"


def _link(source: Part) -> str:
    title = _SPECIAL.sub(r"\\\g<0>", " ".join((" › ".join(source["path"]) or source["title"]).split()))
    return f"[{title}](<{_ANGLES.sub('', source['url'])}>) `{source['id']}`"


_UNANSWERED = {
    "budget": "Stopped before there was an answer: what it may cost is spent.",
    "error": "The question could not be answered just now.",
    "refused": "The model does not answer this.",
}
_MOST = 5
_SPECIAL = re.compile(r"[\\\[\]`*_<>]")
_ANGLES = re.compile(r"[<>\s]")
