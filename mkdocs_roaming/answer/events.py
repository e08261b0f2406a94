"""The events of an answer, in order, and the complete answer.

Events contain everything that is needed to show them: sections come with title, breadcrumb and URL.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal

import msgspec
from msgspec import field, structs

from mkdocs_roaming.answer.models.base import NO_SOURCE, NO_USAGE, Usage
from mkdocs_roaming.answer.support.check import Support
from mkdocs_roaming.answer.support.passages import Passage
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef

AnswerState = Literal["answered", "partial", "results", "not_found", "unusable", "refused", "budget", "error"]
"""How an answer ended.

It is `partial` if the documentation answers a part, if uncited text was withheld, or if support is low; `results` if
no model wrote the text: it has the best sections, with the passage of each that matches; `not_found` if the model says
that the documentation does not answer; `unusable` if its reply cites nothing and says nothing of the kind, even when
it was asked again: readers get search results.
"""


@dataclass(frozen=True, slots=True)
class Reference:
    """A section as it is shown to readers; `tokens` is the estimated size of its own text.

    Example:
        ```python
        for source in mkdocs_roaming.ask(library, "How do I drain the harbour?").citations:
            print(source.id, " › ".join(source.breadcrumb), source.url)
        ```
    """

    id: str
    title: str
    breadcrumb: tuple[str, ...]
    url: str
    tokens: int = 0

    @classmethod
    def from_section(cls, sections: SectionIndex, ref: SectionRef) -> Reference:
        """Return the reference of a section; all its texts come from the manifest."""
        return cls(ref.id, ref.section.title, sections.breadcrumb(ref), sections.url(ref), ref.section.tokens)


class _Event(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    """The base of all events; encoded events name their class as `type`."""


class OutlineRead(_Event, frozen=True):
    """The model reads the outline of a site.

    Attributes:
        digest: Digest of the manifest.
        sections: Number of sections of the site.
        tokens: Estimated size of the outline.
    """

    digest: str
    sections: int
    tokens: int


class SiteRead(_Event, frozen=True):
    """The model reads the whole text of a small site; all sections count as opened.

    Attributes:
        digest: Digest of the manifest.
        sections: Number of sections of the site.
        tokens: Estimated size of the text.
    """

    digest: str
    sections: int
    tokens: int


class RoundStarted(_Event, frozen=True):
    """A request is sent to the model.

    Attributes:
        number: Number of the request, from 1.
        rounds: Maximum number of requests.
    """

    number: int
    rounds: int


class ToolCalled(_Event, frozen=True):
    """The model calls a tool.

    Attributes:
        call: Id of the call.
        name: The tool, as the model wrote it.
        ids: The ids that the call names, as the model wrote them.
        query: The search query.
    """

    call: str
    name: str
    ids: tuple[str, ...] = ()
    query: str = ""


class SectionsFound(_Event, frozen=True):
    """A search has results.

    Attributes:
        call: Id of the call.
        query: The search query.
        sections: The sections, best first.
        words_only: Whether the search by meaning was not available.
    """

    call: str
    query: str
    sections: tuple[Reference, ...]
    words_only: bool = False


class SectionOpened(_Event, frozen=True):
    """A section was opened.

    Attributes:
        call: Id of the call.
        section: The section.
        inside: The subsections that are shown with it.
        part: Number of the part of a long section, from 1.
        parts: Number of parts.
        tokens: Estimated size of the text shown.
    """

    call: str
    section: Reference
    inside: tuple[Reference, ...] = ()
    part: int = 1
    parts: int = 1
    tokens: int = 0


class SectionAlreadyOpen(_Event, frozen=True):
    """The model asked for a section that is already open; its text is not repeated.

    Attributes:
        call: Id of the call.
        section: The section.
    """

    call: str
    section: Reference


class SectionMissing(_Event, frozen=True):
    """The model asked for a section that does not exist.

    Attributes:
        call: Id of the call.
        id: The id, as the model wrote it.
        nearest: Sections with similar ids.
    """

    call: str
    id: str
    nearest: tuple[Reference, ...] = ()


class ToolCallRejected(_Event, frozen=True):
    """A call was not made: its arguments are invalid, or there is no room for its result.

    Attributes:
        call: Id of the call.
        message: The explanation for the model.
    """

    call: str
    message: str


class SectionsDropped(_Event, frozen=True):
    """Sections were closed to make room.

    Attributes:
        sections: The sections.
    """

    sections: tuple[Reference, ...]


class TextReleased(_Event, frozen=True):
    """A part of the answer.

    Attributes:
        text: Whole paragraphs with `[^id]` citations; all released texts joined are the answer. Without an answer, a
            sentence that says why, and results of a search if the model failed.
    """

    text: str


class SectionCited(_Event, frozen=True):
    """The text released last is the first to cite this section.

    Attributes:
        section: The section.
    """

    section: Reference


class CitationDropped(_Event, frozen=True):
    """A citation was removed: the model had not opened the section.

    Attributes:
        id: The id, as the model wrote it.
    """

    id: str


class TextWithheld(_Event, frozen=True):
    """A paragraph was withheld: neither it nor the next one cites an opened section.

    Attributes:
        characters: Length of the paragraph.
    """

    characters: int


class TokensUsed(_Event, frozen=True):
    """The provider counted tokens.

    Attributes:
        usage: The tokens since the previous event of this kind.
    """

    usage: Usage


class SupportChecked(_Event, frozen=True):
    """The answer was compared with the opened sections.

    Attributes:
        support: The result, or None; text that no model wrote is not checked.
        skipped: Why the check was not possible.
        passages: The passages that the answer cites.
    """

    support: Support | None
    skipped: str = ""
    passages: tuple[Passage, ...] = ()


@dataclass(frozen=True, slots=True)
class NotFound:
    """Sections to offer instead of an answer: the opened ones, and the best search results for the question."""

    looked_at: tuple[Reference, ...] = ()
    nearest: tuple[Reference, ...] = ()


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """How an answer ended, and what it took.

    Attributes:
        state: How the answer ended.
        model: Name of the model.
        rounds: Number of requests to the model.
        usage: All tokens.
        tokens_read: Estimated size of all sections that the model read.
        dropped_citations: Number of removed citations.
        withheld: Number of withheld paragraphs.
        spent: The limit that ended the answer: `rounds`, `output`, `seconds` or `cost`.
        error: What failed, in one line, for the operator.
        cause: What failed: `key`, `credit`, `rate`, `overload`, `failure`, `address`, `request`, `size`, `timeout`,
            `connection`, `format`, `site` or `model`; of an unusable reply `citations`, `empty` or `call`.
        message: Why there is no complete answer, for the reader, if the state is `unusable`, `budget` or `error`.
        retry_after: The pause in seconds that the provider asks for, if any.
        foreign_addresses: Number of addresses that no opened section, question or host of the site has: those in code,
            and those of removed links and images.
        not_found: Sections to offer if there is no answer and nothing failed.
        cost: The cost; None without prices or counted tokens.
        currency: Currency of the cost.
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
    cause: str = ""
    message: str = ""
    retry_after: float | None = None
    foreign_addresses: int = 0
    not_found: NotFound | None = None
    cost: float | None = None
    currency: str = ""


