"""The ASGI application and its configuration.

    app = create_app(AppConfig("https://docs.example/", AnswerConfig(model, budget)))

It opens the site when it starts, and answers 503 until the site can be read. `build_config` reads the configuration
from settings, environment and command line:

[serve]
hosts = ["ask.example"]         # names that the server answers to, in addition to localhost
origins = ["https://docs.example"]
proxies = 1                     # number of trusted reverse proxies
look_every = 60                 # seconds between two checks of the site
drain = 55                      # seconds for answers in progress when the server stops (default: their own + 10)
kept_answers = 1000             # maximum number of cached answers
trust_rules = false             # follow the rules of a site that is not a local folder
question_log = "questions.jsonl"   # logs contain neither addresses nor secrets (default: no log)
feedback_log = "feedback.jsonl"
metrics = "127.0.0.1:9464"      # where the metrics are served, or off

[limits]                        # see AnswerQuota and RequestPolicy
answers_a_minute = 60
money_a_day = 2.0
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from pathlib import Path
from typing import Annotated, Any

import msgspec

from mkdocs_roaming.answer.budget import load_known_prices, run_in_thread
from mkdocs_roaming.answer.events import summarize
from mkdocs_roaming.answer.probe import probe_model
from mkdocs_roaming.answer.results import Offline
from mkdocs_roaming.config import Settings
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.serve.cache import MAX_CACHED_ANSWERS, AnswerCache
from mkdocs_roaming.serve.conversation_token import TokenSigner
from mkdocs_roaming.serve.deployments import INCOMPLETE_SECONDS, POLL_SECONDS, LocalizedSite, SiteWatcher
from mkdocs_roaming.serve.log import Journal, public_message, strip_passwords
from mkdocs_roaming.serve.mcp import McpEndpoint
from mkdocs_roaming.serve.metrics import (
    METRICS_ADDRESS,
    METRICS_OFF,
    Metrics,
    parse_metrics_address,
    serve_metrics,
)
from mkdocs_roaming.serve.middleware import DRAIN_SECONDS, RequestGuard, RequestPolicy
from mkdocs_roaming.serve.quotas import (
    DAY_SECONDS,
    Amount,
    AnswerQuota,
    CounterStorageError,
    CounterStore,
    QuotaLimiter,
)
from mkdocs_roaming.serve.requests import LOOPBACK
from mkdocs_roaming.serve.routes import PING_SECONDS, Routes, create_asgi_app
from mkdocs_roaming.serve.schemas import OPERATIONS
from mkdocs_roaming.serve.service import AnswerConfig, AnswerRecord, AnswerService
from mkdocs_roaming.serve.static import StaticSite
from mkdocs_roaming.settings import check_keys, decode_table, table_keys

KEY_VARIABLE = "ROAMING_KEY"
COUNTERS_VARIABLE = "ROAMING_COUNTERS"
MIN_KEY_CHARS = 16
_END_SECONDS = 10  # an answer whose time is over may still search for results
_log = logging.getLogger("mkdocs_roaming.serve")


class ServeTable(msgspec.Struct, frozen=True):
    """The table [serve]."""

    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    proxies: Annotated[int, msgspec.Meta(ge=0, description="Number of trusted reverse proxies.")] = 0
    look_every: Amount = POLL_SECONDS
    drain: Annotated[int, msgspec.Meta(ge=0)] | None = None
    kept_answers: Annotated[int, msgspec.Meta(ge=0)] = MAX_CACHED_ANSWERS
    trust_rules: bool = False
    question_log: str = ""
    feedback_log: str = ""
    metrics: Annotated[str, msgspec.Meta(description="Address of the metrics, or off.", extra={"metavar": "WHERE"})] = (
        METRICS_ADDRESS
    )


@dataclass(frozen=True, slots=True)
class AppConfig:
    """Configuration of the application.

    Attributes:
        target: The library: a URL, a folder, or a Markdown file.
        answers: The model, the budget and the search.
        serve: The table [serve], with the options of the command line; names of hosts are in `policy`.
        key: Signs conversation tokens, and hides clients in counters. Without a key a random one is used, and tokens
            are valid until the process ends.
        site: Folder of the built site, if it is served too.
        counters_url: URL of a Redis for quotas that several processes share.
        incomplete_seconds: Time after which an incomplete deployment is used.
        on_change: Called in a thread after the deployment changed.
        ping_seconds: Silence in a stream after which a comment is sent.
        drain: Time for answers in progress when the server stops.
        address: The URL that the server listens on, for the log.
    """

    target: str
    answers: AnswerConfig
    serve: ServeTable = field(default_factory=lambda: ServeTable(metrics=METRICS_OFF))
    key: bytes = b""
    site: Path | None = None
    policy: RequestPolicy = field(default_factory=RequestPolicy)
    quota: AnswerQuota = field(default_factory=AnswerQuota)
    counters_url: str | None = None
    incomplete_seconds: float = INCOMPLETE_SECONDS
    on_change: Callable[[], None] = lambda: None
    ping_seconds: float = PING_SECONDS
    drain: int = DRAIN_SECONDS
    address: str = ""


# Settings, environment and command line


POLICY_KEYS = tuple(name for name in table_keys(RequestPolicy) if name not in ("hosts", "origins", "proxies"))
LIMIT_KEYS = (*table_keys(AnswerQuota), *POLICY_KEYS)


def build_config(
    target: str,
    answers: AnswerConfig,
    settings: Settings,
    environ: Mapping[str, str],
    given: Mapping[str, Any],
    *,
    host: str,
) -> AppConfig:
    """Return the configuration from the settings, the environment, and the options that are given on the command line.

    Raises:
        UsageError: The settings are invalid.
    """
    table = decode_table(settings.serving.get("serve", {}), ServeTable, f"{settings.where}: [serve]")
    replaced = {name: given[name] for name in ("proxies", "metrics") if given[name] is not None}
    table = msgspec.structs.replace(table, trust_rules=given["trust_rules"] or table.trust_rules, **replaced)
    key = environ.get(KEY_VARIABLE, "").encode("utf-8")
    if 0 < len(key) < MIN_KEY_CHARS:
        raise UsageError(
            f"{KEY_VARIABLE} needs at least {MIN_KEY_CHARS} characters; create a key with `openssl rand -hex 32`"
        )
    place = f"{settings.where}: [limits]"
    limits = dict(check_keys(settings.serving.get("limits", {}), LIMIT_KEYS, place))
    policy_limits = {name: limits.pop(name) for name in POLICY_KEYS if name in limits}
    bound: tuple[str, ...] = ()
    if host not in ("0.0.0.0", "::"):  # not an address, but all of them
        bound = (f"[{host}]" if ":" in host else host,)
    hosts = (*LOOPBACK, *bound, *table.hosts, *given["hosts"])
    policy = decode_table(
        policy_limits,
        RequestPolicy,
        place,
        hosts=tuple(dict.fromkeys(hosts)),
        origins=tuple(dict.fromkeys((*table.origins, *given["origins"]))),
        proxies=table.proxies,
    )
    if given["money_a_day"] is not None:
        limits["money_a_day"] = _parse_number(given["money_a_day"])
        place = "--money-a-day"
    quota = decode_table(limits, AnswerQuota, place)
    answers = _limit_cost(answers, quota)
    return AppConfig(
        target,
        answers,
        table,
        key=key,
        site=given["site"],
        policy=policy,
        quota=quota.with_client_money(answers.budget.cost or 0.0),
        counters_url=environ.get(COUNTERS_VARIABLE) or None,
        drain=ceil(answers.budget.seconds) + _END_SECONDS if table.drain is None else table.drain,
    )


def _parse_number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _limit_cost(answers: AnswerConfig, quota: AnswerQuota) -> AnswerConfig:
    """Return the configuration with a maximum cost of an answer, if there is money for a day but no such maximum."""
    budget = answers.budget
    money = quota.money_a_day
    if not isinstance(money, float):
        return answers
    if budget.prices is None and answers.model.name != Offline.name:
        raise UsageError(
            f"money_a_day needs the prices of {answers.model.name}, which are not built in: check the name of the "
            "model, or set [prices] in roaming.toml; a model that costs nothing needs no money_a_day"
        )
    if not budget.highest_cost or budget.cost is not None:
        return answers
    return replace(answers, budget=replace(budget, cost=min(budget.highest_cost, money)))


# Application


def create_app(config: AppConfig) -> RequestGuard:
    """Return the application. Raise UsageError for an invalid configuration."""
    create_watcher = partial(
        SiteWatcher,
        look_every=config.serve.look_every,
        incomplete_seconds=config.incomplete_seconds,
        trust_rules=config.serve.trust_rules,
        search_factory=config.answers.search_factory,
        on_change=config.on_change,
    )
    site = LocalizedSite(create_watcher(config.target), create_watcher)
    site.main.on_change = lambda: _log_deployment(site.main, config)
    counters = CounterStore(config.counters_url)
    limiter = QuotaLimiter(config.quota, counters, secret=config.key)
    if config.answers.model.name != Offline.name:
        limiter.check_cost(config.answers.budget.cost)
    metrics_address = parse_metrics_address(config.serve.metrics)
    metrics = Metrics(OPERATIONS)
    journal = Journal(config.serve.question_log, config.serve.feedback_log)

    def log_answer(record: AnswerRecord) -> None:
        metrics.count_answer(record)
        answer = msgspec.structs.replace(summarize(record.events), model=record.model, cost=record.cost)
        log = partial(journal.log_question, record.question, answer, turn=record.turn, seconds=record.seconds)
        journal.writer.submit(log, cached=record.is_shared, site=record.site)

    service = AnswerService(
        site,
        config.answers,
        TokenSigner(config.key or os.urandom(32)),
        cache=AnswerCache(config.serve.kept_answers),
        on_record=log_answer if config.serve.question_log else metrics.count_answer,
        on_cost=metrics.count_cost,
    )
    routes = Routes(service, metrics, journal, limiter, config.ping_seconds)

    def is_local() -> bool:
        return site.main.current is not None and site.main.current.library.is_local

    format_error = partial(public_message, at="/mcp")
    tools = McpEndpoint(lambda: site.now().navigator(format_error), is_local=is_local)
    app = create_asgi_app(OPERATIONS, routes, tools, serve_metrics(metrics, metrics_address))
    if config.site is not None:
        app.router.default = StaticSite(config.site)
    return RequestGuard(app, config.policy, metrics, on_drain=service.drain)


def _log_deployment(site: SiteWatcher, config: AppConfig) -> None:
    """Log the first deployment of a site with the configuration, in one line."""
    config.on_change()
    if site.current is None or site.changes:
        return
    library = site.current.library
    name = library.manifest.site.name
    model = config.answers.model.name
    price = "free" if model == Offline.name else f"a question costs {config.answers.budget.describe_price()}"
    _log.info(
        "serving %s (%d sections) at %s; model %s, %s; limits %s; %s",
        name,
        len(library.sections),
        config.address or "this server",
        model,
        price,
        describe_limits(config),
        describe_names(config.policy),
    )


def describe_names(policy: RequestPolicy) -> str:
    """Return the accepted hosts and origins in one line."""
    return f"hosts {', '.join(policy.hosts)}; origins {', '.join(policy.origins) or 'none but its own'}"


def describe_limits(config: AppConfig) -> str:
    """Return the limits of answers, and of money if the model costs any, in one line."""
    quota = config.quota
    prices = config.answers.budget.prices
    if config.answers.model.name == Offline.name:
        return f"{quota.free_answers_a_minute} answers a minute ({quota.free_answers_a_minute_each} per client)"
    money = quota.money_a_day
    client_money = quota.money_a_day_each
    spending = "unlimited money"
    if isinstance(money, float):
        spending = f"{money:g} {prices.currency if prices else ''} a day"
    if isinstance(client_money, float):
        spending += f" ({client_money:g} per client)"
    return f"{quota.answers_a_minute} answers a minute ({quota.answers_a_minute_each} per client), {spending}"


# Checks before the start


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check, with a sentence about it."""

    name: str
    detail: str
    ok: bool = True


