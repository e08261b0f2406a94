"""What follows the text of a model: the support check, the cited passages, and the event `Finished`."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Iterable

import anyio

from mkdocs_roaming.answer.budget import StopAnswer, run_in_thread
from mkdocs_roaming.answer.conversation import find_citations
from mkdocs_roaming.answer.events import Event, Finished, NotFound, Reference, SupportChecked
from mkdocs_roaming.answer.models.base import UserTurn
from mkdocs_roaming.answer.prepare import Run
from mkdocs_roaming.answer.support.check import (
    LOW_SUPPORT,
    Support,
    check_support,
    mark_addresses,
)
from mkdocs_roaming.answer.support.passages import MAX_CITED_CHARS, CitedSection, Passage, find_passages
from mkdocs_roaming.library.search import Hit
from mkdocs_roaming.manifest.lookup import SectionRef

_MAX_NEAREST = 5
_MAX_UNSPECIFIC = 3  # nearest sections without a rare word of the question
_NEAREST_SECONDS = 3.0  # also builds the search index if nothing was searched before
_log = logging.getLogger(__name__)


async def check_answer(run: Run) -> AsyncGenerator[Event, None]:
    """Compare the answer with all sections that were opened for it, and find the passages that it cites."""
    text = run.text.text
    library = run.navigator.library
    index = run.navigator.sections
    if run.state == "results":  # quoted word for word
        yield SupportChecked(None, passages=await _find_passages(run))
        return

    def check() -> Support:
        site = library.manifest.site
        opened = filter(None, map(index.get, run.navigator.opened))
        return check_support(
            text,
            {one.id: f"{' › '.join((site.name, *index.breadcrumb(one)))}\n\n{library.text(one)}" for one in opened},
            question="\n".join(turn.question for turn in run.conversation.turns if isinstance(turn, UserTurn)),
            language=site.language,
            foreign=run.text.foreign_addresses,
        )

    try:
        support = await run.read(check)
    except StopAnswer as stop:
        foreign = run.text.foreign_addresses  # marked in any case
        reason = stop.error or "no time was left"
        yield SupportChecked(mark_addresses(text, foreign) if foreign else None, reason, await _find_passages(run))
        return
    if run.state == "answered" and support.score < LOW_SUPPORT:
        run.state = "partial"
    yield SupportChecked(support, passages=await _find_passages(run))


async def _find_passages(run: Run) -> tuple[Passage, ...]:
    """Return the passages that the answer cites; none if there is no time left or the site cannot be read."""
    index = run.navigator.sections
    library = run.navigator.library

    def join(sections: Iterable[SectionRef]) -> str:
        text = ""
        for section in sections:
            text += library.text(section) + "\n\n"
            if len(text) > MAX_CITED_CHARS:
                break
        return text[: MAX_CITED_CHARS + 1]

    def find() -> tuple[Passage, ...]:
        cited: dict[str, CitedSection] = {}
        for section in filter(None, map(index.get, find_citations(run.text.text))):
            earlier = (SectionRef(section.page, position) for position in range(section.position))
            cited[section.id] = CitedSection(join([section, *index.descendants(section)]), join(earlier))
        return tuple(find_passages(run.text.text, cited, library.manifest.site.language))

    try:
        return await run.read(find)
    except StopAnswer:
        return ()


async def finish(run: Run) -> Finished:
    """Return the last event of an answer that has ended."""
    assert run.state is not None
    prices = run.budget.prices
    stop = run.stop or StopAnswer("refused")
    foreign = run.text.removed_links + len(await run_in_thread(lambda: run.text.foreign_addresses))
    has_answer = run.state in ("answered", "partial", "results", "error") or (
        run.state == "budget" and bool(run.text.text)
    )
    return Finished(
        state=run.state,
        model=run.model.name,
        rounds=run.round,
        usage=run.usage,
        tokens_read=run.conversation.tokens_read,
        dropped_citations=len(run.text.dropped),
        withheld=len(run.text.withheld),
        spent=stop.spent,
        error=stop.error,
        cause=stop.cause,
        message=stop.explain(has_text=bool(run.text.text)) if stop.state != "refused" else "",
        retry_after=stop.retry_after,
        foreign_addresses=foreign,
        not_found=None if has_answer else await _describe_not_found(run),
        cost=prices.cost(run.usage) if prices else None,
        currency=prices.currency if prices else "",
    )


async def _describe_not_found(run: Run) -> NotFound:
    """Return the opened sections, and the nearest ones: those with a rare word of the question, else the best ones.

    Searching may take a moment even if the time is over.
    """
    make_reference = run.conversation.make_reference
    search = run.navigator.search
    nearest: tuple[Reference, ...] = ()

    def find() -> list[Hit]:
        query = "" if run.note else run.question  # the words of another language say nothing
        return search.find_specific(query, limit=_MAX_NEAREST) or search.find(query, limit=_MAX_UNSPECIFIC)

    with anyio.move_on_after(_NEAREST_SECONDS):
        try:
            found = await run_in_thread(find)
        except Exception:
            _log.debug("cannot find the nearest sections", exc_info=True)
        else:
            nearest = tuple(make_reference(hit.section.id) for hit in found)
    return NotFound(tuple(map(make_reference, run.conversation.looked_at)), nearest)
