"""What happens during an answer, in order, and the answer that the events add up to.

Every event stands for itself: sections come with title, breadcrumb and address, taken from the manifest, so whoever
shows the trail looks nothing up.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal

from mkdocs_roaming.answer.models.base import NO_USAGE, Usage
from mkdocs_roaming.answer.support.check import Support

AnswerState = Literal["answered", "partial", "not_found", "refused", "budget", "error"]
"""How an answer ends: `partial` where the docs answer a part, or where text was withheld for want of a citation."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A section as readers are told of it; `tokens` estimates its own text."""

    id: str
    title: str
    breadcrumb: tuple[str, ...]
    url: str
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class OutlineRead:
    """The model has the outline of a site with this digest and so many sections before it."""

    digest: str
    sections: int
    tokens: int


@dataclass(frozen=True, slots=True)
class SiteRead:
    """The model has the whole text of a small site before it: all its sections count as opened."""

    digest: str
    sections: int
    tokens: int


@dataclass(frozen=True, slots=True)
class RoundStarted:
    """The model is asked for the `number`th time (from 1) of at most `rounds`."""

    number: int
    rounds: int


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """The model calls a tool: the ids that it names, or what it searches for, as it wrote them."""

    call: str
    name: str
    ids: tuple[str, ...] = ()
    query: str = ""


@dataclass(frozen=True, slots=True)
class SectionsFound:
    """A search gave these sections, best first; `words_only` where it should have gone by meaning too and could not."""

    call: str
    query: str
    sections: tuple[Reference, ...]
    words_only: bool = False


@dataclass(frozen=True, slots=True)
class SectionOpened:
    """A section was opened, with the subsections that fitted (`inside`); `tokens` estimates all the text shown."""

    call: str
    section: Reference
    inside: tuple[Reference, ...] = ()
    part: int = 1
    parts: int = 1
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class SectionAlreadyOpen:
    """A section was asked for that still stands open; nothing was shown again."""

    call: str
    section: Reference


@dataclass(frozen=True, slots=True)
class SectionMissing:
    """A section was asked for that does not exist; the nearest that do."""

    call: str
    id: str
    nearest: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolCallRejected:
    """A tool was called in a way that cannot be understood; the model was told what is right."""

    call: str
    message: str


@dataclass(frozen=True, slots=True)
class SectionsDropped:
    """These sections were closed again to make room."""

    sections: tuple[Reference, ...]


@dataclass(frozen=True, slots=True)
class TextReleased:
    """Text for the reader, whole paragraphs with `[^id]` citations; pieces joined up are the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class TextUnchecked:
    """Text of a model that was asked without the docs: nothing of it is from them, nothing is cited."""

    text: str


@dataclass(frozen=True, slots=True)
class SectionCited:
    """The text released last is the first to cite this section."""

    section: Reference


@dataclass(frozen=True, slots=True)
class CitationDropped:
    """The model cited what it had not opened; the citation was removed."""

    id: str


@dataclass(frozen=True, slots=True)
class TextWithheld:
    """A paragraph stayed with us: neither it nor the next one cites an opened section."""

    characters: int


@dataclass(frozen=True, slots=True)
class TokensUsed:
    """What the model's provider counted since the last such event."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class SupportChecked:
    """The released text was held against the opened sections; where that could not be done, `skipped` says why."""

    support: Support | None
    skipped: str = ""


@dataclass(frozen=True, slots=True)
class NotFound:
    """What there is to say where the docs did not answer: what was looked at, and what lies nearest."""

    looked_at: tuple[Reference, ...] = ()
    nearest: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event. `spent` names the budget that ended it (`rounds`, `output`, `seconds`, `cost`), `error` what
    failed.

    `not_found` is set wherever no text was released and nothing failed. `cost` is None where no prices are known or
    nothing was counted. `docs` is False where the model was asked without them.
    """

    state: AnswerState
    model: str
    rounds: int = 0
    usage: Usage = NO_USAGE
    tokens_read: int = 0
    dropped_citations: int = 0
    withheld: int = 0
    spent: str = ""
    error: str = ""
    not_found: NotFound | None = None
    cost: float | None = None
    currency: str = ""
    docs: bool = True


Event = (
    OutlineRead
    | SiteRead
    | RoundStarted
    | ToolCalled
    | SectionsFound
    | SectionOpened
    | SectionAlreadyOpen
    | SectionMissing
    | ToolCallRejected
    | SectionsDropped
    | TextReleased
    | TextUnchecked
    | SectionCited
    | CitationDropped
    | TextWithheld
    | TokensUsed
    | SupportChecked
    | Finished
)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as a whole. `citations` stand in the order of the text, `trail` holds the sections opened, in order.

    Where the `whole_site` was read there is no trail. Where `docs` is False, the text is not from the docs.
    """

    text: str
    state: AnswerState
    model: str
    citations: tuple[Reference, ...] = ()
    trail: tuple[Reference, ...] = ()
    rounds: int = 0
    usage: Usage = NO_USAGE
    tokens_read: int = 0
    dropped_citations: int = 0
    withheld: int = 0
    spent: str = ""
    error: str = ""
    not_found: NotFound | None = None
    cost: float | None = None
    currency: str = ""
    docs: bool = True
    whole_site: bool = False
    support: Support | None = None
    support_skipped: str = ""


async def collect_answer(events: AsyncGenerator[Event, None]) -> Answer:
    """Give the answer that the events add up to; closes them when it is cancelled."""
    async with aclosing(events):
        return summarize([event async for event in events])


def summarize(events: Iterable[Event]) -> Answer:
    """Give the answer that events already at hand add up to; the last one is `Finished`."""
    text: list[str] = []
    cited: dict[str, Reference] = {}
    trail: dict[str, Reference] = {}
    whole_site = False
    checked = SupportChecked(None)
    finished = Finished("error", "", error="the answer was broken off")
    for event in events:
        match event:
            case SiteRead():
                whole_site = True
            case TextReleased() | TextUnchecked():
                text.append(event.text)
            case SectionCited():
                cited.setdefault(event.section.id, event.section)
            case SectionOpened():
                trail.setdefault(event.section.id, event.section)
            case SupportChecked():
                checked = event
            case Finished():
                finished = event
            case _:
                pass
    return Answer(
        text="".join(text),
        state=finished.state,
        model=finished.model,
        citations=tuple(cited.values()),
        trail=tuple(trail.values()),
        rounds=finished.rounds,
        usage=finished.usage,
        tokens_read=finished.tokens_read,
        dropped_citations=finished.dropped_citations,
        withheld=finished.withheld,
        spent=finished.spent,
        error=finished.error,
        not_found=finished.not_found,
        cost=finished.cost,
        currency=finished.currency,
        docs=finished.docs,
        whole_site=whole_site,
        support=checked.support,
        support_skipped=checked.skipped,
    )
