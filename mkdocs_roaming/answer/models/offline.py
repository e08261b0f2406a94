"""The model that needs no key and no network: it searches, opens, and quotes the best sentences word for word.

It sees what any model sees: the request and what the tools gave. It understands nothing; it weighs words.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.models import NONE, Asked, Part, Request, Results, Stop, Text, ToolCall
from mkdocs_roaming.answer.quotes import pieces, quote
from mkdocs_roaming.answer.relevance import Reading, Scored, Source, read
from mkdocs_roaming.expand import Expansion
from mkdocs_roaming.roam.navigator import Expanded, Found


class Offline:
    """Answers with sentences of the docs, cited, or says that they do not answer."""

    name = "offline"

    async def reply(self, request: Request) -> AsyncIterator[Part]:
        """Give the next step: a search, sections to open, or the answer."""
        for part in step(request):
            yield part


def step(request: Request) -> Iterator[Part]:
    """Give the parts of the reply to a request; the same request always gets the same."""
    seen = _seen(request)
    calls = _calls(seen, request) if request.tools else []
    if calls:
        yield from calls
        yield Stop("tools")
        return
    reading = seen.reading(request.language)
    yield Text(_answer(reading) if reading.confidence >= SURE else f"{prompts.NO_ANSWER_HERE} [^{NONE}]")
    yield Stop()


SURE = 0.5
"""The least confidence with which it answers."""


# What it has before it


@dataclass(slots=True)
class _Seen:
    """What the conversation holds: the question and the one before, all sections named, what was found and opened."""

    question: str = ""
    earlier: str = ""
    named: dict[str, str] = field(default_factory=dict)
    ranks: dict[str, int] = field(default_factory=dict)
    opened: dict[str, Source] = field(default_factory=dict)
    searches: int = 0
    rounds: int = 0

    def reading(self, language: str) -> Reading:
        """Weigh what was opened."""
        documents = dict(self.named)
        for source in self.opened.values():
            documents[source.id] = f"{documents.get(source.id, '')}\n{' '.join(source.titles)}\n{source.text}"
        sources = [replace(source, rank=self.ranks.get(source.id, _UNRANKED)) for source in self.opened.values()]
        return read(self.question, self.earlier, documents, sources, language)


_UNRANKED = 99
_LINE = re.compile(r"^\s*\[([0-9a-f]{8})\] (.+)$", re.MULTILINE)


def _seen(request: Request) -> _Seen:
    seen = _Seen()
    for turn in request.turns:
        if isinstance(turn, Asked):
            seen.earlier, seen.question = seen.question, turn.question
            seen.searches = seen.rounds = 0
            seen.ranks = {}
            seen.named |= dict(_LINE.findall(turn.around))
        elif isinstance(turn, Results):
            for result in turn.results:
                _see(seen, result.result)
            seen.rounds += 1
    seen.named = {**dict(_LINE.findall(request.outline)), **seen.named}
    return seen


def _see(seen: _Seen, result: object) -> None:
    if isinstance(result, Found):
        seen.searches += 1
        for rank, hit in enumerate(result.hits):
            rank += (seen.searches - 1) * _LATER
            seen.ranks[hit.id] = min(rank, seen.ranks.get(hit.id, _UNRANKED))
            seen.named[hit.id] = f"{seen.named.get(hit.id, '')} {' '.join(hit.breadcrumb)} {hit.snippet}"
    elif isinstance(result, Expanded):
        for expansion in result.sections:
            for source in _sources(expansion):
                old = seen.opened.get(source.id)
                seen.opened[source.id] = replace(old, text=old.text + source.text) if old else source


_LATER = 3
_HEADING = re.compile(r"\A\s*(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)


def _sources(expansion: Expansion) -> Iterator[Source]:
    """Give what an expansion shows, each section under its titles; those inside are told by their headings."""
    above: list[tuple[int, str]] = []
    for shown in expansion.shown:
        heading = _HEADING.match(shown.text)
        level, title = (len(heading[1]), heading[2]) if heading else (7, "")
        if shown.id == expansion.id:
            yield Source(shown.id, expansion.breadcrumb, shown.text)
            continue
        while above and above[-1][0] >= level:
            above.pop()
        above.append((level, title))
        yield Source(shown.id, (*expansion.breadcrumb, *(name for _, name in above)), shown.text)


# What it does next


def _calls(seen: _Seen, request: Request) -> list[ToolCall]:
    if not seen.searches:
        return [ToolCall(f"search-{seen.rounds + 1}", "search_sections", {"query": seen.question, "limit": 10})]
    fresh = [id_ for id_ in sorted(seen.ranks, key=lambda id_: seen.ranks[id_]) if id_ not in seen.opened]
    if seen.rounds == 1 and fresh:
        return [
            ToolCall(f"open-{seen.rounds + 1}-{at // 3 + 1}", "expand_sections", {"ids": fresh[at : at + 3]})
            for at in range(0, min(len(fresh), 6), 3)
        ]
    if seen.rounds == 2 and fresh and seen.reading(request.language).confidence < 0.9:
        return [ToolCall(f"open-{seen.rounds + 1}-1", "expand_sections", {"ids": fresh[:4]})]
    return []


# What it says


def _answer(reading: Reading) -> str:
    best = reading.scored[0].score
    chosen: list[Scored] = []
    sections: list[str] = []
    for one in reading.scored:
        if len(chosen) >= 4 or one.score < best * 0.72:
            break
        if one.source.id not in sections:
            if len(sections) >= 3:
                continue
            sections.append(one.source.id)
        chosen.append(one)
    said: list[str] = []
    for id_ in sections:
        mine = [one for one in chosen if one.source.id == id_]
        text = mine[0].source.text
        everything = pieces(text)
        picked = []
        for one in mine:
            picked.append(one.piece)
            at = everything.index(one.piece)
            if one.piece.lead and at + 1 < len(everything):
                block = everything[at + 1].block
                picked += [piece for piece in everything if piece.block == block][:8]
            if one.piece.kind == "code" and at and everything[at - 1].kind == "sentence":
                picked.append(everything[at - 1])
        for quoted in quote(text, picked):
            gap = " " if quoted.kind == "sentence" else "\n\n"
            said.append(f"{quoted}{gap}[^{id_}]")
    return "\n\n".join(said)
