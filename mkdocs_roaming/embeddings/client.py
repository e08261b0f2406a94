"""The client of embeddings APIs, and cached vectors of queries."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus

import msgspec

from mkdocs_roaming._http import (
    ApiConfig,
    HttpClient,
    HttpResponse,
    UnavailableError,
    parse_api_error,
    parse_retry_after,
    run_with_timeout,
)
from mkdocs_roaming._json import decode_json
from mkdocs_roaming.embeddings.embedder import (
    FAILURE_PAUSE,
    MAX_DIMENSIONS,
    Embedder,
    EmbeddingError,
    Vector,
)
from mkdocs_roaming.errors import LibraryError

BASE_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "ROAMING_EMBEDDINGS_KEY"

_MAX_RESPONSE_BYTES = 64 * 2**20
_RETRYABLE = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS)
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 8.0
"""First pause before a retry, in seconds, and the longest that it is doubled to."""

_MAX_PAUSE = 60.0
"""Longest pause that a server may ask for, in seconds; if it asks for a longer one, the request fails."""

_MAX_QUERY_CHARS = 2_000
_CACHE_SIZE = 256

# HTTP API


class EmbeddingsClient:
    """Client for OpenAI's embeddings API, which Ollama, llama.cpp, vLLM and other servers also offer.

    Redirects are not followed, so that the key is only sent to the configured server.

    Args:
        api: The model, the URL of the server, and the key.
        timeout: Time limit for one request in seconds.
        retries: Maximum number of retries after a temporary failure.
        sleep: Replaced by tests.
    """

    def __init__(
        self,
        api: ApiConfig,
        *,
        timeout: float = 60.0,
        retries: int = 3,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.model = api.model
        self.api = api
        self._retries = retries
        self._sleep = sleep
        self._http = HttpClient(
            api.base_url,
            seconds=timeout,
            read_seconds=timeout,
            headers={"Authorization": f"Bearer {api.key}"} if api.key else {},
            follow_redirects=False,
        )

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text.

        Raises:
            EmbeddingError: The request fails.
        """
        attempt = 0
        while True:
            try:
                return self._request(texts)
            except EmbeddingError as error:
                pause = error.retry_after
                if pause is None:
                    pause = min(_FIRST_PAUSE * 2**attempt, _LONGEST_PAUSE)
                if not error.retryable or attempt == self._retries or pause > _MAX_PAUSE:
                    raise
            attempt += 1
            self._sleep(pause)

    def _request(self, texts: Sequence[str]) -> list[Vector]:
        body = {"model": self.model, "input": list(texts)}
        try:
            response = self._http.post(f"{self.api.base_url}/embeddings", body, _MAX_RESPONSE_BYTES)
        except LibraryError as error:
            message = str(error).replace(self.api.base_url, self.api.address)
            is_temporary = isinstance(error, UnavailableError)
            raise EmbeddingError(f"{self.model}: {message}", retryable=is_temporary) from None
        if response.status == HTTPStatus.OK:
            return self._parse(response.body, len(texts))
        raise self._refused(response)

    def _parse(self, body: bytes, count: int) -> list[Vector]:
        try:
            rows = decode_json(body, _Response).data
        except ValueError:
            raise self._invalid("a response that is not of the embeddings API") from None
        if len(rows) != count:
            raise self._invalid(f"{len(rows)} vectors for {count} texts")
        vectors = {at if row.index is None else row.index: row.embedding for at, row in enumerate(rows)}
        if vectors.keys() != set(range(count)):
            raise self._invalid("vectors whose index does not match the texts")
        lengths = {len(vector) for vector in vectors.values()}
        if len(lengths) > 1 or not 1 <= max(lengths) <= MAX_DIMENSIONS:
            raise self._invalid(f"vectors of different lengths, or not of 1 to {MAX_DIMENSIONS} dimensions")
        return [vectors[index] for index in range(count)]

    def _refused(self, response: HttpResponse) -> EmbeddingError:
        status = response.status
        _, message, _ = parse_api_error(response.body)
        detail = f" ({self.api.redact(message)})" if message else ""
        retryable = status in _RETRYABLE or status >= HTTPStatus.INTERNAL_SERVER_ERROR
        fix = "try again later" if retryable else f"check model, base_url and the key in {self.api.key_name}"
        return EmbeddingError(
            f"{self.model}: {self.api.address} refused the request ({status}){detail}; {fix}",
            retryable=retryable,
            retry_after=parse_retry_after(response.headers),
        )

    def _invalid(self, response: str) -> EmbeddingError:
        return EmbeddingError(f"{self.model}: {self.api.address} sent {response}; check model and base_url")


class _Row(msgspec.Struct):
    embedding: list[float]
    index: int | None = None


class _Response(msgspec.Struct):
    data: list[_Row]


# Queries

QUERY_TIMEOUT = 2.0
"""Time limit for the vector of a query, in seconds."""


class QueryEmbedder:
    """Computes and caches the vectors of queries. Shared by all libraries; safe for several threads.

    Args:
        embedder: The client of the model.
        prefix: Precedes each query.
        on_warning: Receives one line when the server fails, and again only after it has recovered in between.
        timeout: Time limit for the vector of a query, in seconds; None for a model in the process.
        decline: The likelihood (`Search.judge`) below which no section fits a question, if one is known.
        pause: Pause after a failure, in seconds.
        clock: Replaced by tests.
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        prefix: str = "",
        on_warning: Callable[[str], None] = lambda line: None,
        timeout: float | None = QUERY_TIMEOUT,
        decline: float | None = None,
        pause: float = FAILURE_PAUSE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.model = embedder.model
        self.decline = decline
        self.on_warning = on_warning
        self.clock = clock
        self.requests = 0
        self._embedder = embedder
        self._prefix = prefix
        self._timeout = timeout
        self._pause = pause
        self._lock = threading.Lock()
        self._cache: dict[str, Vector] = {}
        self._paused_until = float("-inf")
        self._failure = ""

    @property
    def healthy(self) -> bool:
        """Whether the last request succeeded."""
        return not self._failure

    def cached(self, query: str) -> Vector | None:
        """Return the vector of a query if it is in the cache."""
        return self._cache.get(_normalize(query))

    def embed(self, query: str) -> Vector | None:
        """Return the vector of a query, or None if the model fails or has failed a short time ago.

        A vector that arrives after the time limit is cached.
        """
        text = _normalize(query)
        vector = self._cache.get(text)
        if vector is not None:
            return vector
        with self._lock:
            if self.clock() < self._paused_until:
                return None
            if self._failure:
                self._paused_until = self.clock() + self._pause  # one query tries, the others do not wait
            self.requests += 1
        compute = partial(self._compute, text)
        failure = ""
        try:
            vector = run_with_timeout(compute, self._timeout, lambda: None) if self._timeout else compute()
        except TimeoutError:
            failure = f"{self.model}: no vector within {self._timeout:g} seconds"
        except EmbeddingError as error:
            failure = str(error)
        except Exception as error:
            failure = f"{self.model}: {type(error).__name__}"
        with self._lock:
            is_new = failure and not self._failure
            self._failure = failure
            self._paused_until = self.clock() + self._pause if failure else float("-inf")
        if is_new:
            self.on_warning(f"search works without embeddings: {failure}")
        return vector

    def _compute(self, text: str) -> Vector:
        (vector,) = self._embedder.embed([self._prefix + text])
        with self._lock:
            self._cache[text] = vector
            if len(self._cache) > _CACHE_SIZE:
                del self._cache[next(iter(self._cache))]
        return vector


def _normalize(query: str) -> str:
    return " ".join(query[:_MAX_QUERY_CHARS].split())
