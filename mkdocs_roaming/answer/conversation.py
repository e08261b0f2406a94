"""The conversation with a model: its turns, the sections that are open in them, and the model's reply to a request."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import anyio
import anyio.lowlevel

from mkdocs_roaming.answer.budget import Deadline, StopAnswer
from mkdocs_roaming.answer.commands import find_foreign
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
from mkdocs_roaming.answer.links import find_addresses, is_on_site, normalize_address
from mkdocs_roaming.answer.models.base import (
    AssistantTurn,
    Citation,
    Model,
    ModelRequest,
    Part,
    Stop,
    Text,
    ToolCall,
    ToolResult,
    ToolTurn,
    Turn,
    Usage,
    UserTurn,
)
from mkdocs_roaming.answer.models.reasoning import remove_reasoning
from mkdocs_roaming.answer.prompts import READING_SECTIONS, format_section, take_sections
from mkdocs_roaming.answer.support.check import CITATION
from mkdocs_roaming.errors import LibraryError, ModelError, UsageError
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.texts import LONG_ADDRESS, shorten_address
from mkdocs_roaming.library.tools import (
    ExpandResult,
    SearchResults,
    ToolError,
    ToolOutput,
    first_argument,
    parse_arguments,
    parse_expand_arguments,
)
from mkdocs_roaming.manifest.expand import ListedSection
from mkdocs_roaming.text.markdown import remove_invisible
from mkdocs_roaming.text.tokenizer import estimate_tokens

MAX_QUESTION_CHARS = 10_000
"""Maximum length of a question: to search with a longer one takes longer than an answer may."""

MAX_CALLS_PER_REPLY = 8

_MAX_SHOWN_ID_CHARS = 64
_MAX_SHOWN_IDS = 16
_MAX_SHOWN_QUERY_CHARS = 400
_MAX_CHARS_PER_TOKEN = 8
"""Twice the usual: the model itself keeps the exact limit."""

_ENDLESS_CALLS = 4 * MAX_CALLS_PER_REPLY
_CLOSE_SECONDS = 1.0
_JOINERS = "\u200c\u200d"


@dataclass(frozen=True, slots=True)
class Exchange:
    """An earlier question and its answer, with its `[^id]` citations."""

    question: str
    answer: str


def check_question(text: str) -> None:
    """Check a question before any money is spent on it.

    Raises:
        UsageError: The question is empty or too long.
    """
    if not text.strip():
        raise UsageError("the question is empty; ask something")
    if len(text) > MAX_QUESTION_CHARS:
        raise UsageError(f"the question has {len(text)} characters; shorten it to {MAX_QUESTION_CHARS}")


def find_citations(text: str) -> list[str]:
    """Return the ids that an answer cites, in order, without duplicates."""
    return list(dict.fromkeys(CITATION.findall(text)))


def describe_call(call: ToolCall) -> ToolCalled:
    """Return the event of a call; its arguments are shortened, and may be anything that a model writes."""
    ids, _ = parse_expand_arguments(call.arguments)
    shown = tuple(id_[:_MAX_SHOWN_ID_CHARS] for id_ in ids[:_MAX_SHOWN_IDS])
    query = first_argument(parse_arguments(call.arguments, "ids"), "query", "q")
    text = remove_invisible(query[:_MAX_SHOWN_QUERY_CHARS]) if isinstance(query, str) else ""
    return ToolCalled(call.id, call.name, shown, text)


@dataclass(slots=True)
class Conversation:
    """The turns so far, and the sections whose text a model finds in them.

    Attributes:
        navigator: Opens sections, and knows which are open.
        turns: The turns.
        history: The earlier questions and answers among them.
        tokens_read: Estimated size of all text that was opened.
        looked_at: The ids of the sections that were asked for and opened, in order.
    """

    navigator: Navigator
    turns: list[Turn] = field(default_factory=list)
    history: list[Exchange] = field(default_factory=list)
    tokens_read: int = 0
    looked_at: dict[str, None] = field(default_factory=dict)
    _last_used: dict[str, tuple[int, int]] = field(default_factory=dict)  # when an open section was opened or cited
    _time: int = 0
    _texts: dict[str, str] = field(default_factory=dict)  # of opened sections

    def start(self, history: Sequence[Exchange], max_tokens: int) -> None:
        """Begin with the latest questions and answers that fit; nothing is open."""
        self.navigator.drop(self.navigator.opened)
        self._last_used.clear()
        self.turns.clear()
        self.history.clear()
        for exchange in reversed(history):
            max_tokens -= estimate_tokens(f"{exchange.question}{exchange.answer}")
            if max_tokens < 0:
                break
            self.history.insert(0, exchange)
            self.turns[:0] = UserTurn(exchange.question), AssistantTurn(exchange.answer)

    def quote_results(self, start: int) -> None:
        """Replace a question with all calls and results after it by a question below the text of the opened sections.

        Args:
            start: Number of the question's turn.
        """
        asked = self.turns[start]
        assert isinstance(asked, UserTurn)
        texts = [READING_SECTIONS]
        for turn in self.turns[start:]:
            for result in turn.results if isinstance(turn, ToolTurn) else ():
                sections, _ = take_sections(result.result)
                texts += map(format_section, sections)
        if asked.context:
            texts.append(asked.context)
        self.turns[start:] = [UserTurn(asked.question, "\n\n".join(texts))]

    def add_results(self, results: Sequence[ToolResult]) -> None:
        """Add a tool turn."""
        self.turns.append(ToolTurn(tuple(results)))
        self._time += 1
        for tool_result in results:
            result = tool_result.result
            if isinstance(result, ExpandResult):
                self.looked_at.update(dict.fromkeys(expansion.id for expansion in result.sections))
            for expansion in result.sections if isinstance(result, ExpandResult | SearchResults) else ():
                self.tokens_read += estimate_tokens(expansion.text)
                for shown in expansion.shown:
                    self._last_used[shown.id] = (self._time, -len(self._last_used))

    @property
    def questions(self) -> str:
        """All questions of the reader."""
        return "\n".join(turn.question for turn in self.turns if isinstance(turn, UserTurn))

    def resolve_citation(self, name: str) -> str | None:
        """Return the id of the opened section with this id or alias, or None."""
        section = self.navigator.sections.get(name.lower())
        return section.id if section is not None and section.id in self.navigator.opened else None

    def find_url(self, id_: str) -> str | None:
        """Return the URL of the section with an id or alias, the address that an opened section shortens, or None."""
        if id_.endswith("…"):
            return self._find_shortened().get(id_)
        section = self.navigator.sections.get(id_)
        return self.navigator.sections.url(section) if section else None

    def knows_address(self, address: str) -> bool:
        """Return whether a link to an address may stay: it is on the site or in an opened section."""
        if is_on_site(address, self.navigator.library.manifest.site.url):
            return True
        normal = normalize_address(address)
        return any(normal in find_addresses(text) for text in self._read_opened())

    def find_foreign(self, text: str) -> list[tuple[int, int]]:
        """Return the spans of what the code of a text uses and neither site, opened sections nor questions name."""
        known = (*self._read_opened(), " ".join(self._find_shortened()))
        return find_foreign(text, known, self.questions, self.navigator.library.manifest.site.url)

    def _find_shortened(self) -> dict[str, str]:
        """Return the long addresses of opened sections by the form in which models read them."""
        addresses: dict[str, str] = {}
        for text in self._read_opened():
            for match in LONG_ADDRESS.finditer(text):
                addresses[shorten_address(match)] = match[0]
        return addresses

    def _read_opened(self) -> Iterator[str]:
        for section in filter(None, map(self.navigator.sections.get, self.navigator.opened)):
            if section.id not in self._texts:
                with suppress(LibraryError):
                    self._texts[section.id] = self.navigator.library.text(section)
        return filter(None, map(self._texts.get, self.navigator.opened))

    def mark_cited(self, ids: Iterable[str]) -> None:
        """Record that sections were cited now: they are closed last."""
        self._time += 1
        self._last_used |= {id_: (self._time, 0) for id_ in ids if id_ in self._last_used}

    def make_room(self, max_chars: int) -> Iterator[Event]:
        """Close the least recently used sections until the open ones have at most `max_chars` characters.

        Of sections that were opened together, the first ones stay open longest. In the turns, the text of a closed
        section is replaced by its entry in the list of closed sections, so that the model can open it again.
        """
        closed: dict[str, Reference] = {}
        for id_ in sorted(self._last_used, key=self._last_used.__getitem__):
            if self.navigator.open_chars() <= max_chars:
                break
            self.navigator.drop([id_])
            del self._last_used[id_]
            closed[id_] = self.make_reference(id_)
        if closed:
            self.turns = list(_drop_sections(self.turns, closed))
            yield SectionsDropped(tuple(closed.values()))

    def make_reference(self, id_: str) -> Reference:
        """Return a section as it is shown to readers."""
        sections = self.navigator.sections
        if section := sections.get(id_):
            return Reference.from_section(sections, section)
        if group := sections.get_group(id_):
            return Reference(id_, group.title, (group.title,), "")
        return Reference(id_, id_, (), "")

    def describe_result(self, call: str, result: ToolOutput) -> Iterator[Event]:
        """Yield the events of a tool result."""
        make_reference = self.make_reference
        if isinstance(result, ToolError):
            yield ToolCallRejected(call, result.message)
        if isinstance(result, SearchResults):
            hits = tuple(make_reference(hit.id) for hit in result.hits)
            yield SectionsFound(call, result.query, hits, result.words_only)
        for expansion in result.sections if isinstance(result, ExpandResult | SearchResults) else ():
            inside = dict.fromkeys(shown.id for shown in expansion.shown if shown.id != expansion.id)
            yield SectionOpened(
                call,
                make_reference(expansion.id),
                tuple(map(make_reference, inside)),
                expansion.part,
                expansion.parts,
                estimate_tokens(expansion.text),
            )
        if isinstance(result, ExpandResult):
            for listed in result.already_open:
                yield SectionAlreadyOpen(call, make_reference(listed.id))
            for missing in result.missing:
                nearest = tuple(make_reference(near.id) for near in missing.nearest)
                yield SectionMissing(call, missing.id, nearest)


def _drop_sections(turns: Iterable[Turn], dropped: Mapping[str, Reference]) -> Iterator[Turn]:
    """Yield turns in which the text of dropped sections is replaced by list entries; later replies lose their state."""
    is_changed = False
    for turn in turns:
        if isinstance(turn, ToolTurn):
            results = [ToolResult(result.call, _drop_from_result(result.result, dropped)) for result in turn.results]
            edited = ToolTurn(tuple(results))
            is_changed = is_changed or edited != turn
            yield edited
        elif isinstance(turn, AssistantTurn) and is_changed:
            yield replace(turn, provider_state=None)
        else:
            yield turn


def _drop_from_result(result: ToolOutput, dropped: Mapping[str, Reference]) -> ToolOutput:
    if not isinstance(result, ExpandResult | SearchResults):
        return result
    expansions = []
    for expansion in result.sections:
        closed = dict.fromkeys(shown.id for shown in expansion.shown if shown.id in dropped)
        shown = tuple(shown for shown in expansion.shown if shown.id not in closed)
        listed = [ListedSection(id_, dropped[id_].title, dropped[id_].tokens) for id_ in closed]
        expansions.append(replace(expansion, shown=shown, listed=(*listed, *expansion.listed)))
    return replace(result, sections=tuple(expansions))


class ModelReply:
    """The reply of a model to one request.

    Attributes:
        calls: The tool calls so far.
        stop: How the reply ended.
        is_endless: Whether the reply is far longer than its limit: then the rest is ignored.
    """

    def __init__(self, model: Model, request: ModelRequest, deadline: Deadline) -> None:
        """Prepare a request; `stream` sends it."""
        self.calls: list[ToolCall] = []
        self.stop = Stop()
        self.is_endless = False
        self._model = model
        self._request = request
        self._deadline = deadline
        self._text: list[str] = []
        self._text_length = 0
        self._last = ""  # the last character of the text
        self._joiner = ""  # an invisible character that joins it to the next one, if that may be joined

    @property
    def text(self) -> str:
        """The text so far, with native citations as `[^id]` and without inline reasoning."""
        return remove_reasoning("".join(self._text))

    async def stream(self) -> AsyncGenerator[Part, None]:
        """Yield the parts of the reply as they arrive.

        Raises:
            StopAnswer: The model failed, or the time is over.
        """
        try:
            parts = self._model.reply(self._request)
        except Exception as error:
            raise StopAnswer.from_error(error, self._model.name) from None

        try:
            while not self.is_endless:
                part = await self._deadline.run(lambda: self._read_part(parts), self._model.name)
                if part is None:
                    return
                yield part
        finally:  # the connection is closed, too, even if the answer is cancelled
            with anyio.move_on_after(_CLOSE_SECONDS, shield=True), suppress(Exception):
                await parts.aclose()  # type: ignore[attr-defined]  # an iterator of a plugin may have none

    async def _read_part(self, parts: AsyncIterator[Part]) -> Part | None:
        """Add the next part; return it without invisible characters, or None at the end."""
        await anyio.lowlevel.checkpoint()  # the deadline must also stop a model that never waits
        try:
            part = await anext(parts)
        except StopAsyncIteration:
            return None
        match part:
            case Text():
                self._text_length += len(part.text)
                text = remove_invisible(f"{self._last}{self._joiner}{part.text}é")[:-1]
                body = text.rstrip(_JOINERS)  # a joiner at the end waits for the character that it joins
                part = Text(body[len(self._last) :])
                self._joiner = text[len(body) :]
                self._last = body[-1:]
                self._text.append(part.text)
            case Citation():
                self._text.append(f"[^{part.id}]")
            case ToolCall():
                self.calls.append(part)
            case Stop():
                self.stop = part
            case Usage():
                pass
            case _:  # a model of another package
                raise ModelError(
                    f"{type(self._model).__qualname__} yielded {type(part).__name__}, expected a part of a reply: "
                    "Text, Citation, ToolCall, Usage or Stop; update the package of the model"
                )
        max_chars = self._request.output_tokens * _MAX_CHARS_PER_TOKEN
        self.is_endless = self._text_length > max_chars or len(self.calls) > _ENDLESS_CALLS
        return part
