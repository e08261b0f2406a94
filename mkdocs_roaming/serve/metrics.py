"""What happened, counted, in Prometheus' text format. Labels hold no addresses and no words of readers."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Literal

from starlette.routing import compile_path

from mkdocs_roaming.answer.events import Finished
from mkdocs_roaming.library.hybrid import HybridSearch
from mkdocs_roaming.serve.deployments import SiteWatcher
from mkdocs_roaming.serve.middleware import ASGIApp
from mkdocs_roaming.serve.openapi import OPERATIONS, STORE_OPERATIONS
from mkdocs_roaming.serve.problems import ProblemError
from mkdocs_roaming.serve.quotas import QuotaLimiter
from mkdocs_roaming.serve.service import AnswerCost, AnswerRecord

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


BUCKET_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0)


Labels = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class _Family:
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    values: dict[Labels, float] = field(default_factory=dict)
    spread: dict[Labels, list[int]] = field(default_factory=dict)


class Metrics:
    """Counters, gauges and histograms by name and labels; names are given beforehand. Safe from several threads."""

    def __init__(self, counters: Mapping[str, str], gauges: Mapping[str, str], histograms: Mapping[str, str]) -> None:
        self._lock = threading.Lock()
        self._families = {
            **{name: _Family("counter", said) for name, said in counters.items()},
            **{name: _Family("gauge", said) for name, said in gauges.items()},
            **{name: _Family("histogram", said) for name, said in histograms.items()},
        }

    def add(self, name: str, amount: float = 1, **labels: str) -> None:
        """Add to a counter."""
        family, key = self._families[name], tuple(labels.items())
        with self._lock:
            family.values[key] = family.values.get(key, 0) + amount

    def set(self, name: str, value: float, **labels: str) -> None:
        """Set a gauge, or a counter that is kept elsewhere; other labels of it are forgotten."""
        with self._lock:
            self._families[name].values = {tuple(labels.items()): value}

    def observe(self, name: str, seconds: float, **labels: str) -> None:
        """Add to a histogram of seconds."""
        family, key = self._families[name], tuple(labels.items())
        with self._lock:
            spread = family.spread.setdefault(key, [0] * (len(BUCKET_SECONDS) + 1))
            spread[bisect_left(BUCKET_SECONDS, seconds)] += 1
            family.values[key] = family.values.get(key, 0) + seconds

    def text(self) -> str:
        """Give everything as Prometheus reads it."""
        with self._lock:
            return "".join(_family(name, family) for name, family in self._families.items())


def _family(name: str, family: _Family) -> str:
    lines = [f"# HELP {name} {family.help}", f"# TYPE {name} {family.kind}"]
    for labels, value in family.values.items():
        if family.kind != "histogram":
            lines.append(f"{name}{_labels(labels)} {_number(value)}")
            continue
        total = 0
        for edge, count in zip((*map(str, BUCKET_SECONDS), "+Inf"), family.spread[labels], strict=True):
            total += count
            lines.append(f"{name}_bucket{_labels((*labels, ('le', edge)))} {total}")
        lines += [f"{name}_sum{_labels(labels)} {_number(value)}", f"{name}_count{_labels(labels)} {total}"]
    return "\n".join(lines) + "\n"


def _labels(labels: Labels) -> str:
    told = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)
    return f"{{{told}}}" if told else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


# MERGED mkdocs_roaming.serve.counting:
# What the endpoint counts: requests, refusals, answers, tokens, money, looks at the site.


Message = MutableMapping[str, Any]


def make_metrics() -> Metrics:
    """Give the counters of an endpoint."""
    return Metrics(
        counters={
            "roaming_requests_total": "Requests, by operation and status.",
            "roaming_refused_total": "Requests refused before they reached an operation, by code.",
            "roaming_answers_total": "Answers, by model, end, and whether they were kept, or made for another.",
            "roaming_answers_left_total": "Answers whose reader left before the end.",
            "roaming_tokens_total": "Tokens as the model's provider counts them, by kind, of all answers begun.",
            "roaming_cost_total": "Money, by currency, as far as prices are known.",
            "roaming_feedback_total": "Opinions of readers.",
            "roaming_site_looks_total": "Looks at the site.",
            "roaming_site_failures_total": "Looks at the site that failed.",
            "roaming_site_changes_total": "Changes to a newer deployment.",
            "roaming_embeddings_total": "Questions that a vector was asked for.",
            "roaming_embeddings_failures_total": "Those of them that got none in time.",
        },
        gauges={
            "roaming_site_up": "1 while the site can be read, 0 while a last good copy answers, or none.",
            "roaming_site_sections": "Sections of the site, by its digest.",
            "roaming_answers_under_way": "Answers under way.",
            "roaming_search_by_meaning": "1 while search goes by meaning too, 0 while it goes by words alone.",
        },
        histograms={"roaming_answer_seconds": "How long it took to make an answer."},
    )


class MetricsMiddleware:
    """Counts requests by operation and status; around everything else."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self._metrics = app, metrics

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Handle a request."""
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message.get("headers", ()), (b"x-content-type-options", b"nosniff")]}
            await send(message)

        try:
            await self.app(scope, receive, sending)
        finally:
            if scope["type"] == "http":
                operation, method = operation_of(scope["path"]), scope["method"]
                known = method if method in _METHODS else "other"
                self._metrics.add("roaming_requests_total", operation=operation, method=known, status=str(status))


def operation_of(path: str) -> str:
    """Give the name of the operation at a path; `site` where there is none."""
    return next((name for name, pattern in _PATTERNS if pattern.fullmatch(path)), "site")


class MetricsRecorder:
    """What is counted of answers and refusals."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def answer(self, outcome: AnswerRecord) -> None:
        """Count what came of a question for one reader."""
        end = outcome.events[-1] if outcome.events else None
        if outcome.left or not isinstance(end, Finished):
            self._metrics.add("roaming_answers_left_total", model=outcome.model)
            return
        cached = "yes" if outcome.cached else "no"
        self._metrics.add("roaming_answers_total", model=outcome.model, state=end.state, cached=cached)

    def made(self, made: AnswerCost) -> None:
        """Count what making an answer took, however many heard it."""
        if made.whole:
            self._metrics.observe("roaming_answer_seconds", made.seconds, model=made.model)
        for kind in ("input", "cache_read", "cache_write", "output"):
            if amount := getattr(made.usage, kind):
                self._metrics.add("roaming_tokens_total", amount, model=made.model, kind=kind)
        if made.counted:
            self._metrics.add("roaming_cost_total", made.counted, model=made.model, currency=made.currency)

    def refusal(self, refused: ProblemError) -> None:
        """Count a refusal of the guard's."""
        self._metrics.add("roaming_refused_total", code=refused.code, status=str(refused.status))

    def measure(self, deployments: SiteWatcher, gate: QuotaLimiter) -> None:
        """Take over what is counted elsewhere."""
        current = deployments.current
        self._metrics.set("roaming_site_looks_total", deployments.looks)
        self._metrics.set("roaming_site_failures_total", deployments.failures)
        self._metrics.set("roaming_site_changes_total", deployments.changes)
        self._metrics.set("roaming_site_up", 1 if current and not deployments.problem else 0)
        self._metrics.set("roaming_answers_under_way", gate.busy)
        if current is not None and isinstance(current.search, HybridSearch):
            meaning = current.search.vectors
            self._metrics.set("roaming_embeddings_total", meaning.queries.requests)
            self._metrics.set("roaming_embeddings_failures_total", meaning.queries.failures)
            self._metrics.set("roaming_search_by_meaning", 1 if meaning.healthy else 0)
        if current is not None:
            self._metrics.set("roaming_site_sections", len(current.library.sections), digest=current.digest)


_METHODS = ("GET", "HEAD", "POST", "OPTIONS", "DELETE")


_PATTERNS = [(one.name, compile_path(one.path)[0]) for one in (*OPERATIONS, *STORE_OPERATIONS)]
