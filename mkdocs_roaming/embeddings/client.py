"""The client of embeddings APIs, and cached vectors of queries."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Protocol

import msgspec

from mkdocs_roaming._http import (
    ApiConfig,
    HttpClient,
    HttpResponse,
    parse_api_error,
    parse_base_url,
    parse_retry_after,
    run_with_timeout,
)
from mkdocs_roaming._json import decode_json
from mkdocs_roaming.errors import LibraryError, RoamingError

BASE_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "ROAMING_EMBEDDINGS_KEY"

BATCH_SIZE = 32
"""Number of texts in one request: the smallest limit of the common servers."""

MAX_DIMENSIONS = 8_192

_MAX_RESPONSE_BYTES = 64 * 2**20
_RETRYABLE = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS)
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 8.0
"""First pause before a retry, in seconds, and the longest that it is doubled to."""

_MAX_PAUSE = 60.0
"""Longest pause that a server may ask for, in seconds; if it asks for a longer one, the request fails."""

_MAX_QUERY_CHARS = 2_000
_CACHE_SIZE = 256

Vector = Sequence[float]


class Embedder(Protocol):
    """Computes vectors of texts; `model` is the name of the model."""

    model: str

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text, all of the same length.

        Raises:
            EmbeddingError: The vectors cannot be computed.
        """