class Finished(Outcome, frozen=True, tag=True):
    """The last event: the outcome of the answer."""


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
    | SectionCited
    | CitationDropped
    | TextWithheld
    | TokensUsed
    | SupportChecked
    | Finished
)


class Answer(Outcome, frozen=True, kw_only=True, omit_defaults=False):
    """A complete answer.

    Example:
        ```python
        answer = mkdocs_roaming.ask(library, "How do I drain the harbour?")
        if answer.state in ("answered", "partial"):
            print(answer.text)
        elif answer.state == "error":
            print(answer.error)
        ```

    Attributes:
        text: The text with `[^id]` citations.
        citations: The cited sections, in the order of the text.
        steps: The opened sections, in order; empty if the whole site was read. Its name in JSON is `trail`.
        whole_site: Whether the model read the whole site.
        support: Result of the support check.
        support_skipped: Why the support check was not possible.
        passages: The passages that the answer cites.
    """

    text: str = ""
    citations: tuple[Reference, ...] = ()
    steps: tuple[Reference, ...] = field(name="trail", default=())
    whole_site: bool = False
    support: Support | None = None
    support_skipped: str = ""
    passages: tuple[Passage, ...] = ()

    @property
    def memory(self) -> str:
        """The text that follow-up questions may refer to; empty if the model wrote none."""
        if self.state == "error" or (self.message and self.text.startswith(self.message)):
            return ""
        return f"{self.text} [^{NO_SOURCE}]" if self.state == "not_found" else self.text


async def collect_answer(events: AsyncGenerator[Event, None]) -> Answer:
    """Return the complete answer of a stream of events; closes the stream, also on cancellation."""
    async with aclosing(events):
        return summarize([event async for event in events])


def summarize(events: Iterable[Event]) -> Answer:
    """Return the complete answer for the events so far; an error if the last one is not `Finished`."""
    text: list[str] = []
    cited: dict[str, Reference] = {}
    steps: dict[str, Reference] = {}
    whole_site = False
    check = SupportChecked(None)
    finished = Finished("error", "", error="the answer was interrupted")
    for event in events:
        match event:
            case SiteRead():
                whole_site = True
            case TextReleased():
                text.append(event.text)
            case SectionCited():
                cited.setdefault(event.section.id, event.section)
            case SectionOpened():
                steps.setdefault(event.section.id, event.section)
            case SupportChecked():
                check = event
            case Finished():
                finished = event
    return Answer(
        text="".join(text),
        citations=tuple(cited.values()),
        steps=tuple(steps.values()),
        whole_site=whole_site,
        support=check.support,
        support_skipped=check.skipped,
        passages=check.passages,
        **structs.asdict(finished),
    )
