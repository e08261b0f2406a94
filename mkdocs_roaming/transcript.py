"""A conversation as Markdown: questions as headings, answers with footnotes that lead to their sources."""

from __future__ import annotations

from collections.abc import Sequence

from mkdocs_roaming.answer.events import Reference
from mkdocs_roaming.answer.trace import Trace
from mkdocs_roaming.terminal import NOT_FROM_THE_DOCS, clean, no_answer, one_line, status_line


def transcript(traces: Sequence[Trace]) -> str:
    """Give the conversation; every cited section is one footnote, however often it is cited."""
    first = traces[0]
    pieces = [f"# {one_line(first.site)}", f"Questions about <{one_line(first.url)}>."]
    cited: dict[str, Reference] = {}
    for trace in traces:
        answer = trace.answer
        cited |= {section.id: section for section in answer.citations}
        pieces.append(f"## {one_line(trace.question)}")
        if not answer.docs:
            pieces.append(f"> {NOT_FROM_THE_DOCS}")
        pieces.append(clean(answer.text).strip() or one_line(answer.error) or no_answer(answer))
        pieces.append(f"*{one_line(status_line(answer))}*")
    if cited:
        pieces.append("\n".join(map(_footnote, cited.values())))
    return "\n\n".join(pieces) + "\n"


def _footnote(section: Reference) -> str:
    title = one_line(" › ".join(section.breadcrumb)).replace("[", "\\[").replace("]", "\\]")
    return f"[^{section.id}]: [{title}](<{one_line(section.url)}>)"