class EmbeddingError(RoamingError):
    """The vectors of texts cannot be computed.

    Args:
        message: The reason.
        retryable: Whether a later request may succeed.
        retry_after: The pause in seconds that the server asks for.
    """

    def __init__(self, message: str, *, retryable: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after = retry_after


# HTTP API


class EmbeddingsClient:
    """Client for OpenAI's embeddings API, which Ollama, llama.cpp, vLLM and other servers also offer.

    Redirects are not followed, so that the key is only sent to the configured server.

    Args:
        model: The name of the model.
        base_url: The URL of the server.
        key: The key; empty for none.
        key_name: The environment variable of the key, for error messages.
        timeout: Time limit for one request in seconds.
        retries: Maximum number of retries after a temporary failure.
        sleep: Replaced by tests.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = BASE_URL,
        key: str = "",
        key_name: str = KEY_VARIABLE,
        timeout: float = 60.0,
        retries: int = 3,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.model = model
        self._api = ApiConfig(model, parse_base_url(base_url, "/v1"), key, key_name, "base_url")
        self.address = self._api.address
        """The URL of the server without credentials."""
        self._timeout = timeout
        self._retries = retries
        self._sleep = sleep
        self._http = HttpClient(
            self._api.base_url,
            seconds=timeout,
            read_seconds=timeout,
            headers={"Authorization": f"Bearer {key}"} if key else {},
            follow_redirects=False,
        )

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text.

        Raises:
            EmbeddingError: A request fails.
        """
        vectors: list[Vector] = []
        for start in range(0, len(texts), BATCH_SIZE):
            vectors += self._embed_batch(texts[start : start + BATCH_SIZE])
        lengths = {len(vector) for vector in vectors}
        if len(lengths) > 1 or not all(1 <= length <= MAX_DIMENSIONS for length in lengths):
            raise self._invalid(f"vectors of different lengths, or not of 1 to {MAX_DIMENSIONS} dimensions")
        return vectors

    def _embed_batch(self, texts: Sequence[str]) -> list[Vector]:
        attempt = 0
        while True:
            try:
                return self._request(texts)
            except EmbeddingError as error:
                pause = min(_FIRST_PAUSE * 2**attempt, _LONGEST_PAUSE)
                if error.retry_after is not None:
                    pause = error.retry_after
                if not error.retryable or attempt == self._retries or pause > _MAX_PAUSE:
                    raise
            attempt += 1
            self._sleep(pause)

    def _request(self, texts: Sequence[str]) -> list[Vector]:
        response = self._post({"model": self.model, "input": list(texts)})
        if response.status == HTTPStatus.OK:
            return self._parse(response.body, len(texts))
        raise self._refused(response)

    def _post(self, body: object) -> HttpResponse:
        import httpx2  # builds without vectors import no HTTP client

        try:
            return self._http.post(f"{self._api.base_url}/embeddings", body, _MAX_RESPONSE_BYTES)
        except (httpx2.TimeoutException, TimeoutError):
            raise EmbeddingError(
                f"{self.model}: {self.address} did not answer within {self._timeout:g} seconds; try again later",
                retryable=True,
            ) from None
        except (httpx2.TransportError, httpx2.InvalidURL) as error:
            raise EmbeddingError(
                f"{self.model}: cannot connect to {self.address} ({type(error).__name__}); "
                f"start the server or check the network and {self._api.base_name}",
                retryable=True,
            ) from None
        except (ValueError, httpx2.DecodingError, LibraryError):
            raise self._invalid("a response that is too large or cannot be decoded") from None

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
        return [vectors[index] for index in range(count)]

    def _refused(self, response: HttpResponse) -> EmbeddingError:
        status = response.status
        _, message, _ = parse_api_error(response.body)
        detail = f" ({self._api.redact(message)})" if message else ""
        retryable = status in _RETRYABLE or status >= HTTPStatus.INTERNAL_SERVER_ERROR
        fix = "try again later" if retryable else f"check model, base_url and the key in {self._api.key_name}"
        return EmbeddingError(
            f"{self.model}: {self.address} refused the request ({status}){detail}; {fix}",
            retryable=retryable,
            retry_after=parse_retry_after(response.headers),
        )

    def _invalid(self, response: str) -> EmbeddingError:
        return EmbeddingError(f"{self.model}: {self.address} sent {response}; check model and base_url")


class _Row(msgspec.Struct):
    embedding: list[float]
    index: int | None = None


class _Response(msgspec.Struct):
    data: list[_Row]


# Queries

QUERY_TIMEOUT = 2.0
"""Time limit for the vector of a query, in seconds."""

FAILURE_PAUSE = 60.0
"""Pause after a failure, in seconds, so that not every query waits for the server."""


class QueryEmbedder:
    """Computes and caches the vectors of queries. Shared by all libraries; safe for several threads.

    Args:
        embedder: The client of the model.
        prefix: Precedes each query.
        on_warning: Receives one line when the server fails, and again only after it has recovered in between.
        timeout: Time limit for the vector of a query, in seconds; None for a model in the process.
        decline: The cosine below which no section fits a question, if one is known for the model.
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
        self._cache: OrderedDict[str, Vector] = OrderedDict()
        self._paused_until = float("-inf")
        self._failure = ""

    @property
    def healthy(self) -> bool:
        """Whether the last request succeeded."""
        return not self._failure

    def cached(self, query: str) -> Vector | None:
        """Return the vector of a query if it is in the cache."""
        text = _normalize(query)
        with self._lock:
            vector = self._cache.get(text)
            if vector is not None:
                self._cache.move_to_end(text)
            return vector

    def embed(self, query: str) -> Vector | None:
        """Return the vector of a query, or None if the server fails or has failed a short time ago.

        A vector that arrives after the time limit is cached.
        """
        vector = self.cached(query)
        if vector is not None:
            return vector
        text = _normalize(query)
        with self._lock:
            if self.clock() < self._paused_until:
                return None
            if self._failure:
                self._paused_until = self.clock() + self._pause  # one query tries, the others do not wait
            self.requests += 1

        def request() -> Vector:
            (vector,) = self._embedder.embed([self._prefix + text])
            with self._lock:
                self._cache[text] = vector
                if len(self._cache) > _CACHE_SIZE:
                    self._cache.popitem(last=False)
            return vector

        try:
            vector = run_with_timeout(request, self._timeout, lambda: None) if self._timeout else request()
        except EmbeddingError as error:
            self._fail(str(error))
        except TimeoutError:
            self._fail(f"{self.model}: no vector within {self._timeout:g} seconds")
        except Exception as error:
            self._fail(f"{self.model}: {type(error).__name__}")
        else:
            with self._lock:
                self._failure = ""
                self._paused_until = float("-inf")
            return vector
        return None

    def _fail(self, reason: str) -> None:
        with self._lock:
            self._paused_until = self.clock() + self._pause
            is_new = not self._failure
            self._failure = reason
        if is_new:
            self.on_warning(f"search uses words only: {reason}")


def _normalize(query: str) -> str:
    return " ".join(query[:_MAX_QUERY_CHARS].split())
