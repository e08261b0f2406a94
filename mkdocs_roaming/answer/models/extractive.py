"""The model that needs no key and no network: it searches, opens, and quotes the best passages word for word.

It sees what any model sees: the request and what the tools gave. It understands nothing; it weighs words.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.models.base import NO_SOURCE, Part, Request, Stop, Text, ToolCall, ToolTurn, UserTurn
from mkdocs_roaming.answer.models.passages import (
    Passage,
    Quote,
    Source,
    TextTerms,
    WeightedWord,
    quote_pieces,
    rank_passages,
    weigh_words,
)
from mkdocs_roaming.library.rules import RULES_CALL_ID as PINNED
from mkdocs_roaming.library.tools import ExpandResult, SearchResults
from mkdocs_roaming.manifest.expand import Expansion
from mkdocs_roaming.text.tokenizer import estimate_tokens


class ExtractiveModel:
    """Answers with passages of the docs, cited, or says that they do not answer."""

    name = "offline"

    async def reply(self, request: Request) -> AsyncIterator[Part]:
        """Give the next step: a search, sections to open, or the answer."""
        for part in compute_reply(request):
            yield part


def compute_reply(request: Request) -> Iterator[Part]:
    """Give the parts of the reply to a request; the same request always gets the same."""
    seen = _seen(request)
    weighed = weigh_words(seen.question, seen.earlier, seen.documents(), request.language)
    ranked = rank_passages(seen.question, weighed, seen.sources(), request.language)
    calls = _calls(seen, weighed, ranked, request.language) if request.tools else []
    if calls:
        yield from calls
        yield Stop("tools")
        return
    if ranked and confidence(ranked, weighed, request.language) >= MIN_CONFIDENCE:
        yield Text(_answer(choose_passages(ranked), request.output_tokens))
    else:
        yield Text(f"{prompts.NO_ANSWER_HERE} [^{NO_SOURCE}]")
    yield Stop()


MIN_CONFIDENCE = 0.31
"""The least confidence with which it answers."""


def confidence(ranked: Sequence[Passage], weighed: Sequence[WeightedWord], language: str) -> float:
    """Give how much of the question the best passage and its section cover, from 0 to 1: its rarest words above all."""
    best = ranked[0]
    passage = TextTerms("\n".join(best.source.text[piece.start : piece.end] for piece in best.pieces), language)
    section = TextTerms("\n".join((*best.source.titles, best.source.text)), language)
    total = sum(one.weight**2 for one in weighed) or 1.0
    return sum(one.weight**2 * (passage.holds(one) + section.holds(one)) / 2 for one in weighed) / total


# What it has before it


@dataclass(slots=True)
class _Seen:
    """What the conversation holds: the question and the one before, all sections named, what was found and opened."""

    question: str = ""
    earlier: str = ""
    named: dict[str, str] = field(default_factory=dict)
    ranks: dict[str, float] = field(default_factory=dict)
    opened: dict[str, Source] = field(default_factory=dict)
    pinned: dict[str, int] = field(default_factory=dict)
    pinned_to: str = ""
    searched: bool = False
    rounds: int = 0

    def documents(self) -> list[str]:
        """Give all text that was seen, by section."""
        texts = dict(self.named)
        for source in self.opened.values():
            texts[source.id] = "\n".join((texts.get(source.id, ""), *source.titles, source.text))
        return list(texts.values())

    def sources(self) -> list[Source]:
        """Give the sections that were opened, with their ranks.

        What rules pin ranks before what was found, and has the words that it is pinned to among its titles.
        """
        order = {id_: rank for rank, id_ in enumerate(self.best(), 1 if self.pinned else 0)} | self.pinned
        ranked = [replace(source, rank=order.get(source.id, _UNRANKED)) for source in self.opened.values()]
        return [
            replace(source, titles=(self.pinned_to, *source.titles)) if source.id in self.pinned else source
            for source in ranked
        ]

    def best(self) -> list[str]:
        """Give the sections that searches found, best first."""
        return sorted(self.ranks, key=lambda id_: -self.ranks[id_])


_UNRANKED = 99
_LINE = re.compile(r"^\s*\[([0-9a-f]{8})\] (.+)$", re.MULTILINE)


def _seen(request: Request) -> _Seen:
    seen = _Seen()
    for turn in request.turns:
        if isinstance(turn, UserTurn):
            seen.earlier, seen.question = seen.question, turn.question
            seen.searched, seen.rounds, seen.ranks, seen.pinned = False, 0, {}, {}
            seen.named |= dict(_LINE.findall(turn.around))
        elif isinstance(turn, ToolTurn):
            for result in turn.results:
                _see(seen, result.result)
                if result.call.id == PINNED and isinstance(result.result, ExpandResult):
                    seen.pinned, seen.pinned_to = _ranks(result.result), _words(result.call)
            seen.rounds += 1
    if request.site:  # read whole: there is nothing to look for
        seen.opened |= {one.id: Source(one.id, one.breadcrumb, one.text) for one in request.site}
    else:
        seen.named = {**dict(_LINE.findall(request.outline)), **seen.named}
    return seen


def _see(seen: _Seen, result: object) -> None:
    if isinstance(result, SearchResults):
        seen.searched = True
        for rank, hit in enumerate(result.hits):
            seen.ranks[hit.id] = seen.ranks.get(hit.id, 0.0) + 1 / (_FUSED + rank)
            seen.named[hit.id] = f"{seen.named.get(hit.id, '')} {' '.join(hit.breadcrumb)} {hit.snippet}"
    elif isinstance(result, ExpandResult):
        for expansion in result.sections:
            for source in _sources(expansion):
                old = seen.opened.get(source.id)
                if old is None or expansion.part == 1:
                    seen.opened[source.id] = source
                else:
                    seen.opened[source.id] = replace(old, text=old.text + source.text)


def _words(call: ToolCall) -> str:
    """Give the words of the question that a call was made for."""
    return str(call.arguments.get("query", "")) if isinstance(call.arguments, dict) else ""


def _ranks(expanded: ExpandResult) -> dict[str, int]:
    """Give the sections that a call shows, or that stand open already, those of one expansion alike."""
    ranks = {listed.id: 0 for listed in expanded.already_open}
    for rank, opened in enumerate(expanded.sections):
        for shown in opened.shown:
            ranks.setdefault(shown.id, rank)
    return ranks


_FUSED = 20
_HEADING = re.compile(r"\A\s*(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)


def _sources(expansion: Expansion) -> Iterator[Source]:
    """Give what an expansion shows, each section under its titles; those inside are told by their headings."""
    above: list[tuple[int, str]] = []
    for shown in expansion.shown:
        if shown.id == expansion.id:
            yield Source(shown.id, expansion.breadcrumb, shown.text)
            continue
        heading = _HEADING.match(shown.text)
        level, title = (len(heading[1]), heading[2]) if heading else (7, "")
        while above and above[-1][0] >= level:
            above.pop()
        above.append((level, title))
        yield Source(shown.id, (*expansion.breadcrumb, *(name for _, name in above)), shown.text)


# What it does next


def _calls(seen: _Seen, weighed: Sequence[WeightedWord], ranked: Sequence[Passage], language: str) -> list[ToolCall]:
    turn = seen.rounds + 1
    if not seen.searched:
        queries = dict.fromkeys([seen.question, _other_words(weighed)])
        return [
            ToolCall(f"search-{turn}-{at}", "search_sections", {"query": query, "limit": 10})
            for at, query in enumerate(queries, 1)
            if query
        ]
    fresh = [id_ for id_ in seen.best() if id_ not in seen.opened]
    if not fresh or (ranked and confidence(ranked, weighed, language) >= _CLEAR):
        return []
    return [
        ToolCall(f"open-{turn}-{at // 4 + 1}", "expand_sections", {"ids": fresh[at : at + 4]})
        for at in range(0, min(len(fresh), _AT_ONCE), 4)
    ]


_CLEAR = 0.6
_AT_ONCE = 6


def _other_words(weighed: Sequence[WeightedWord]) -> str:
    """Give the words of the question that the site knows, and others that say the same."""
    words = [one.word.text for one in weighed if one.seen]
    words += [other.text for one in weighed for other in one.also[:3]]
    return " ".join(dict.fromkeys(words))


# What it says


def choose_passages(ranked: Sequence[Passage]) -> list[Passage]:
    """Choose one to four passages of one to three sections."""
    best = ranked[0]
    chosen = [best]
    for one in ranked[1:40]:
        sections = {other.source.id for other in chosen}
        if len(chosen) >= _MOST or one.score < best.score * _WORSE:
            break
        if one.source.id not in sections and len(sections) >= _SECTIONS:
            continue
        if any(one.source.id == other.source.id and set(one.pieces) & set(other.pieces) for other in chosen):
            continue
        chosen.append(one)
    return chosen


_MOST = 4
_SECTIONS = 3
_WORSE = 0.65


def _answer(chosen: Sequence[Passage], output_tokens: int) -> str:
    """Quote passages, each block with its citation, as far as the limit goes; the first one in any case."""
    said: list[str] = []
    left = output_tokens
    for id_ in dict.fromkeys(one.source.id for one in chosen):
        mine = [one for one in chosen if one.source.id == id_]
        for block in _cited(id_, quote_pieces(mine[0].source.text, [piece for one in mine for piece in one.pieces])):
            left -= estimate_tokens(block)
            if left >= 0 or not said:
                said.append(block)
    return "\n\n".join(said)


def _cited(id_: str, quotes: Sequence[Quote]) -> Iterator[str]:
    """Give quotes with their citation, a lead-in together with what it leads to."""
    lead = ""
    for at, quoted in enumerate(quotes):
        text = f"{lead}{quoted}"
        lead = ""
        if quoted.kind == "sentence" and at + 1 < len(quotes) and text.endswith((":", "：")):
            lead = f"{text}\n\n"
        else:
            yield f"{text}{' ' if quoted.kind == 'sentence' else _BELOW}[^{id_}]"


_BELOW = "\n\n"  # a mark on the line below a table would be a row of it
