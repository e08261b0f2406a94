"""The model `offline`: searches, opens sections and quotes the best passages word for word, without a language model.

It sees what any model sees, the request with the results of its tools, and needs no key and no network.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.models.base import (
    NO_SOURCE,
    ModelConfig,
    Part,
    Request,
    Stop,
    Text,
    ToolCall,
    ToolTurn,
    UserTurn,
)
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
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.navigator import PREFETCH_CALL_ID
from mkdocs_roaming.library.rules import RULES_CALL_ID
from mkdocs_roaming.library.tools import ExpandResult, SearchResults
from mkdocs_roaming.manifest.expand import Expansion
from mkdocs_roaming.text.tokenizer import estimate_tokens

MIN_CONFIDENCE = 0.31
"""Below this confidence the model says that the documentation does not answer."""

_HIGH_CONFIDENCE = 0.6  # no further sections are opened
_MAX_OPENED_PER_ROUND = 6
_MAX_PASSAGES = 4
_MAX_SECTIONS = 3
_MIN_RELATIVE_SCORE = 0.65
_UNRANKED = 99
_FUSION_CONSTANT = 20  # as in reciprocal rank fusion

_OUTLINE_LINE = re.compile(r"^\s*\[([0-9a-f]{8})\] (.+)$", re.MULTILINE)
_HEADING = re.compile(r"\A\s*(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)


class ExtractiveModel:
    """Answers with cited passages of the documentation, or says that it does not answer."""

    name = "offline"

    @classmethod
    def from_config(cls, config: ModelConfig) -> ExtractiveModel:
        """Create the model for `offline`."""
        if config.name:
            raise UsageError(f"the model offline has no variants; choose offline, not offline:{config.name}")
        return cls()

    async def reply(self, request: Request) -> AsyncIterator[Part]:
        """Stream the next step: a search, sections to open, or the answer."""
        for part in compute_reply(request):
            yield part


def compute_reply(request: Request) -> Iterator[Part]:
    """Yield the reply to a request; equal requests have equal replies."""
    seen = _read_conversation(request)
    words = weigh_words(seen.question, seen.earlier, seen.documents(), request.language)
    ranked = rank_passages(seen.question, words, seen.sources(), request.language)
    calls = _choose_calls(seen, words, ranked, request.language) if request.tools else []
    if calls:
        yield from calls
        yield Stop("tools")
        return
    if ranked and estimate_confidence(ranked[0], words, request.language) >= MIN_CONFIDENCE:
        yield Text(_write_answer(choose_passages(ranked), request.output_tokens))
    else:
        yield Text(f"{prompts.NO_ANSWER} [^{NO_SOURCE}]")
    yield Stop()


def estimate_confidence(best: Passage, words: Sequence[WeightedWord], language: str) -> float:
    """Return how much of the question a passage and its section cover, from 0 to 1; rare words count most."""
    passage = TextTerms("\n".join(best.source.text[piece.start : piece.end] for piece in best.pieces), language)
    section = TextTerms("\n".join((*best.source.titles, best.source.text)), language)
    total = sum(word.weight**2 for word in words) or 1.0
    return sum(word.weight**2 * (passage.match(word) + section.match(word)) / 2 for word in words) / total


# What the conversation contains


@dataclass(slots=True)
class _Conversation:
    """What the model has seen.

    Attributes:
        question: The question.
        earlier: The question before it.
        mentions: Text of outlines and search results about each section.
        search_scores: Fused ranks of the sections that were found.
        opened: The sections that were opened.
        pinned: Ranks of the sections that the site's rules opened.
        pinned_by: The words of the question that triggered the rules.
        searched: Whether a search was made for this question.
        rounds: Number of tool turns for this question.
    """

    question: str = ""
    earlier: str = ""
    mentions: dict[str, str] = field(default_factory=dict)
    search_scores: dict[str, float] = field(default_factory=dict)
    opened: dict[str, Source] = field(default_factory=dict)
    pinned: dict[str, int] = field(default_factory=dict)
    pinned_by: str = ""
    searched: bool = False
    rounds: int = 0

    def documents(self) -> list[str]:
        """Return all text that was seen, by section."""
        texts = dict(self.mentions)
        for source in self.opened.values():
            texts[source.id] = "\n".join((texts.get(source.id, ""), *source.titles, source.text))
        return list(texts.values())

    def sources(self) -> list[Source]:
        """Return the opened sections with their ranks; pinned sections are first.

        The words that triggered a rule count as a title: they need not be in the section.
        """
        ranks = {id_: rank for rank, id_ in enumerate(self.search_order(), 1 if self.pinned else 0)} | self.pinned
        sources = [replace(source, rank=ranks.get(source.id, _UNRANKED)) for source in self.opened.values()]
        return [
            replace(source, titles=(self.pinned_by, *source.titles)) if source.id in self.pinned else source
            for source in sources
        ]

    def search_order(self) -> list[str]:
        """Return the sections that were found, best first."""
        return sorted(self.search_scores, key=lambda id_: -self.search_scores[id_])


def _read_conversation(request: Request) -> _Conversation:
    seen = _Conversation()
    for turn in request.turns:
        if isinstance(turn, UserTurn):
            seen.earlier, seen.question = seen.question, turn.question
            seen.searched, seen.rounds, seen.search_scores, seen.pinned = False, 0, {}, {}
            seen.mentions |= dict(_OUTLINE_LINE.findall(turn.context))
        elif isinstance(turn, ToolTurn):
            for result in turn.results:
                _read_result(seen, result.result)
                seen.searched |= result.call.id != PREFETCH_CALL_ID and isinstance(result.result, SearchResults)
                if result.call.id == RULES_CALL_ID and isinstance(result.result, ExpandResult):
                    seen.pinned, seen.pinned_by = _rank_pinned(result.result), _query_argument(result.call)
            seen.rounds += 1
    if request.site:
        seen.opened |= {section.id: Source(section.id, section.breadcrumb, section.text) for section in request.site}
    else:
        seen.mentions = {**dict(_OUTLINE_LINE.findall(request.outline)), **seen.mentions}
    return seen


def _read_result(seen: _Conversation, result: object) -> None:
    if isinstance(result, SearchResults):
        for rank, hit in enumerate(result.hits):
            seen.search_scores[hit.id] = seen.search_scores.get(hit.id, 0.0) + 1 / (_FUSION_CONSTANT + rank)
            seen.mentions[hit.id] = f"{seen.mentions.get(hit.id, '')} {' '.join(hit.breadcrumb)} {hit.snippet}"
    if isinstance(result, ExpandResult | SearchResults):
        for expansion in result.sections:
            for source in _read_sources(expansion):
                earlier = seen.opened.get(source.id)
                if earlier is None or expansion.part == 1:
                    seen.opened[source.id] = source
                else:
                    seen.opened[source.id] = replace(earlier, text=earlier.text + source.text)


def _query_argument(call: ToolCall) -> str:
    return str(call.arguments.get("query", "")) if isinstance(call.arguments, dict) else ""


def _rank_pinned(result: ExpandResult) -> dict[str, int]:
    """Return the ranks of all sections that a call shows or that are open already; equal within one expansion."""
    ranks = {listed.id: 0 for listed in result.already_open}
    for rank, expansion in enumerate(result.sections):
        for shown in expansion.shown:
            ranks.setdefault(shown.id, rank)
    return ranks


def _read_sources(expansion: Expansion) -> Iterator[Source]:
    """Yield the sections that an expansion shows, each with the titles above it, taken from their headings."""
    parents: list[tuple[int, str]] = []
    for shown in expansion.shown:
        if shown.id == expansion.id:
            yield Source(shown.id, expansion.breadcrumb, shown.text)
            continue
        heading = _HEADING.match(shown.text)
        level, title = (len(heading[1]), heading[2]) if heading else (7, "")
        while parents and parents[-1][0] >= level:
            parents.pop()
        parents.append((level, title))
        yield Source(shown.id, (*expansion.breadcrumb, *(name for _, name in parents)), shown.text)


# Tool calls


def _choose_calls(
    seen: _Conversation, words: Sequence[WeightedWord], ranked: Sequence[Passage], language: str
) -> list[ToolCall]:
    round_number = seen.rounds + 1
    if not seen.searched:
        queries = dict.fromkeys([seen.question, _expand_query(words)])
        return [
            ToolCall(f"search-{round_number}-{number}", "search_sections", {"query": query, "limit": 10})
            for number, query in enumerate(queries, 1)
            if query
        ]
    closed = [id_ for id_ in seen.search_order() if id_ not in seen.opened]
    if not closed or (ranked and estimate_confidence(ranked[0], words, language) >= _HIGH_CONFIDENCE):
        return []
    return [
        ToolCall(f"open-{round_number}-{start // 4 + 1}", "expand_sections", {"ids": closed[start : start + 4]})
        for start in range(0, min(len(closed), _MAX_OPENED_PER_ROUND), 4)
    ]


def _expand_query(words: Sequence[WeightedWord]) -> str:
    """Return the known words of the question, and synonyms of all its words."""
    texts = [word.word.text for word in words if word.known]
    texts += [synonym.text for word in words for synonym in word.synonyms[:3]]
    return " ".join(dict.fromkeys(texts))


# The answer


def choose_passages(ranked: Sequence[Passage]) -> list[Passage]:
    """Return one to four passages of one to three sections."""
    best = ranked[0]
    chosen = [best]
    for passage in ranked[1:40]:
        sections = {other.source.id for other in chosen}
        if len(chosen) >= _MAX_PASSAGES or passage.score < best.score * _MIN_RELATIVE_SCORE:
            break
        if passage.source.id not in sections and len(sections) >= _MAX_SECTIONS:
            continue
        if any(passage.source.id == other.source.id and set(passage.pieces) & set(other.pieces) for other in chosen):
            continue
        chosen.append(passage)
    return chosen


def _write_answer(passages: Sequence[Passage], output_tokens: int) -> str:
    """Quote passages with citations, within the limit; the first one always."""
    blocks: list[str] = []
    remaining = output_tokens
    for id_ in dict.fromkeys(passage.source.id for passage in passages):
        same = [passage for passage in passages if passage.source.id == id_]
        quotes = quote_pieces(same[0].source.text, [piece for passage in same for piece in passage.pieces])
        for block in _cite_quotes(id_, quotes):
            remaining -= estimate_tokens(block)
            if remaining >= 0 or not blocks:
                blocks.append(block)
    return "\n\n".join(blocks)


def _cite_quotes(id_: str, quotes: Sequence[Quote]) -> Iterator[str]:
    """Yield quotes with their citation; a lead-in stays with the next quote."""
    lead = ""
    for position, quote in enumerate(quotes):
        text = f"{lead}{quote}"
        lead = ""
        if quote.kind == "sentence" and position + 1 < len(quotes) and text.endswith((":", "：")):
            lead = f"{text}\n\n"
        else:
            separator = " " if quote.kind == "sentence" else "\n\n"  # directly below a table it would be a row
            yield f"{text}{separator}[^{id_}]"
