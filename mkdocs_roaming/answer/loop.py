"""The roaming loop: a model reads the outline, opens sections, and answers with citations, within a budget.

async with aclosing(answer("Which port is the default?", navigator, model)) as events:
    async for event in events:
        ...
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence

import anyio

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.conversation import called
from mkdocs_roaming.answer.events import Event
from mkdocs_roaming.answer.models import Model, Part
from mkdocs_roaming.answer.run import Ended, Exchange, Run
from mkdocs_roaming.roam.navigator import Navigator

__all__ = ["Budget", "Exchange", "answer"]


async def answer(
    question: str,
    navigator: Navigator,
    model: Model,
    *,
    page: str | None = None,
    opened: Sequence[str] = (),
    history: Sequence[Exchange] = (),
    budget: Budget | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> AsyncGenerator[Event, None]:
    """Answer a question by roaming; yields what happens, `Finished` last. Nothing but a cancellation is raised.

    `page` is where the reader is: an id, a path or a URL. `opened` are the ids of sections that an earlier answer of
    this conversation opened, `history` the earlier questions and answers: their sections stay open. Close the
    generator (`contextlib.aclosing`) where it may be left early; the model's reply is then broken off at once.
    """
    run = Run(question, navigator, model, budget or Budget(), clock)
    try:
        for event in await run.begin(page, opened, history):
            yield event
        while run.state is None:
            yield run.start_round()
            reply = run.ask()
            try:
                while (part := await run.part(reply)) is not None:
                    for event in run.take(part):
                        yield event
            finally:
                await _close(reply)
            for event in run.end_reply():
                yield event
            for call in run.calls:
                yield called(call)
                for event in await run.call(call):
                    yield event
            for event in run.end_round():
                yield event
    except Ended as ended:
        for event in run.end(ended):
            yield event
    yield await run.finished()


_log = logging.getLogger(__name__)
_CLOSING = 1.0  # seconds


async def _close(reply: AsyncIterator[Part]) -> None:
    """Break a reply off: its connection is closed even while we are being cancelled ourselves."""
    close = getattr(reply, "aclose", None)
    if close is None:
        return
    with anyio.move_on_after(_CLOSING, shield=True):
        try:
            await close()
        except Exception:
            _log.debug("closing a reply failed", exc_info=True)