async def check_endpoint(config: AppConfig) -> AsyncIterator[CheckResult]:
    """Yield the result of each check. The model is asked about a section."""
    answers = config.answers
    watcher = SiteWatcher(config.target, search_factory=answers.search_factory)
    await watcher.check(log_problem=False)
    deployment = watcher.current
    if deployment is None:
        yield CheckResult("site", watcher.problem, ok=False)
    else:
        site = deployment.library.manifest.site.name
        count = len(deployment.library.sections)
        yield CheckResult("site", watcher.problem or f"{site}, {count} sections", ok=deployment.is_complete)
    if answers.model.name == Offline.name:
        yield CheckResult("model", "offline, which needs no key")
    elif deployment is not None:
        probe = await probe_model(answers.model, deployment.navigator(), answers.budget)
        yield CheckResult("model", strip_passwords(probe.summary), ok=probe.works)
        date, known = load_known_prices()
        price = answers.budget.describe_price()
        if answers.budget.prices in known.values():
            price += f", with the prices of {date}"
        cost = answers.budget.highest_cost
        money = config.quota.money_a_day
        is_enough = cost is None or not isinstance(money, float) or money >= cost
        if not is_enough:
            price += ", which may be more than all the money of a day; raise it"
        yield CheckResult("price of a question", price, ok=is_enough)
    hint = f"; {_ask_for_limit(config)}" if lacks_money_limit(config) else ""
    yield CheckResult("limits", describe_limits(config) + hint, ok=not hint)
    yield CheckResult("names", describe_names(config.policy))
    if deployment is not None and deployment.search.published:
        yield await _check_embeddings(deployment.search)
    if config.counters_url:
        yield await _check_counters(config.counters_url)


