"""Asking again where a provider fails for a while, as long as nothing was heard of the reply."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

import anyio

from mkdocs_roaming.answer.models import Part, Usage
from mkdocs_roaming.answer.models.failures import ModelError


async def trying(
    attempt: Callable[[], AsyncGenerator[Part, None]],
    *,
    retries: int,
    patience: float,
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
) -> AsyncGenerator[Part, None]:
    """Stream an attempt at a reply, or another one after a pause: as long as the provider asks, else a growing one."""
    tried, unspent = 0, True
    while True:
        heard = False
        try:
            async with aclosing(attempt()) as parts:
                async for part in parts:
                    heard = heard or not isinstance(part, Usage)
                    yield part
            return
        except ModelError as error:
            error.unspent = unspent = unspent and error.unspent
            if heard or not error.again or tried >= retries or (error.wait or 0.0) > patience:
                raise
            pause = _pause(tried) if error.wait is None else error.wait
        tried += 1
        await sleep(pause)


def _pause(tried: int) -> float:
    """Give a pause that grows, and differs from everybody else's."""
    return min(0.5 * 2.0**tried, 8.0) * random.uniform(0.75, 1.0)
