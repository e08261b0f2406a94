"""Prometheus metrics of the endpoint. Labels contain neither client addresses nor questions.

    async with serve_metrics(metrics, "127.0.0.1:9464"): …

They are served at an address of their own, because the address of the endpoint is public.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import AsyncIterator, Iterable
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import asynccontextmanager
from math import inf
from socket import AF_INET, AF_INET6
from socketserver import TCPServer
from wsgiref.simple_server import WSGIRequestHandler, make_server

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, make_wsgi_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, ThreadingWSGIServer, generate_latest
from prometheus_client.registry import Collector
from starlette.routing import compile_path

from mkdocs_roaming.answer.budget import run_in_thread
from mkdocs_roaming.answer.events import Finished
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.hybrid import HybridSearch
from mkdocs_roaming.serve.deployments import SiteWatcher
from mkdocs_roaming.serve.quotas import UNLIMITED, CounterStorageError, QuotaLimiter
from mkdocs_roaming.serve.requests import ProblemError
from mkdocs_roaming.serve.schemas import Operation
from mkdocs_roaming.serve.service import AnswerCost, AnswerRecord

MEDIA_TYPE = CONTENT_TYPE_PLAIN_0_0_4
METRICS_ADDRESS = "127.0.0.1:9464"
"""Where the metrics are by default: reachable only from this machine."""
METRICS_PATH, METRICS_OFF = "path", "off"
"""The metrics are at `/metrics` of the endpoint, or nowhere."""
BUCKET_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0)


class Metrics:
    """The metrics of one application; `operations` name its paths."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # not annotated
        self.registry = CollectorRegistry()
        self._paths = [(operation.name, compile_path(operation.path)[0]) for operation in operations]
        self._requests = self._counter(
            "roaming_requests_total", "Requests, by operation and status.", "operation", "method", "status"
        )
        self._refused = self._counter(
            "roaming_refused_total", "Refused and failed requests, by code.", "code", "status"
        )
        self._answers = self._counter(
            "roaming_answers_total", "Answers sent, by final state and whether cached.", "model", "state", "cached"
        )
        self._abandoned = self._counter(
            "roaming_answers_left_total", "Answers whose client disconnected before the end.", "model"
        )
        self._tokens = self._counter(
            "roaming_tokens_total", "Tokens of all started answers, as reported by the provider.", "model", "kind"
        )
        self._provider_errors = self._counter(
            "roaming_provider_errors_total", "Answers that failed, by cause.", "model", "cause"
        )
        self._cost = self._counter("roaming_cost_total", "Known cost of answers.", "model", "currency")
        self._feedback = self._counter("roaming_feedback_total", "Opinions of readers.", "helpful")
        self._seconds = self._histogram("roaming_answer_seconds", "Time to produce an answer.", "model")
        self._first_text = self._histogram(
            "roaming_first_text_seconds", "Time to the first text of an answer that is not cached.", "model"
        )

    def _counter(self, name: str, description: str, *labels: str) -> Counter:
        return Counter(name, description, labels, registry=self.registry)

    def _histogram(self, name: str, description: str, *labels: str) -> Histogram:
        return Histogram(name, description, labels, buckets=BUCKET_SECONDS, registry=self.registry)

    def watch_site(self, watcher: SiteWatcher, limiter: QuotaLimiter, currency: str = "") -> None:
        """Add the values that are counted by the watcher of a site and by the quota limiter.

        Call it in the event loop of the application. Then `render` needs a thread.
        """
        self.registry.register(_SiteCollector(watcher, limiter, currency))

    def find_operation(self, path: str) -> str:
        """Return the name of the operation at a path, `site` for any other path."""
        return next((name for name, pattern in self._paths if pattern.fullmatch(path)), "site")

    def count_request(self, path: str, method: str, status: int) -> None:
        """Count a request."""
        method = method if method in _METHODS else "other"
        self._requests.labels(operation=self.find_operation(path), method=method, status=str(status)).inc()

    def count_refusal(self, problem: ProblemError) -> None:
        """Count a request that got a problem response."""
        self._refused.labels(code=problem.code, status=str(problem.status)).inc()

    def count_feedback(self, *, helpful: bool) -> None:
        """Count an opinion of a reader."""
        self._feedback.labels(helpful="yes" if helpful else "no").inc()

    def count_answer(self, record: AnswerRecord) -> None:
        """Count the answer of one client."""
        end = record.events[-1] if record.events else None
        if record.abandoned or not isinstance(end, Finished):
            self._abandoned.labels(model=record.model).inc()
        else:
            cached = "yes" if record.cached else "no"
            self._answers.labels(model=record.model, state=end.state, cached=cached).inc()
        if record.first_text_seconds is not None and not record.cached:
            self._first_text.labels(model=record.model).observe(record.first_text_seconds)

    def count_cost(self, cost: AnswerCost) -> None:
        """Count the resources of an answer."""
        if cost.completed:
            self._seconds.labels(model=cost.model).observe(cost.seconds)
        if cost.failure:
            self._provider_errors.labels(model=cost.model, cause=cost.failure).inc()
        for kind in ("input", "cache_read", "cache_write", "output"):
            if tokens := getattr(cost.usage, kind):
                self._tokens.labels(model=cost.model, kind=kind).inc(tokens)
        if cost.cost:
            self._cost.labels(model=cost.model, currency=cost.currency).inc(cost.cost)

    def render(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self.registry)


