"""The ASGI application: what is served, put together from its parts.

    app = create_app(Serving("https://docs.example/", Way(model, budget)))

It opens the site when it starts, and answers 503 until the site could be opened.
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
from mkdocs_roaming.serve.log import Journal, JsonLinesFile
from mkdocs_roaming.serve.mcp import McpEndpoint
from mkdocs_roaming.serve.metrics import MetricsMiddleware, MetricsRecorder, make_metrics
from mkdocs_roaming.serve.middleware import ASGIApp, RequestGuard, RequestPolicy
from mkdocs_roaming.serve.openapi import OPERATIONS, describe_operations
from mkdocs_roaming.serve.problems import public_message
from mkdocs_roaming.serve.quotas import AnswerQuota, CounterStore, QuotaLimiter
from mkdocs_roaming.serve.routes import EXCEPTION_HANDLERS, Routes
from mkdocs_roaming.serve.sending import PING_SECONDS
from mkdocs_roaming.serve.service import AnswerConfig, AnswerRecord, AnswerService
from mkdocs_roaming.serve.static import StaticSite


@dataclass(frozen=True, slots=True)
class AppConfig:
    """What is served and how: LIB (`where`), the way to answer, the built `site`, limits, and how often is looked.

    `key` signs turns and hides visitors in counters; without one it is random, so turns end with the process. `taken`
    is called whenever a deployment was opened or changed over to.
    """

    where: str
    way: AnswerConfig
    key: bytes = b""
    site: Path | None = None
    policy: RequestPolicy = field(default_factory=RequestPolicy)
    allowance: AnswerQuota = field(default_factory=AnswerQuota)
    counters: str | None = None
    question_log: Path | None = None
    feedback_log: Path | None = None
    every: float = POLL_SECONDS
    patience: float = INCOMPLETE_SECONDS
    taken: Callable[[], None] = lambda: None
    trust_rules: bool = False
    kept_answers: int = MAX_CACHED_ANSWERS
    turn_seconds: int = TOKEN_SECONDS
    ping: float = PING_SECONDS
    widget: Traversable = field(default_factory=lambda: resources.files("mkdocs_roaming") / "widget")


def create_app(serving: AppConfig) -> ASGIApp:
    """Give the application; raises UsageError where the settings cannot be."""
    metrics = make_metrics()
    counted = MetricsRecorder(metrics)
    make = partial(
        SiteWatcher,
        every=serving.every,
        patience=serving.patience,
        trust_rules=serving.trust_rules,
        finding=serving.way.finding,
        taken=serving.taken,
    )
    site = LocalizedSite(make(serving.where), make)
    gate = QuotaLimiter(serving.allowance, CounterStore(serving.counters), secret=serving.key)
    _check_money(serving, gate)
    journal = Journal(
        questions=JsonLinesFile(serving.question_log) if serving.question_log else None,
        feedback=JsonLinesFile(serving.feedback_log) if serving.feedback_log else None,
    )
    desk = AnswerService(
        site,
        serving.way,
        TokenSigner(serving.key or os.urandom(32), seconds=serving.turn_seconds),
        answers=AnswerCache(serving.kept_answers),
        tell=lambda outcome: _tell(outcome, counted, journal),
        count=counted.made,
    )
    routes = Routes(
        desk,
        metrics,
        journal,
        widget=serving.widget,
        ping=serving.ping,
        measure=lambda: counted.measure(site.main, gate),
    )
    routes.description = json.dumps(describe_operations(OPERATIONS, title="mkdocs-roaming")).encode()
    application = _application(routes, site, gate, serving)
    return MetricsMiddleware(RequestGuard(application, serving.policy, gate, refused=counted.refusal), metrics)


def _application(routes: Routes, site: LocalizedSite, gate: QuotaLimiter, serving: AppConfig) -> Starlette:
    tools = _tools(site, serving.policy)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.push_async_callback(gate.counters.close)
            if tools is not None:
                await stack.enter_async_context(tools.run())
            group = await stack.enter_async_context(anyio.create_task_group())
            group.start_soon(site.run)
            yield
            group.cancel_scope.cancel()

    application = Starlette(
        routes=_routes(routes, tools, serving.site),
        lifespan=lifespan,
        exception_handlers=EXCEPTION_HANDLERS,
    )
    application.router.redirect_slashes = False
    return application


def _tools(site: LocalizedSite, policy: RequestPolicy) -> McpEndpoint | None:
    """Give the tools for MCP clients, where the package for them is installed."""
    if find_spec("mcp") is None:
        return None

    def near() -> bool:
        return site.main.current is not None and site.main.current.library.is_local

    telling = partial(public_message, at="/mcp")
    return McpEndpoint(lambda: site.now().navigator(telling), hosts=policy.hosts, origins=policy.origins, near=near)


def _routes(routes: Routes, tools: McpEndpoint | None, site: Path | None) -> list[BaseRoute]:
    made: list[BaseRoute] = [
        Route(operation.path, getattr(routes, operation.name), methods=[operation.method], name=operation.name)
        for operation in OPERATIONS
    ]
    if tools is not None:
        made.append(Route("/mcp", tools))
    if site is not None:
        made += [*_refusals(), Mount("/", StaticSite(site))]
    return made


def _refusals() -> Iterator[BaseRoute]:
    """Give what keeps other methods of the endpoint's addresses from the site's files: they would be no page there."""
    methods: dict[str, set[str]] = {}
    for operation in OPERATIONS:
        own = {"GET", "HEAD"} if operation.method == "GET" else {operation.method}
        methods[operation.path] = methods.get(operation.path, set()) | own
    for path, allowed in methods.items():
        yield Route(path, _Refusing(", ".join(sorted(allowed))))


class _Refusing:
    """Refuses every method but those allowed; no function, which would be taken for one that answers GET alone."""

    def __init__(self, allowed: str) -> None:
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raise HTTPException(405, headers={"Allow": self._allowed})


def _tell(outcome: AnswerRecord, counted: MetricsRecorder, journal: Journal) -> None:
    counted.answer(outcome)
    question = outcome.question
    answer = replace(summarize(outcome.events), model=outcome.model, cost=outcome.cost)
    journal.asked(
        question.text,
        answer,
        page=question.page,
        language=question.language,
        turn=outcome.turn,
        seconds=outcome.seconds,
        cached=outcome.cached,
    )


def _check_money(serving: AppConfig, gate: QuotaLimiter) -> None:
    """Refuse a day's budget that cannot be kept: each answer's share is set aside before it is known."""
    gate.check(serving.way.budget.cost or 0.0)
    if serving.allowance.money_a_day and serving.way.budget.cost is None and serving.way.model.name != "offline":
        raise UsageError("a day's money needs to know what one answer may cost; set [prices] and [budget] cost")
