"""Prometheus metrics of the endpoint. Labels contain neither client addresses nor questions.

    async with serve_metrics(metrics, "127.0.0.1:9464"): …

They are served at an address of their own, because the address of the endpoint is public.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import asynccontextmanager
from math import inf
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.registry import Collector
from starlette.routing import compile_path

from mkdocs_roaming.answer.budget import run_in_thread
from mkdocs_roaming.answer.events import Finished
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.serve.deployments import SiteWatcher
from mkdocs_roaming.serve.quotas import UNLIMITED, CounterStorageError, QuotaLimiter
from mkdocs_roaming.serve.requests import ProblemError, parse_host
from mkdocs_roaming.serve.schemas import Operation
from mkdocs_roaming.serve.service import AnswerCost, AnswerRecord

METRICS_ADDRESS = "127.0.0.1:9464"
"""Where the metrics are by default: reachable only from this machine."""
METRICS_OFF = "off"
BUCKET_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0)


class Metrics:
    """The metrics of one application; `operations` name its paths."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # not annotated
        self.registry = CollectorRegistry()
        self._paths = [(operation.name, compile_path(operation.path)[0]) for operation in operations]
        self._counters = {
            name: Counter(f"roaming_{name}_total", description, labels, registry=self.registry)
            for name, (description, *labels) in _COUNTERS.items()
        }
        self._seconds = self._histogram("roaming_answer_seconds", "Time to produce an answer.")
        self._first_text = self._histogram(
            "roaming_first_text_seconds", "Time to the first text of an answer that is not cached."
        )

    def _histogram(self, name: str, description: str) -> Histogram:
        return Histogram(name, description, ("model",), buckets=BUCKET_SECONDS, registry=self.registry)

    def _count(self, name: str, amount: float = 1, **labels: str) -> None:
        self._counters[name].labels(**labels).inc(amount)

    def watch_site(self, watcher: SiteWatcher, limiter: QuotaLimiter, currency: str = "") -> None:
        """Add the values that are counted by the watcher of a site and by the quota limiter.

        Call it in the event loop of the application.
        """
        self.registry.register(_SiteCollector(watcher, limiter, currency))

    def count_request(self, path: str, method: str, status: int) -> None:
        """Count a request; the operation of a path without one is `site`."""
        operation = next((name for name, pattern in self._paths if pattern.fullmatch(path)), "site")
        method = method if method in _METHODS else "other"
        self._count("requests", operation=operation, method=method, status=str(status))

    def count_refusal(self, problem: ProblemError) -> None:
        """Count a request that got a problem response."""
        self._count("refused", code=problem.code, status=str(problem.status))

    def count_feedback(self, *, helpful: bool) -> None:
        """Count an opinion of a reader."""
        self._count("feedback", helpful="yes" if helpful else "no")

    def count_answer(self, record: AnswerRecord) -> None:
        """Count the answer of one client."""
        end = record.events[-1] if record.events else None
        if record.abandoned or not isinstance(end, Finished):
            self._count("answers_left", model=record.model)
        else:
            self._count("answers", model=record.model, state=end.state, cached="yes" if record.is_shared else "no")
        if record.first_text_seconds is not None and not record.is_shared:
            self._first_text.labels(model=record.model).observe(record.first_text_seconds)

    def count_cost(self, cost: AnswerCost) -> None:
        """Count the resources of an answer."""
        if cost.completed:
            self._seconds.labels(model=cost.model).observe(cost.seconds)
        if cost.failure:
            self._count("provider_errors", model=cost.model, cause=cost.failure)
        for kind in ("input", "cache_read", "cache_write", "output"):
            if tokens := getattr(cost.usage, kind):
                self._count("tokens", tokens, model=cost.model, kind=kind)
        if cost.cost:
            self._count("cost", cost.cost, model=cost.model, currency=cost.currency)