def lacks_money_limit(config: AppConfig) -> bool:
    """Return whether a hosted model may cost any amount, because `money_a_day` is missing and its prices are not 0."""
    is_hosted = getattr(config.answers.model, "is_hosted", False)
    prices = config.answers.budget.prices
    return is_hosted and config.quota.money_a_day is None and (prices is None or not prices.is_free)


def require_money_limit(config: AppConfig) -> None:
    """Raise UsageError with the cost of a question if there is no limit of money for a hosted model."""
    if lacks_money_limit(config):
        raise UsageError(
            f"{config.answers.model.name} is a hosted model without a limit of money: a question costs "
            f"{config.answers.budget.describe_price()}; {_ask_for_limit(config)}"
        )


def _ask_for_limit(config: AppConfig) -> str:
    prices = "" if config.answers.budget.prices else ", with [prices] of the model in roaming.toml"
    return f"add --money-a-day AMOUNT{prices}, or --money-a-day unlimited"


async def _check_embeddings(search: Search) -> CheckResult:
    await run_in_thread(lambda: search.find("installation", limit=1))
    if not search.words_only("installation"):
        return CheckResult("embeddings", "a query got its vector")
    return CheckResult("embeddings", "a query got no vector; search works without embeddings", ok=False)


async def _check_counters(url: str) -> CheckResult:
    counters = CounterStore(url)
    try:
        await counters.add("roaming/check", 0, DAY_SECONDS)
    except CounterStorageError:
        return CheckResult("counters", "Redis cannot be reached; check the URL and the password", ok=False)
    finally:
        await counters.close()
    return CheckResult("counters", "Redis can be reached")
