"""Limits of an answer: rounds, text, tokens, time and money; how an answer stops early; and abandonable threads."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import tomllib
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Annotated, Literal, TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar
from msgspec import Meta

from mkdocs_roaming.answer.models.base import NO_USAGE, Usage
from mkdocs_roaming.errors import (
    ContextError,
    LibraryError,
    ModelError,
    RoamingError,
    ToolsUnsupportedError,
    UsageError,
)
from mkdocs_roaming.settings import MAX_NUMBER
from mkdocs_roaming.text.markdown import remove_invisible

T = TypeVar("T")

SMALL_SITE_TOKENS = 8_000
"""A site with fewer estimated tokens is read whole: this is the size of an outline."""

Price = Annotated[float, Meta(ge=0, le=MAX_NUMBER)]

TOKENS_PER_PRICE = 1_000_000
CHARS_PER_TOKEN = 4
_LARGEST_PROMPT_TOKENS = 2 * SMALL_SITE_TOKENS
"""An outline of full size, rules and tools."""

_MAX_SECONDS = 86_400
_MAX_ERROR_CHARS = 1_000
_MAX_FOREIGN_ERROR_CHARS = 200
_MINUTE = 60
_DATE_OF_MODEL = re.compile(r"-(\d{8}|\d{4}-\d\d-\d\d)$")
"""What providers append to the name of a model: `claude-haiku-4-5-20251001`, `gpt-4o-2024-08-06`."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of a model for a million tokens."""

    input: Price = 0.0
    cache_read: Price = 0.0
    cache_write: Price = 0.0
    output: Price = 0.0
    currency: str = "USD"

    @property
    def is_free(self) -> bool:
        """Whether all prices are 0."""
        return self == Prices(currency=self.currency)

    def cost(self, usage: Usage) -> float | None:
        """Return the cost of a usage, or None if nothing was counted."""
        if usage == NO_USAGE:
            return None
        prompt = usage.input * self.input + usage.cache_read * self.cache_read + usage.cache_write * self.cache_write
        return (prompt + usage.output * self.output) / TOKENS_PER_PRICE


@cache
def load_known_prices() -> tuple[str, dict[str, Prices]]:
    """Return the prices of hosted models by name, and the date of these prices."""
    data = tomllib.loads((resources.files("mkdocs_roaming") / "answer/models/prices.toml").read_text("utf-8"))
    return data["date"], {model: Prices(*prices) for model, prices in data["models"].items()}


def find_known_prices(model: str) -> Prices | None:
    """Return the built-in prices of a hosted model; None for an unknown one. A date in its name is ignored."""
    return load_known_prices()[1].get(_DATE_OF_MODEL.sub("", model))


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one answer.

    Attributes:
        rounds: Maximum number of model calls.
        open_chars: Maximum number of characters of all open sections.
        output_tokens: Maximum length of a reply.
        seconds: Maximum time.
        cost: Maximum cost, counted with `prices`. It is checked between replies, so that an answer may cost up to one
            reply more.
        prices: Prices of the model.
        whole_site_tokens: A site with fewer estimated tokens is read whole, without an outline and tools.
    """

    rounds: Annotated[int, Meta(ge=1, description="Maximum number of model calls.")] = 4
    open_chars: Annotated[int, Meta(ge=1)] = 60_000
    output_tokens: Annotated[int, Meta(ge=1)] = 700
    seconds: Annotated[float, Meta(gt=0, le=_MAX_SECONDS, description="Maximum time in seconds.")] = 45.0
    cost: Annotated[float, Meta(gt=0, le=MAX_NUMBER)] | None = None
    prices: Prices | None = None
    whole_site_tokens: Annotated[int, Meta(ge=0, description="Read sites below this size whole; 0 disables it.")] = (
        SMALL_SITE_TOKENS
    )

    def __post_init__(self) -> None:
        """Check that costs can be counted."""
        if self.cost is not None and self.prices is None:
            raise UsageError("a budget with a cost needs prices for a million tokens")

    @property
    def highest_cost(self) -> float | None:
        """What all replies about a large site cost at most; None without prices.

        The requests have replies and open sections of maximum size, and the first one finds nothing in the provider's
        cache. Thinking of the model is not included.
        """
        if self.prices is None:
            return None
        prices = replace(  # 0 is the default, not a price
            self.prices,
            cache_read=self.prices.cache_read or self.prices.input,
            cache_write=self.prices.cache_write or self.prices.input,
        )
        growth = self.output_tokens + self.open_chars // CHARS_PER_TOKEN // max(self.rounds - 1, 1)
        usage = Usage(cache_write=_LARGEST_PROMPT_TOKENS, output=self.output_tokens)
        size = _LARGEST_PROMPT_TOKENS
        for _ in range(self.rounds - 1):
            usage += Usage(cache_read=size, cache_write=growth, output=self.output_tokens)
            size += growth
        return prices.cost(usage)

    def describe_price(self) -> str:
        """Return in words what a question costs at most."""
        if self.prices is None:
            return "an unknown amount"
        return f"up to {format_money(self.highest_cost or 0.0)} {self.prices.currency}"

    def spent_share(self, usage: Usage) -> float:
        """Return the share of the maximum cost that a usage spends; 0 without a maximum, more than 1 beyond it."""
        if self.cost is None or self.prices is None:
            return 0.0
        return (self.prices.cost(usage) or 0.0) / self.cost


def format_money(amount: float) -> str:
    """Return an amount with two significant digits, at least two decimals."""
    if amount >= 1 or not amount:
        return f"{amount:.2f}"
    exponent = min(int(f"{amount:e}".partition("e")[2]), -1)
    return f"{amount:.{1 - exponent}f}"


# Time


class Deadline:
    """The end of an answer's time.

    Attributes:
        seconds: The time from the start to the end.
    """

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        """Start the time; `clock` returns seconds, as `time.monotonic` does."""
        self.seconds = seconds
        self._clock = clock
        self._end = clock() + seconds

    @property
    def used_share(self) -> float:
        """The share of the time that is over; more than 1 beyond the end."""
        remaining = self._end - self._clock()
        return 1 - remaining / self.seconds

    async def run(self, operation: Callable[[], Awaitable[T]], source: str) -> T:
        """Await an operation; cancel it at the end of the time.

        Args:
            operation: The operation.
            source: What it does or who does it, for the message of an error.

        Raises:
            StopAnswer: The operation failed, or the time was over before the result.
        """
        remaining = self._end - self._clock()
        if remaining <= 0:
            raise StopAnswer("budget", spent="seconds")
        try:
            with anyio.move_on_after(remaining):
                return await operation()
        except StopAnswer:
            raise
        except Exception as error:
            raise StopAnswer.from_error(error, source) from None
        raise StopAnswer("budget", spent="seconds")


@dataclass(eq=False)
class StopAnswer(Exception):  # noqa: N818 -- control flow like StopIteration, not an error
    """The answer stops here: a budget is spent, the model refuses, its reply cannot be used, or something failed.

    Attributes:
        state: How the answer ends.
        spent: The limit that is spent.
        error: The error.
        cause: Its cause.
        retry_after: The pause in seconds before another attempt.
        wants_less: Whether the request was too much for the model: too large, or with tools that it cannot call.
    """

    state: Literal["unusable", "refused", "budget", "error"]
    spent: str = ""
    error: str = ""
    cause: str = ""
    retry_after: float | None = None
    wants_less: bool = False

    def explain(self, *, has_text: bool) -> str:
        """Return the reason for the reader; `error` is for the operator.

        Args:
            has_text: Whether the reader has a part of the answer.
        """
        if self.state == "refused":
            return "The model refused to answer."
        if self.state == "unusable":
            return "The model's reply could not be used."
        if self.state == "budget":
            return _CUT_SHORT if has_text else _NO_ANSWER_WITHIN_BUDGET
        return _CAUSES.get(self.cause, _CAUSES["model"]).format(pause=format_pause(self.retry_after))

    @classmethod
    def from_error(cls, error: Exception, source: str) -> StopAnswer:
        """Return the stop for an error; errors of other packages are labelled with their source."""
        _log.debug("%s failed", source, exc_info=error)
        message = " ".join(remove_invisible(str(error)).split())
        if not isinstance(error, RoamingError):
            details = f": {message[:_MAX_FOREIGN_ERROR_CHARS]}" if message else ""
            message = f"{source} failed: {type(error).__name__}{details}"
        text = message[:_MAX_ERROR_CHARS] or type(error).__name__
        if isinstance(error, ModelError):
            wants_less = isinstance(error, ContextError | ToolsUnsupportedError)
            return cls("error", "", text, error.cause, error.retry_after, wants_less)
        is_of_site = isinstance(error, LibraryError) or source == SITE
        return cls("error", error=text, cause="site" if is_of_site else "model")


SITE = "reading the site"
"""The source of errors that are not the model's."""