class _SiteCollector(Collector):
    """Reads values from the watcher of a site and from the quota limiter at the time of a request.

    They belong to the event loop, so they are read there; a loop that does not respond in time has no values.
    """

    def __init__(self, watcher: SiteWatcher, limiter: QuotaLimiter, currency: str) -> None:
        self._watcher = watcher
        self._limiter = limiter
        self._currency = currency
        self._loop = asyncio.get_running_loop()

    def collect(self) -> Iterable[Metric]:
        reading = asyncio.run_coroutine_threadsafe(self._read_money(), self._loop)
        try:
            return [*reading.result(_COLLECT_SECONDS), *self._read_site()]
        except FutureTimeoutError:
            reading.cancel()
            return []

    async def _read_money(self) -> list[Metric]:
        """Return the money of the day and its limit. Without the setting `money_a_day` none is counted."""
        limit = self._limiter.quota.money_a_day
        if limit is None:
            return []
        amount = inf if limit == UNLIMITED else float(limit)
        currency = {"currency": self._currency}
        metrics = [_gauge("roaming_money_a_day", "Limit of the money of a day.", amount, **currency)]
        try:
            spent = await self._limiter.spent()
        except CounterStorageError:
            is_up = 0
        else:
            is_up = 1
            description = "Money of today (UTC), spent or reserved, by all processes that share counters."
            metrics.append(_gauge("roaming_money_today", description, spent, **currency))
        return [*metrics, _gauge("roaming_counters_up", "1 if money can be counted, otherwise 0.", is_up)]

    def _read_site(self) -> Iterable[Metric]:
        watcher = self._watcher
        current = self._watcher.current
        yield CounterMetricFamily("roaming_site_failures", "Failed checks of the site.", watcher.failures)
        yield CounterMetricFamily("roaming_site_changes", "Changes to a newer deployment.", watcher.changes)
        is_up = current is not None and not watcher.problem
        yield _gauge("roaming_site_up", "1 if the site can be read, otherwise 0.", is_up)
        yield _gauge("roaming_answers_in_progress", "Answers in progress.", self._limiter.in_progress)
        if current is None:
            return
        count = len(current.library.sections)
        yield _gauge("roaming_site_sections", "Sections of the site.", count, digest=current.digest)
        if current.search.published:
            description = "1 if search uses embeddings, 0 if lexical only."
            yield _gauge("roaming_search_by_meaning", description, current.search.published.healthy)


def _gauge(name: str, description: str, value: float, **labels: str) -> Metric:
    gauge = GaugeMetricFamily(name, description, labels=tuple(labels))
    gauge.add_metric(tuple(labels.values()), value)
    return gauge


# The server of the metrics


def parse_metrics_address(text: str) -> tuple[str, int] | None:
    """Return host and port of a place for the metrics, None for `off`. Raise UsageError for another text."""
    if text == METRICS_OFF:
        return None
    host = parse_host(text)
    if host is None or not host[1]:
        raise UsageError(f"[serve] metrics: {text[:100]!r} is no address; write {METRICS_ADDRESS} or off")
    return host[0].strip("[]"), int(host[1])


@asynccontextmanager
async def serve_metrics(metrics: Metrics, address: tuple[str, int] | None) -> AsyncIterator[None]:
    """Return the context in which metrics are served at an address, if any, from threads of their own.

    An address that cannot be used is logged: readers matter more than metrics.
    """
    server = await run_in_thread(lambda: _start_server(metrics, *address)) if address else None
    try:
        yield
    finally:
        if server is not None:
            await run_in_thread(server.shutdown)
            server.server_close()


def _start_server(metrics: Metrics, host: str, port: int) -> WSGIServer | None:
    ThreadingWSGIServer.allow_reuse_port = False  # or several processes would take turns in answering
    try:
        server, _ = start_http_server(port, host, metrics.registry)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        fix = "Set another address with [serve] metrics or --metrics, or off"
        _log.warning("metrics are not served: cannot bind to %s:%d: %s. %s", host, port, reason, fix)
        return None
    return server


_log = logging.getLogger("mkdocs_roaming.serve")
_COLLECT_SECONDS = 3.0
_METHODS = ("GET", "HEAD", "POST", "OPTIONS", "DELETE")
_COUNTERS = {
    "requests": ("Requests, by operation and status.", "operation", "method", "status"),
    "refused": ("Refused and failed requests, by code.", "code", "status"),
    "answers": ("Answers sent, by final state and whether cached.", "model", "state", "cached"),
    "answers_left": ("Answers whose client disconnected before the end.", "model"),
    "tokens": ("Tokens of all started answers, as reported by the provider.", "model", "kind"),
    "provider_errors": ("Answers that failed, by cause.", "model", "cause"),
    "cost": ("Known cost of answers.", "model", "currency"),
    "feedback": ("Ratings and comments of readers.", "helpful"),
}
"""Descriptions and labels of the counters."""
