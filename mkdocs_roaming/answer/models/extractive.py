"""The model `offline`: shows the closest passages of the documentation word for word, without a language model.

It searches, opens the sections that rank first, and quotes a passage of each. If search estimates that the site does
not fit the question, it declines. It sees what any model sees, the request with the results of its tools.
"""

from __future__ import annotations

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
from mkdocs_roaming.answer.models.passages import Quote, Source, choose_passages, quote_pieces, rank_passages
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.navigator import PREFETCH_CALL_ID
from mkdocs_roaming.library.relevance import MIN_CONFIDENCE
from mkdocs_roaming.library.rules import RULES_CALL_ID
from mkdocs_roaming.library.search import SearchResult, parse_query
from mkdocs_roaming.library.tools import ExpandResult, SearchResults
from mkdocs_roaming.text.languages import load_words
from mkdocs_roaming.text.tokenizer import (
    estimate_tokens,
    is_common_word,
    split_words,
)

_MAX_PASSAGES = 3
_MAX_OPENED = 6
_OPENED_PER_CALL = 3
_FOLLOW_UP_CONFIDENCE = 0.3  # a follow-up is more probably about the site, and has fewer words
_PINNED_SHARE = 100.0  # before all sections that search finds


class ExtractiveModel:
    """Quotes passages of the documentation with citations, or says that it does not answer."""

    name = "offline"

    @classmethod
    def from_config(cls, config: ModelConfig) -> ExtractiveModel:
        """Create the model for `offline`."""
        if config.name:
            raise UsageError(f"the model offline has no variants; choose offline, not offline:{config.name}")
        return cls()

    async def reply(self, request: Request) -> AsyncIterator[Part]:
        """Stream the next step: a search, sections to open, or the passages."""
        for part in compute_reply(request):
            yield part


def compute_reply(request: Request) -> Iterator[Part]:
    """Yield the reply to a request; equal requests have equal replies."""
    seen = _read_conversation(request)
    calls = _choose_calls(seen, request) if request.tools else []
    if calls:
        yield from calls
        yield Stop("tools")
        return
    blocks = list(_quote_passages(seen, request)) if seen.is_relevant else []
    if blocks:
        yield Text(_join_blocks(blocks, request.output_tokens))
        yield Stop("passages")
    else:
        yield Text(f"{prompts.NO_ANSWER} [^{NO_SOURCE}]")
        yield Stop()


def is_elliptic(question: str, language: str) -> bool:
    """Return whether a follow-up can only be understood with the question before it.

    It starts with a conjunction or a preposition, contains a pronoun, or has no subject of its own.
    """
    words = [word.lower() for word in split_words(question)]
    if words[:1] and words[0] in load_words(language, "answer.follow_up_openings"):
        return True
    if not load_words(language, "answer.follow_up_words").isdisjoint(words):
        return True
    return all(word.stop or is_common_word(word) for word in parse_query(question, language))


# What the conversation contains


@dataclass(slots=True)
class _Conversation:
    """What the model has seen.

    Attributes:
        query: The question; if it is elliptic, with the question before it.
        texts: The own texts of the opened sections by id.
        hits: The sections that were found, best first; None before the search.
        pinned: The ids of the sections that the site's rules opened for words of the question.
        confidence: How probably the site answers the question.
        opened: Whether sections were opened for the question.
        is_follow_up: Whether there is a question before it.
    """

    query: str = ""
    texts: dict[str, str] = field(default_factory=dict)
    hits: Sequence[SearchResult] | None = None
    pinned: tuple[str, ...] = ()
    confidence: float = 0.0
    opened: bool = False
    is_follow_up: bool = False

    @property
    def is_relevant(self) -> bool:
        """Whether the documentation probably answers the question."""
        least = _FOLLOW_UP_CONFIDENCE if self.is_follow_up else MIN_CONFIDENCE
        return self.confidence >= least or bool(self.pinned)

    def sources(self) -> list[Source]:
        """Return the opened sections that rules or the search found, best first."""
        hits = (self.hits or ())[:_MAX_OPENED]
        best = max((hit.score for hit in hits), default=0.0) or 1.0
        found = {hit.id: Source(hit.id, hit.breadcrumb, "", hit.score / best) for hit in hits}
        pinned = {id_: Source(id_, (), "", _PINNED_SHARE - rank) for rank, id_ in enumerate(self.pinned)}
        sources = (found | pinned).values()
        return [replace(source, text=self.texts[source.id]) for source in sources if source.id in self.texts]


