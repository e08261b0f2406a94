"""The roaming loop: a model reads the outline, opens sections, and answers with citations, within a budget.

async with aclosing(answer("Which port is the default?", navigator, model)) as events:
    async for event in events:
        ...
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Sequence

from mkdocs_roaming.answer.budget import Budget, Deadline, Prices
from mkdocs_roaming.answer.conversation import Exchange, called
from mkdocs_roaming.answer.ending import Ended
from mkdocs_roaming.answer.events import Event
from mkdocs_roaming.answer.models import Model
from mkdocs_roaming.answer.run import Run
from mkdocs_roaming.answer.whole import WHOLE_SITE
from mkdocs_roaming.roam.navigator import Navigator

__all__ = ["WHOLE_SITE", "Budget", "Exchange", "Prices", "answer"]


async def answer(
    question: str,
    navigator: Navigator,
    model: Model,
    *,
    page: str | None = None,
    opened: Sequence[str] = (),
    history: Sequence[Exchange] = (),
    budget: Budget | None = None,
    whole_site_tokens: int = WHOLE_SITE,
    clock: Callable[[], float] = time.monotonic,
    deadline: Deadline | None = None,
) -> AsyncGenerator[Event, None]:
    """Answer a question by roaming; yields what happens, `Finished` last. Nothing but a cancellation is raised.

    `page` is where the reader is: an id, a path or a URL. `opened` are the ids of sections that earlier answers of
    this conversation opened, `history` the earlier questions and answers: their sections stay open. A site of fewer
    than `whole_site_tokens` estimated tokens is read whole instead of being roamed; 0 never does. Close the generator
    (`contextlib.aclosing`) where it may be left early; the model's reply is then broken off at once.
    """
    budget = budget or Budget()
    run = Run(question, navigator, model, budget, deadline or Deadline(budget.seconds, clock))
    try:
        for event in await run.begin(page, opened, history, whole_site_tokens):
            yield event
        while run.state is None:
            yield run.start_round()
            reply = run.ask()
            try:
                while (part := await reply.part()) is not None:
                    for event in run.take(part):
                        yield event
            finally:
                await reply.close()
            for event in run.end_reply():
                yield event
            await run.fetch()
            for call in run.calls:
                yield called(call)
                for event in await run.call(call):
                    yield event
            for event in run.end_round():
                yield event
    except Ended as ended:
        for event in run.end(ended):
            yield event
    for event in await run.check():
        yield event
    yield await run.finished()
