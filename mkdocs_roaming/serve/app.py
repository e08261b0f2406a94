"""The ASGI application.

    app = create_app(AppConfig("https://docs.example/", AnswerConfig(model, budget)))

It opens the site when it starts, and answers 503 until the site can be read.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import resources
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import Receive, Scope, Send

from mkdocs_roaming.answer.events import summarize
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.serve.cache import MAX_CACHED_ANSWERS, AnswerCache
from mkdocs_roaming.serve.conversation_token import TOKEN_SECONDS, TokenSigner
from mkdocs_roaming.serve.deployments import INCOMPLETE_SECONDS, POLL_SECONDS, LocalizedSite, SiteWatcher
from mkdocs_roaming.serve.log import Journal, JsonLinesFile, public_message
from mkdocs_roaming.serve.mcp import McpEndpoint
from mkdocs_roaming.serve.metrics import Metrics
from mkdocs_roaming.serve.middleware import ASGIApp, RequestGuard, RequestPolicy
from mkdocs_roaming.serve.openapi import OPERATIONS, describe_operations
from mkdocs_roaming.serve.quotas import AnswerQuota, CounterStore, QuotaLimiter
from mkdocs_roaming.serve.routes import EXCEPTION_HANDLERS, PING_SECONDS, Routes
from mkdocs_roaming.serve.service import AnswerConfig, AnswerRecord, AnswerService
from mkdocs_roaming.serve.static import StaticSite


@dataclass(frozen=True, slots=True)
class AppConfig:
    """Configuration of an application.

    Attributes:
        target: The library: a URL, a folder, or a Markdown file.
        answers: The model, the budget and the search.
        key: Signs conversation tokens and hides clients in counters. Without a key a random one is used, and tokens
            are valid until the process ends.
        site: Folder of the built site, if it is served too.
        counters_url: URL of a Redis for quotas that several processes share.
        question_log: File for questions; without it none are logged.
        feedback_log: File for feedback; without it none is accepted.
        poll_seconds: Time between two checks of the site.
        incomplete_seconds: Time after which an incomplete deployment is used.
        on_change: Called in a thread after the deployment changed.
        trust_rules: Follow the rules of a site, also if it is not a local folder.
        token_seconds: Time for which follow-up questions can refer to an answer.
        ping_seconds: Silence in a stream after which a comment is sent.
        widget: Folder with the files of the widget.
    """

    target: str
    answers: AnswerConfig
    key: bytes = b""
    site: Path | None = None
    policy: RequestPolicy = field(default_factory=RequestPolicy)
    quota: AnswerQuota = field(default_factory=AnswerQuota)
    counters_url: str | None = None
    question_log: Path | None = None
    feedback_log: Path | None = None
    poll_seconds: float = POLL_SECONDS
    incomplete_seconds: float = INCOMPLETE_SECONDS
    on_change: Callable[[], None] = lambda: None
    trust_rules: bool = False
    max_cached_answers: int = MAX_CACHED_ANSWERS
    token_seconds: int = TOKEN_SECONDS
    ping_seconds: float = PING_SECONDS
    widget: Traversable = field(default_factory=lambda: resources.files("mkdocs_roaming") / "widget")


def create_app(config: AppConfig) -> ASGIApp:
    """Return the application. Raise UsageError for an invalid configuration."""
    create_watcher = partial(
        SiteWatcher,
        poll_seconds=config.poll_seconds,
        incomplete_seconds=config.incomplete_seconds,
        trust_rules=config.trust_rules,
        search_factory=config.answers.search_factory,
        on_change=config.on_change,
    )
    site = LocalizedSite(create_watcher(config.target), create_watcher)
    limiter = QuotaLimiter(config.quota, CounterStore(config.counters_url), secret=config.key)
    _check_cost(config, limiter)
    metrics = Metrics(OPERATIONS)
    metrics.watch_site(site.main, limiter)
    journal = Journal(
        questions=JsonLinesFile(config.question_log) if config.question_log else None,
        feedback=JsonLinesFile(config.feedback_log) if config.feedback_log else None,
    )

    def record(record: AnswerRecord) -> None:
        metrics.count_answer(record)
        _log_question(record, journal)

    service = AnswerService(
        site,
        config.answers,
        TokenSigner(config.key or os.urandom(32), seconds=config.token_seconds),
        cache=AnswerCache(config.max_cached_answers),
        on_record=record,
        on_cost=metrics.count_cost,
    )
    description = json.dumps(describe_operations(OPERATIONS, title="mkdocs-roaming")).encode()
    routes = Routes(
        service, metrics, journal, description=description, widget=config.widget, ping_seconds=config.ping_seconds
    )
    tools = _create_mcp_endpoint(site, config.policy)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.push_async_callback(limiter.counters.close)
            if tools is not None:
                await stack.enter_async_context(tools.run())
            group = await stack.enter_async_context(anyio.create_task_group())
            group.start_soon(site.run)
            yield
            group.cancel_scope.cancel()

    app = Starlette(
        routes=_create_routes(routes, tools, config.site), lifespan=lifespan, exception_handlers=EXCEPTION_HANDLERS
    )
    app.router.redirect_slashes = False
    return RequestGuard(app, config.policy, limiter, metrics)


def _check_cost(config: AppConfig, limiter: QuotaLimiter) -> None:
    """Refuse money per day without a maximum cost per answer, which is reserved before the answer starts."""
    max_cost = config.answers.budget.cost
    limiter.check_cost(max_cost or 0.0)
    if config.quota.money_a_day and max_cost is None and config.answers.model.name != "offline":
        raise UsageError("money_a_day needs the maximum cost of an answer; set [prices] and [budget] cost")


def _log_question(record: AnswerRecord, journal: Journal) -> None:
    answer = replace(summarize(record.events), model=record.model, cost=record.cost)
    journal.log_question(
        record.question.text,
        answer,
        page=record.question.page,
        language=record.question.language,
        turn=record.turn,
        seconds=record.seconds,
        cached=record.cached,
    )


def _create_mcp_endpoint(site: LocalizedSite, policy: RequestPolicy) -> McpEndpoint | None:
    """Return the MCP endpoint, None if the package is not installed."""
    if find_spec("mcp") is None:
        return None

    def is_local() -> bool:
        return site.main.current is not None and site.main.current.library.is_local

    format_error = partial(public_message, at="/mcp")
    return McpEndpoint(
        lambda: site.now().navigator(format_error), hosts=policy.hosts, origins=policy.origins, is_local=is_local
    )


def _create_routes(routes: Routes, tools: McpEndpoint | None, site: Path | None) -> list[BaseRoute]:
    created: list[BaseRoute] = [
        Route(operation.path, getattr(routes, operation.name), methods=[operation.method], name=operation.name)
        for operation in OPERATIONS
    ]
    if tools is not None:
        created.append(Route("/mcp", tools))
    if site is not None:
        created += [*_refuse_other_methods(), Mount("/", StaticSite(site))]
    return created


def _refuse_other_methods() -> Iterator[BaseRoute]:
    """Yield routes that refuse other methods of the operations, which would otherwise reach the static site."""
    methods: dict[str, set[str]] = {}
    for operation in OPERATIONS:
        methods.setdefault(operation.path, set()).add(operation.method)
        if operation.method == "GET":
            methods[operation.path].add("HEAD")
    for path, allowed in methods.items():
        yield Route(path, _MethodNotAllowed(", ".join(sorted(allowed))))


class _MethodNotAllowed:
    """An ASGI application for every method; Starlette would route only GET to a function."""

    def __init__(self, allowed: str) -> None:
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raise HTTPException(405, headers={"Allow": self._allowed})
