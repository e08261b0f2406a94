"""Anthropic's Message Batches API: `/v1/messages/batches`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from messages_api import anthropic_wire
from messages_api.cache import Cache
from messages_api.parts import Brain, Expired, Status

PATH = "/v1/messages/batches"


@dataclass
class Batch:
    """A batch.

    Attributes:
        id: Its id.
        params: The parameters of each request by its custom id.
        results: The result of each request by its custom id.
        polls: Number of requests for its state.
    """

    id: str
    params: dict[str, Any]
    results: dict[str, dict[str, Any]]
    polls: int = 0

    def describe(self, url: str, *, ended: bool) -> dict[str, Any]:
        """Return the state of the batch as the API does."""
        kinds = [result["type"] for result in self.results.values()] if ended else []
        names = ("succeeded", "errored", "canceled", "expired")
        return {
            "id": self.id,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": {
                "processing": 0 if ended else len(self.params),
                **{name: kinds.count(name) for name in names},
            },
            "created_at": "2026-11-01T10:00:00Z",
            "expires_at": "2026-11-02T10:00:00Z",
            "ended_at": "2026-11-01T11:00:00Z" if ended else None,
            "archived_at": None,
            "cancel_initiated_at": None,
            "results_url": f"{url}{PATH}/{self.id}/results" if ended else None,
        }


@dataclass
class Batches:
    """The batches of a server.

    Attributes:
        polls: Number of requests for the state of a batch until it ends.
        unknown: Number of requests for a state or results that are answered with 404, as the API does at times.
        half: Number of downloads of results that break off in the middle.
        pause: Seconds between the start of a batch and the response to it.
        started: The batches.
    """

    polls: int = 0
    unknown: int = 0
    half: int = 0
    pause: float = 0.0
    started: dict[str, Batch] = field(default_factory=dict)

    @property
    def billed(self) -> list[str]:
        """The names of all requests that were answered."""
        return [
            name
            for batch in self.started.values()
            for name, result in batch.results.items()
            if result["type"] == "succeeded"
        ]

    def start(self, body: Any, brain: Brain, cache: Cache) -> Batch:
        """Start a batch; the replies are computed at once."""
        params = {one["custom_id"]: one["params"] for one in body["requests"]}
        results = {name: _answer(one, brain, cache) for name, one in params.items()}
        batch = Batch(f"msgbatch_{len(self.started) + 1}", params, results)
        self.started[batch.id] = batch
        return batch

    def get(self, path: str, url: str) -> Status:
        """Return the response to a request for a state or for results."""
        id_, _, rest = path.removeprefix(f"{PATH}/").partition("/")
        batch = self.started.get(id_)
        if batch is None or self.unknown:
            self.unknown = max(0, self.unknown - 1)
            return Status(404, kind="not_found_error", message=f"no batch {id_}")
        if rest == "results":
            lines = [json.dumps({"custom_id": name, "result": batch.results[name]}) for name in reversed(batch.results)]
            return Status(200, body="\n".join(lines).encode() + b"\n")
        batch.polls += 1
        return Status(200, body=json.dumps(batch.describe(url, ended=batch.polls > self.polls)).encode())


def faults(body: Any, budget: int | None) -> list[str]:
    """Return all faults of a request that starts a batch."""
    requests = body.get("requests") if isinstance(body, dict) else None
    if not isinstance(requests, list) or not requests or set(body) != {"requests"}:
        return ["requests: expected a list of requests, and nothing else"]
    return list(_faults(requests, budget))


def _faults(requests: list[Any], budget: int | None) -> Iterator[str]:
    names = [one.get("custom_id") for one in requests]
    if len(set(names)) < len(names):
        yield "custom_id: must be unique"
    for name, one in zip(names, requests, strict=True):
        if set(one) != {"custom_id", "params"}:
            yield f"{name}: expected custom_id and params"
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", str(name)):
            yield f"custom_id: malformed: {name}"
        yield from anthropic_wire.faults(one.get("params") or {}, budget, in_batch=True)


def _answer(params: Any, brain: Brain, cache: Cache) -> dict[str, Any]:
    parts = iter(brain.reply(anthropic_wire.view(params)))
    first = next(parts, None)
    if isinstance(first, Expired):
        return {"type": "expired"}
    if isinstance(first, Status):
        error = {"type": first.kind, "message": first.message}
        return {"type": "errored", "error": {"type": "error", "error": error}}
    replied = parts if first is None else chain([first], parts)
    return {"type": "succeeded", "message": anthropic_wire.message(replied, params, cache.count(params))}
