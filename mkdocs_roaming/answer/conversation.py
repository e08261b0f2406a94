"""The conversation with a model: its turns, what stands open in them, and what readers are told of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from mkdocs_roaming.answer.events import (
    Event,
    Reference,
    SectionAlreadyOpen,
    SectionMissing,
    SectionOpened,
    SectionsDropped,
    SectionsFound,
    ToolCalled,
    ToolCallRejected,
)
from mkdocs_roaming.answer.models.base import ToolCall, ToolResult, ToolTurn, Turn
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.tools import ExpandResult, SearchResults, ToolError, ToolOutput
from mkdocs_roaming.manifest.expand import Expansion, ListedSection
from mkdocs_roaming.text.tokenizer import estimate_tokens


@dataclass(frozen=True, slots=True)
class Exchange:
    """An earlier question and its answer, with its `[^id]` citations."""

    question: str
    answer: str


MAX_QUESTION_CHARS = 10_000
"""The most characters of a question: reading a longer one takes longer than an answer may."""


def check_question(text: str) -> None:
    """Raise UsageError for what is no question: told before anything is spent on it."""
    if not text.strip():
        raise UsageError("the question is empty; ask something")
    if len(text) > MAX_QUESTION_CHARS:
        raise UsageError(
            f"a question has at most {MAX_QUESTION_CHARS} characters, this one has {len(text)}; shorten it"
        )


@dataclass(slots=True)
class Conversation:
    """The turns so far, and which sections' text a model finds in them."""

    navigator: Navigator
    turns: list[Turn] = field(default_factory=list)
    tokens_read: int = 0
    looked_at: dict[str, None] = field(default_factory=dict)
    """The sections that were asked for and opened, in order."""
    _used: dict[str, tuple[int, int]] = field(default_factory=dict)  # open sections: when last opened or cited
    _time: int = 0

    def citable(self, name: str) -> str | None:
        """Give the id of a section that may be cited by this name: one that was opened, by its id or an alias."""
        place = self.navigator.sections.get(name.lower())
        return place.id if place is not None and place.id in self.navigator.opened else None

    def kept(self, opened: Sequence[str], history: Sequence[Exchange], most: int) -> list[str]:
        """Give which of the sections that earlier answers opened stay open: those cited last, then opened last."""
        places = self.navigator.sections
        cited: dict[str, int] = {}
        for time, exchange in enumerate(history, 1):
            cited |= dict.fromkeys(find_citations(exchange.answer), time)

        def used(id_: str) -> tuple[int, int]:
            place = places.get(id_)
            inside = [place.id, *(other.id for other in places.descendants(place))] if place else [id_]
            return max(cited.get(one, 0) for one in inside), cited.get(inside[0], 0)

        newest_first = list(dict.fromkeys(reversed(opened)))
        return sorted(newest_first, key=used, reverse=True)[:most]

    def cite(self, ids: Iterable[str]) -> None:
        """Remember that sections were cited just now, so they stay open longest."""
        self._time += 1
        self._used |= {id_: (self._time, 0) for id_ in ids if id_ in self._used}

    def results(self, results: Sequence[ToolResult]) -> None:
        """Add the tools' turn."""
        self.turns.append(ToolTurn(tuple(results)))
        self._time += 1
        for result in results:
            if isinstance(result.result, ExpandResult):
                for expansion in result.result.sections:
                    self.looked_at[expansion.id] = None
                    self.tokens_read += estimate_tokens(expansion.text)
                    for shown in expansion.shown:
                        self._used[shown.id] = (self._time, -len(self._used))

    def make_room(self, most: int) -> Iterator[Event]:
        """Close the sections used longest ago until at most `most` characters stand open.

        Of those opened together the first asked for stay longest. What is closed is listed, so it can be opened again.
        """
        dropped: list[str] = []
        for id_ in sorted(self._used, key=lambda id_: self._used[id_]):
            if self.navigator.open_chars() <= most:
                break
            self.navigator.drop([id_])
            dropped.append(id_)
        if dropped:
            for id_ in dropped:
                del self._used[id_]
            self.turns = [_without(turn, set(dropped), self._listed) for turn in self.turns]
            yield SectionsDropped(tuple(map(self.reference, dropped)))

    def reference(self, id_: str) -> Reference:
        """Give a section as readers are told of it; titles come from the manifest alone."""
        places = self.navigator.sections
        place = places.get(id_)
        if place is None:  # a nav group, or what only a model believes in
            group = places.get_group(id_)
            return Reference(id_, group.title if group else id_, (group.title,) if group else (), "")
        section = place.section
        return Reference(place.id, section.title, places.breadcrumb(place), places.url(place), section.tokens)

    def told(self, call: str, result: ToolOutput) -> Iterator[Event]:
        """Give the events of a tool's result."""
        match result:
            case ExpandResult():
                for expansion in result.sections:
                    yield self._opened(call, expansion)
                for listed in result.already_open:
                    yield SectionAlreadyOpen(call, self.reference(listed.id))
                for missing in result.missing:
                    yield SectionMissing(call, missing.id, tuple(self.reference(near.id) for near in missing.nearest))
            case SearchResults():
                found = tuple(self.reference(hit.id) for hit in result.hits)
                yield SectionsFound(call, result.query, found, result.words_only)
            case ToolError():
                yield ToolCallRejected(call, result.message)
            case _:
                pass

    def _opened(self, call: str, expansion: Expansion) -> SectionOpened:
        inside = dict.fromkeys(shown.id for shown in expansion.shown if shown.id != expansion.id)
        return SectionOpened(
            call,
            self.reference(expansion.id),
            tuple(map(self.reference, inside)),
            expansion.part,
            expansion.parts,
            estimate_tokens(expansion.text),
        )

    def _listed(self, id_: str) -> ListedSection:
        reference = self.reference(id_)
        return ListedSection(id_, reference.title, reference.tokens)