_UNAVAILABLE = "Answers are not available now."
_LATER = f"{_UNAVAILABLE} Try again {{pause}}."
_CAUSES = {
    **dict.fromkeys(("key", "credit", "address", "request", "format"), _UNAVAILABLE),
    **dict.fromkeys(("rate", "overload", "failure", "timeout", "connection"), _LATER),
    "size": "The question with its documentation is too long. Shorten it, or start a new conversation.",
    "site": "The documentation could not be read. Try again {pause}.",
    "model": "The answer could not be finished. Please ask again in a moment.",
}
"""What readers see, by cause. They cannot repair a key or an account; the operator finds the error in the log."""
_NO_ANSWER_WITHIN_BUDGET = "The answer reached its limit before anything was written."
_CUT_SHORT = "The answer reached its limit and may be incomplete."


def format_pause(seconds: float | None) -> str:
    """Return when to try again, in words."""
    if seconds is None or seconds < 1:
        return "in a minute"
    if seconds < 2 * _MINUTE:
        return f"in {seconds:.0f} seconds"
    return f"in {seconds / _MINUTE:.0f} minutes"


# Threads for blocking calls, which can be abandoned at a deadline and when the program exits

_compute_limiter: RunVar[anyio.CapacityLimiter] = RunVar("compute_limiter")


async def run_in_thread(work: Callable[[], T], limiter: anyio.CapacityLimiter | None = None) -> T:
    """Run a blocking function in a daemon thread and return its result.

    If the caller is cancelled, the thread finishes in the background. `anyio.to_thread` can abandon threads, too, but
    Python waits for them at exit.

    Args:
        work: The function.
        limiter: Limits how many functions run at once (default: the limiter of `anyio.to_thread`).
    """
    future = Future[T]()
    future.set_running_or_notify_cancel()  # from now on, only the caller is cancelled
    context = copy_context()

    def run() -> None:
        try:
            result = context.run(work)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    async with limiter or anyio.to_thread.current_default_thread_limiter():
        threading.Thread(target=run, name="roaming worker", daemon=True).start()
        return await asyncio.wrap_future(future)


def compute_limiter() -> anyio.CapacityLimiter:
    """Return the event loop's limiter for pure computation: one function at a time.

    Only one thread computes at a time in Python. With several, the event loop, and with it every client, would wait
    for all of them at each switch.
    """
    try:
        return _compute_limiter.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(1)
        _compute_limiter.set(limiter)
        return limiter
