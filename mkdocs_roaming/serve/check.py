"""Checks of an endpoint before it starts: the site, the model with its key, embeddings and counters.

async for result in check_endpoint(config):
    print(result.name, result.ok, result.detail)
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from time import monotonic

import anyio

from mkdocs_roaming.answer.budget import run_in_thread
from mkdocs_roaming.answer.models.base import Model, Request, UserTurn
from mkdocs_roaming.errors import RoamingError, UsageError
from mkdocs_roaming.library.hybrid import HybridSearch
from mkdocs_roaming.serve.app import AppConfig, describe_limits
from mkdocs_roaming.serve.counters import CounterStorageError, CounterStore
from mkdocs_roaming.serve.deployments import SiteWatcher
from mkdocs_roaming.serve.log import strip_passwords
from mkdocs_roaming.serve.service import estimate_question_cost

_REPLY_TOKENS = 16  # some providers refuse less


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check, with a sentence about it."""

    name: str
    detail: str
    ok: bool = True


async def check_endpoint(config: AppConfig) -> AsyncIterator[CheckResult]:
    """Yield the result of each check. The model is asked for a few tokens."""
    answers = config.answers
    watcher = SiteWatcher(config.target, search_factory=answers.search_factory)
    await watcher.check(log_problem=False)
    deployment = watcher.current
    if deployment is None:
        yield CheckResult("site", watcher.problem, ok=False)
    else:
        site, count = deployment.library.manifest.site.name, len(deployment.library.sections)
        yield CheckResult("site", watcher.problem or f"{site}, {count} sections", ok=deployment.is_complete)
    yield await _check_model(answers.model, answers.budget.seconds)
    if deployment is not None and answers.model.name != "offline":
        estimate = await estimate_question_cost(deployment, answers)
        yield CheckResult("price of a question", f"{estimate.summary}: {estimate.details}")
    yield CheckResult("limits", describe_limits(config), ok=not lacks_money_limit(config))
    if deployment is not None and isinstance(deployment.search, HybridSearch):
        yield await _check_embeddings(deployment.search)
    if config.counters_url:
        yield await _check_counters(config.counters_url)


def lacks_money_limit(config: AppConfig) -> bool:
    """Return whether a hosted model may cost any amount, because `money_a_day` is missing and its prices are not 0."""
    is_hosted, prices = getattr(config.answers.model, "is_hosted", False), config.answers.budget.prices
    return is_hosted and config.quota.money_a_day is None and (prices is None or not prices.is_free)


async def require_money_limit(config: AppConfig) -> None:
    """Raise UsageError with the cost of a question if there is no limit of money for a hosted model."""
    if not lacks_money_limit(config):
        return
    watcher = SiteWatcher(config.target, search_factory=config.answers.search_factory)
    await watcher.check(log_problem=False)
    cost = f"the cost of a question is unknown ({watcher.problem})"
    if watcher.current is not None:
        cost = f"a question costs {(await estimate_question_cost(watcher.current, config.answers)).summary}"
    raise UsageError(
        f"{config.answers.model.name} is a hosted model without a limit of money: on this site {cost}. In roaming.toml "
        'set [limits] money_a_day, with [prices] and [budget] cost, or money_a_day = "unlimited"'
    )


async def _check_model(model: Model, seconds: float) -> CheckResult:
    if model.name == "offline":
        return CheckResult("model", "offline, which needs no key")
    request = Request("Reply with one word.", "", (UserTurn("Are you there?"),), output_tokens=_REPLY_TOKENS)
    started = monotonic()
    try:
        with anyio.fail_after(seconds):
            async with aclosing(model.reply(request)) as parts:  # type: ignore[type-var]  # an async generator
                async for _ in parts:
                    pass
    except RoamingError as error:
        return CheckResult("model", strip_passwords(str(error)), ok=False)
    except TimeoutError:
        return CheckResult("model", f"{model.name}: no reply within {seconds:g} seconds", ok=False)
    return CheckResult("model", f"{model.name} replied in {monotonic() - started:.1f} s")


async def _check_embeddings(search: HybridSearch) -> CheckResult:
    await run_in_thread(lambda: search.find("installation", limit=1))
    if search.vectors.healthy:
        return CheckResult("embeddings", "a query got its vector")
    return CheckResult("embeddings", "a query got no vector; search uses words only", ok=False)


async def _check_counters(url: str) -> CheckResult:
    counters = CounterStore(url)
    try:
        await counters.get("roaming/check")
    except CounterStorageError:
        return CheckResult("counters", "Redis cannot be reached; check the URL and the password", ok=False)
    finally:
        await counters.close()
    return CheckResult("counters", "Redis can be reached")