def describe_call(call: ToolCall) -> ToolCalled:
    """Give the event of a call: the ids or the query as the model wrote them, cut where they are endless."""
    arguments = call.arguments
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            arguments = {"ids": arguments}
    if not isinstance(arguments, dict):
        arguments = {"ids": arguments}
    query = arguments.get("query")
    wanted: list[object] = []
    for key in ("ids", "id", "section_id"):
        value = arguments.get(key)
        wanted += value if isinstance(value, list) else [value]
    ids = [id_ for text in wanted if isinstance(text, str) for id_ in text.replace(",", " ").split()]
    return ToolCalled(
        call.id,
        call.name if isinstance(call.name, str) else "",
        tuple(id_[:_LONGEST_ID] for id_ in ids[:_MOST_IDS]),
        query[:_LONGEST_QUERY] if isinstance(query, str) else "",
    )


def find_citations(text: str) -> list[str]:
    """Give the ids that an answer cites, in order, each once."""
    return list(dict.fromkeys(_CITATION.findall(text)))


_CITATION = re.compile(r"\[\^([0-9a-f]{8})\]")
_LONGEST_ID = 64
_LONGEST_QUERY = 400
_MOST_IDS = 16


def _without(turn: Turn, dropped: set[str], listed: Callable[[str], ListedSection]) -> Turn:
    """Give a turn in which the text of dropped sections gave way to their place in the list."""
    if not isinstance(turn, ToolTurn):
        return turn
    return ToolTurn(
        tuple(
            replace(
                result,
                result=replace(
                    result.result,
                    sections=tuple(_closed(expansion, dropped, listed) for expansion in result.result.sections),
                ),
            )
            if isinstance(result.result, ExpandResult)
            else result
            for result in turn.results
        )
    )


def _closed(expansion: Expansion, dropped: set[str], listed: Callable[[str], ListedSection]) -> Expansion:
    gone = dict.fromkeys(shown.id for shown in expansion.shown if shown.id in dropped)
    if not gone:
        return expansion
    return replace(
        expansion,
        shown=tuple(shown for shown in expansion.shown if shown.id not in gone),
        listed=(*map(listed, gone), *expansion.listed),
    )
