"""Prometheus metrics of the endpoint. Labels contain neither client addresses nor questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector
from starlette.routing import compile_path

from mkdocs_roaming.answer.events import Finished
from mkdocs_roaming.library.hybrid import HybridSearch
from mkdocs_roaming.serve.deployments import SiteWatcher
from mkdocs_roaming.serve.openapi import Operation
from mkdocs_roaming.serve.quotas import QuotaLimiter
from mkdocs_roaming.serve.requests import ProblemError
from mkdocs_roaming.serve.service import AnswerCost, AnswerRecord

MEDIA_TYPE = CONTENT_TYPE_PLAIN_0_0_4
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
            "roaming_answers_total", "Answers sent, by final state and whether shared.", "model", "state", "cached"
        )
        self._abandoned = self._counter(
            "roaming_answers_left_total", "Answers whose client disconnected before the end.", "model"
        )
        self._tokens = self._counter(
            "roaming_tokens_total", "Tokens of all started answers, as reported by the provider.", "model", "kind"
        )
        self._cost = self._counter("roaming_cost_total", "Known cost of answers.", "model", "currency")
        self._feedback = self._counter("roaming_feedback_total", "Opinions of readers.", "helpful")
        self._seconds = Histogram(
            "roaming_answer_seconds",
            "Time to produce an answer.",
            ["model"],
            buckets=BUCKET_SECONDS,
            registry=self.registry,
        )

    def _counter(self, name: str, description: str, *labels: str) -> Counter:
        return Counter(name, description, labels, registry=self.registry)

    def watch_site(self, watcher: SiteWatcher, limiter: QuotaLimiter) -> None:
        """Add the values that are counted by the watcher of a site and by the quota limiter."""
        self.registry.register(_SiteCollector(watcher, limiter))

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

    def count_cost(self, cost: AnswerCost) -> None:
        """Count the resources of an answer."""
        if cost.completed:
            self._seconds.labels(model=cost.model).observe(cost.seconds)
        for kind in ("input", "cache_read", "cache_write", "output"):
            if tokens := getattr(cost.usage, kind):
                self._tokens.labels(model=cost.model, kind=kind).inc(tokens)
        if cost.cost:
            self._cost.labels(model=cost.model, currency=cost.currency).inc(cost.cost)

    def render(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self.registry)


class _SiteCollector(Collector):
    """Reads values from the watcher of a site and from the quota limiter at the time of a request."""

    def __init__(self, watcher: SiteWatcher, limiter: QuotaLimiter) -> None:
        self._watcher, self._limiter = watcher, limiter

    def collect(self) -> Iterator[Metric]:
        watcher, current = self._watcher, self._watcher.current
        yield CounterMetricFamily("roaming_site_looks", "Checks of the site for changes.", watcher.checks)
        yield CounterMetricFamily("roaming_site_failures", "Failed checks of the site.", watcher.failures)
        yield CounterMetricFamily("roaming_site_changes", "Changes to a newer deployment.", watcher.changes)
        is_up = current is not None and not watcher.problem
        yield GaugeMetricFamily("roaming_site_up", "1 if the site can be read, otherwise 0.", int(is_up))
        yield GaugeMetricFamily("roaming_answers_under_way", "Answers in progress.", self._limiter.in_progress)
        if current is None:
            return
        sections = GaugeMetricFamily("roaming_site_sections", "Sections of the site.", labels=["digest"])
        sections.add_metric([current.digest], len(current.library.sections))
        yield sections
        if isinstance(current.search, HybridSearch):
            vectors = current.search.vectors
            yield CounterMetricFamily("roaming_embeddings", "Queries sent for embedding.", vectors.queries.requests)
            yield CounterMetricFamily(
                "roaming_embeddings_failures", "Queries that got no vector in time.", vectors.queries.failures
            )
            yield GaugeMetricFamily(
                "roaming_search_by_meaning", "1 if search uses embeddings, 0 if lexical only.", int(vectors.healthy)
            )


_METHODS = ("GET", "HEAD", "POST", "OPTIONS", "DELETE")