def _read_conversation(request: Request) -> _Conversation:
    seen = _Conversation()
    question = ""
    for turn in request.turns:
        if isinstance(turn, UserTurn):
            elliptic = question and is_elliptic(turn.question, request.language)
            seen.query = f"{question} {turn.question}" if elliptic else turn.question
            seen.is_follow_up, question = bool(question), turn.question
            seen.hits, seen.pinned, seen.opened = None, (), False
        elif isinstance(turn, ToolTurn):
            for result in turn.results:
                _read_result(seen, result.call, result.result)
    return seen


def _read_result(seen: _Conversation, call: ToolCall, result: object) -> None:
    if isinstance(result, SearchResults | ExpandResult):
        shown = [section for expansion in result.sections if expansion.part == 1 for section in expansion.shown]
        seen.texts |= {section.id: section.text for section in shown}
    if isinstance(result, SearchResults):
        if call.id != PREFETCH_CALL_ID:  # whose query may contain the previous question
            seen.hits, seen.confidence = result.hits, result.confidence
    elif isinstance(result, ExpandResult):
        if call.id == RULES_CALL_ID:
            # Rules that apply to every question say nothing about this one.
            has_words = isinstance(call.arguments, dict) and call.arguments.get("query")
            ids = [section.id for expansion in result.sections for section in expansion.shown]
            seen.pinned = tuple(ids + [section.id for section in result.already_open]) if has_words else ()
        else:
            seen.opened = seen.hits is not None


# Tool calls


def _choose_calls(seen: _Conversation, request: Request) -> list[ToolCall]:
    """Return the next calls: a search, then the sections that it found."""
    if seen.hits is None:
        return [ToolCall("search", "search_sections", {"query": seen.query, "limit": 10})]
    # The best sections are opened last: if there is little room, the first ones are closed again.
    closed = [hit.id for hit in seen.hits[:_MAX_OPENED] if hit.id not in seen.texts][::-1]
    if seen.opened or not seen.is_relevant:
        return []
    return [
        ToolCall(f"open-{start // _OPENED_PER_CALL + 1}", "expand_sections", {"ids": closed[start : start + 3]})
        for start in range(0, len(closed), _OPENED_PER_CALL)
    ]


# The passages


def _quote_passages(seen: _Conversation, request: Request) -> Iterator[str]:
    """Yield the best passages in blocks with citations."""
    words = [word for word in parse_query(seen.query, request.language) if word.runs]
    chosen = choose_passages(rank_passages(seen.query, words, seen.sources(), request.language), _MAX_PASSAGES)
    for source in dict.fromkeys(passage.source for passage in chosen):
        pieces = [piece for passage in chosen if passage.source is source for piece in passage.pieces]
        yield from _cite_quotes(source.id, quote_pieces(source.text, pieces))


def _join_blocks(blocks: Sequence[str], output_tokens: int) -> str:
    """Join blocks within the limit; the first one is always included."""
    fitting = [blocks[0]]
    remaining = output_tokens - estimate_tokens(blocks[0])
    for block in blocks[1:]:
        remaining -= estimate_tokens(block)
        if remaining >= 0:
            fitting.append(block)
    return "\n\n".join(fitting)


def _cite_quotes(id_: str, quotes: Sequence[Quote]) -> Iterator[str]:
    """Yield quotes with their citation; a lead-in stays with the next quote."""
    lead = ""
    for position, quote in enumerate(quotes):
        text = f"{lead}{quote.text}"
        lead = ""
        if quote.kind == "sentence" and position + 1 < len(quotes) and text.endswith((":", "：")):
            lead = f"{text}\n\n"
        else:
            separator = " " if quote.kind == "sentence" else "\n\n"  # directly below a table it would be a row
            yield f"{text}{separator}[^{id_}]"
