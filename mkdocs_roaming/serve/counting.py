"""What the endpoint counts: requests, refusals, answers, tokens, money, looks at the site."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.routing import compile_path

from mkdocs_roaming.answer.events import Finished
from mkdocs_roaming.roam.meaning import Hybrid
from mkdocs_roaming.serve.answering import Outcome
from mkdocs_roaming.serve.deployments import Deployments
from mkdocs_roaming.serve.gate import Gate
from mkdocs_roaming.serve.guard import App
from mkdocs_roaming.serve.metrics import Metrics
from mkdocs_roaming.serve.operations import OF_SITES, OPERATIONS
from mkdocs_roaming.serve.problems import Refused
from mkdocs_roaming.serve.spending import Made

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


class Counting:
    """Counts requests by operation and status; around everything else."""

    def __init__(self, app: App, metrics: Metrics) -> None:
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


class Counted:
    """What is counted of answers and refusals."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def answer(self, outcome: Outcome) -> None:
        """Count what came of a question for one reader."""
        end = outcome.events[-1] if outcome.events else None
        if outcome.left or not isinstance(end, Finished):
            self._metrics.add("roaming_answers_left_total", model=outcome.model)
            return
        cached = "yes" if outcome.cached else "no"
        self._metrics.add("roaming_answers_total", model=outcome.model, state=end.state, cached=cached)

    def made(self, made: Made) -> None:
        """Count what making an answer took, however many heard it."""
        if made.whole:
            self._metrics.observe("roaming_answer_seconds", made.seconds, model=made.model)
        for kind in ("input", "cache_read", "cache_write", "output"):
            if amount := getattr(made.usage, kind):
                self._metrics.add("roaming_tokens_total", amount, model=made.model, kind=kind)
        if made.counted:
            self._metrics.add("roaming_cost_total", made.counted, model=made.model, currency=made.currency)

    def refusal(self, refused: Refused) -> None:
        """Count a refusal of the guard's."""
        self._metrics.add("roaming_refused_total", code=refused.code, status=str(refused.status))

    def measure(self, deployments: Deployments, gate: Gate) -> None:
        """Take over what is counted elsewhere."""
        current = deployments.current
        self._metrics.set("roaming_site_looks_total", deployments.looks)
        self._metrics.set("roaming_site_failures_total", deployments.failures)
        self._metrics.set("roaming_site_changes_total", deployments.changes)
        self._metrics.set("roaming_site_up", 1 if current and not deployments.problem else 0)
        self._metrics.set("roaming_answers_under_way", gate.busy)
        if current is not None and isinstance(current.search, Hybrid):
            meaning = current.search.meaning
            self._metrics.set("roaming_embeddings_total", meaning.queries.asked)
            self._metrics.set("roaming_embeddings_failures_total", meaning.queries.failures)
            self._metrics.set("roaming_search_by_meaning", 1 if meaning.well else 0)
        if current is not None:
            self._metrics.set("roaming_site_sections", len(current.library.places), digest=current.digest)


_METHODS = ("GET", "HEAD", "POST", "OPTIONS", "DELETE")
_PATTERNS = [(one.name, compile_path(one.path)[0]) for one in (*OPERATIONS, *OF_SITES)]