class _SiteCollector(Collector):
    """Reads values from the watcher of a site and from the quota limiter at the time of a request.

    They belong to the event loop, so they are read there; a loop that does not respond in time has no values.
    """

    def __init__(self, watcher: SiteWatcher, limiter: QuotaLimiter, currency: str) -> None:
        self._watcher, self._limiter, self._currency = watcher, limiter, currency
        self._loop = asyncio.get_running_loop()

    def collect(self) -> Iterable[Metric]:
        reading = asyncio.run_coroutine_threadsafe(self._read(), self._loop)
        try:
            return reading.result(_COLLECT_SECONDS)
        except FutureTimeoutError:
            reading.cancel()
            return []

    async def _read(self) -> list[Metric]:
        return [*self._read_site(), *await self._read_money()]

    async def _read_money(self) -> list[Metric]:
        """Return the money of the day and its limit. Without the setting `money_a_day` none is counted."""
        limit = self._limiter.quota.money_a_day
        if limit is None:
            return []
        amount = inf if limit == UNLIMITED else float(limit)
        metrics = [_gauge("roaming_money_a_day", "Limit of the money of a day.", amount, currency=self._currency)]
        try:
            spent = await self._limiter.spent()
        except CounterStorageError:
            is_up = 0
        else:
            is_up = 1
            description = "Money of today (UTC), spent or reserved, by all processes that share counters."
            metrics.append(_gauge("roaming_money_today", description, spent, currency=self._currency))
        return [*metrics, _gauge("roaming_counters_up", "1 if money can be counted, otherwise 0.", is_up)]

    def _read_site(self) -> Iterable[Metric]:
        watcher, current = self._watcher, self._watcher.current
        yield CounterMetricFamily("roaming_site_looks", "Checks of the site for changes.", watcher.checks)
        yield CounterMetricFamily("roaming_site_failures", "Failed checks of the site.", watcher.failures)
        yield CounterMetricFamily("roaming_site_changes", "Changes to a newer deployment.", watcher.changes)
        is_up = current is not None and not watcher.problem
        yield GaugeMetricFamily("roaming_site_up", "1 if the site can be read, otherwise 0.", int(is_up))
        yield GaugeMetricFamily("roaming_answers_in_progress", "Answers in progress.", self._limiter.in_progress)
        if current is None:
            return
        count = len(current.library.sections)
        yield _gauge("roaming_site_sections", "Sections of the site.", count, digest=current.digest)
        if isinstance(current.search, HybridSearch):
            vectors = current.search.vectors
            yield CounterMetricFamily("roaming_embeddings", "Queries sent for embedding.", vectors.queries.requests)
            yield CounterMetricFamily(
                "roaming_embeddings_failures", "Queries that got no vector in time.", vectors.queries.failures
            )
            yield GaugeMetricFamily(
                "roaming_search_by_meaning", "1 if search uses embeddings, 0 if lexical only.", int(vectors.healthy)
            )


def _gauge(name: str, description: str, value: float, **labels: str) -> Metric:
    gauge = GaugeMetricFamily(name, description, labels=tuple(labels))
    gauge.add_metric(tuple(labels.values()), value)
    return gauge


# The server of the metrics


def parse_metrics_address(text: str) -> tuple[str, int] | None:
    """Return host and port of a place for the metrics, None for `path` and `off`.

    Raises:
        UsageError: The text is none of them.
    """
    if text in (METRICS_PATH, METRICS_OFF):
        return None
    match = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\s/]+):([0-9]{1,5})", text)
    if match is None or int(match[2]) > 65_535:
        raise UsageError(f"[serve] metrics: {text[:100]!r} is no address; write {METRICS_ADDRESS}, path or off")
    return match[1].strip("[]"), int(match[2])


@asynccontextmanager
async def serve_metrics(metrics: Metrics, place: str) -> AsyncIterator[None]:
    """Return the context in which metrics are served at an address, from threads of their own.

    An address that cannot be used is logged: readers matter more than metrics.
    """
    address = parse_metrics_address(place)
    server = await run_in_thread(lambda: _bind(metrics, *address)) if address else None
    if server is None:
        yield
        return
    threading.Thread(target=server.serve_forever, args=(_STOP_SECONDS,), daemon=True, name="metrics").start()
    if not place.endswith(f":{server.server_port}"):
        _log.info("metrics at http://%s:%d/metrics", place.rpartition(":")[0], server.server_port)
    try:
        yield
    finally:
        await run_in_thread(server.shutdown)
        server.server_close()


def _bind(metrics: Metrics, host: str, port: int) -> _MetricsServer | None:
    class Server(_MetricsServer):
        address_family = AF_INET6 if ":" in host else AF_INET

    try:
        return make_server(host, port, make_wsgi_app(metrics.registry), Server, _SilentHandler)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        fix = "Set another address with [serve] metrics or --metrics, or off"
        _log.warning("metrics are not served: cannot bind to %s:%d: %s. %s", host, port, reason, fix)
        return None


class _MetricsServer(ThreadingWSGIServer):
    allow_reuse_port = False  # or several processes would take turns in answering

    def server_bind(self) -> None:
        """Bind without the DNS query of the base class, which may take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()


class _SilentHandler(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


_log = logging.getLogger("mkdocs_roaming.serve")
_COLLECT_SECONDS = 3.0
_STOP_SECONDS = 0.1
_METHODS = ("GET", "HEAD", "POST", "OPTIONS", "DELETE")
