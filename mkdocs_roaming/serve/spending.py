"""What an answer took, as far as anybody knows."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.events import Event, Finished, RoundStarted, TokensUsed
from mkdocs_roaming.answer.models import UNUSED, Model, Part, Request, Usage
from mkdocs_roaming.answer.models.failures import ModelError


@dataclass(frozen=True, slots=True)
class Made:
    """An answer that was made, however many heard it, and whether or not anybody did to its end (`whole`).

    `usage` is what the provider told of; it may have counted more where a reply broke off.
    """

    model: str
    usage: Usage
    counted: float | None
    """What `usage` costs; None without prices."""
    currency: str
    seconds: float
    whole: bool


class Watched:
    """A model, and whether its last reply was refused before anything was read: that one costs nothing."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.refused = False
        self._model = model

    async def reply(self, request: Request) -> AsyncGenerator[Part, None]:
        """Give the parts of a reply."""
        parts = self._model.reply(request)
        try:
            async for part in parts:
                yield part
        except ModelError as error:
            self.refused = error.unspent
            raise
        finally:
            close = getattr(parts, "aclose", None)
            if close is not None:
                await close()


def made(events: Sequence[Event], model: str, budget: Budget, seconds: float) -> Made:
    """Give what making an answer took."""
    usage, prices = _used(events), budget.prices
    return Made(
        model,
        usage,
        prices.cost(usage) if prices else None,
        prices.currency if prices else "",
        seconds,
        bool(events) and isinstance(events[-1], Finished),
    )


def cost_of(events: Sequence[Event], budget: Budget, *, most: float, refused: bool) -> float | None:
    """Give what an answer cost, None where nobody knows. `refused` is whether its last reply was: that one is free.

    What is known already to be more than `most` counts, whatever else is not known.
    """
    prices = budget.prices
    cost = None if prices is None else prices.cost(_used(events))
    if refused and prices is not None:
        cost = cost or 0.0
    known = _all_counted(events, refused=refused)
    return cost if known or (cost or 0.0) > most else None


def _used(events: Sequence[Event]) -> Usage:
    return sum((event.usage for event in events if isinstance(event, TokensUsed)), UNUSED)


def _all_counted(events: Sequence[Event], *, refused: bool) -> bool:
    """Tell whether every reply was counted and heard to its end: what one cost that broke off nobody knows."""
    end = events[-1] if events else None
    if not isinstance(end, Finished) or (end.state == "error" and not refused) or end.spent == "seconds":
        return False
    rounds: list[bool] = []
    for event in events:
        if isinstance(event, RoundStarted):
            rounds.append(False)
        elif isinstance(event, TokensUsed) and rounds:
            rounds[-1] = True
    return all(rounds[:-1] if refused else rounds)
