"""Texts as vectors: what makes them, and who is asked for them.

A vector stands for what a text means, so texts that say the same in other words lie near each other. The published
files name the model alone: where it is and with which key it is asked is for whoever builds or reads a site to say.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
import threading
import time
import weakref
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

from mkdocs_roaming._http import ApiConfig, ConnectionTracker, parse_base_url, parse_retry_after, run_with_timeout
from mkdocs_roaming.errors import RoamingError, UsageError
from mkdocs_roaming.text.tokenizer import extract_terms, parse_words

if TYPE_CHECKING:
    from httpx2 import Client


BASE_URL = "https://api.openai.com/v1"


URL, KEY = "ROAMING_EMBEDDINGS_URL", "ROAMING_EMBEDDINGS_KEY"


BATCH_SIZE = 32


"""The most texts of one request: what the servers take that take least."""


Vector = Sequence[float]


class Embedder(Protocol):
    """Makes vectors of texts; `model` names what makes them."""

    model: str

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Give a vector for each text, all of one length. Raises EmbeddingError where that cannot be."""
        ...


class EmbeddingError(RoamingError):
    """No vectors can be had. `again` tells that they may in a moment, `wait` how long the server asks to wait."""

    def __init__(self, message: str, *, again: bool = False, wait: float | None = None) -> None:
        super().__init__(message)
        self.again, self.wait = again, wait


@dataclass(frozen=True, slots=True)
class EmbeddingsConfig:
    """Who makes vectors: the model, its server, the variable that holds the key.

    Some models want to be told what a text is: `text_prefix` stands before a section's text, `query_prefix` before a
    question.
    """

    model: str
    base_url: str = ""
    key_env: str = ""
    text_prefix: str = ""
    query_prefix: str = ""


CONFIG_FIELDS = ("model", "base_url", "key_env", "text_prefix", "query_prefix")


def parse_embeddings_config(said: object, where: str) -> EmbeddingsConfig:
    """Read what a configuration says of embeddings; raises UsageError in one line that starts with `where`."""
    if not isinstance(said, Mapping):
        raise UsageError(f"{where}: a table such as `model: nomic-embed-text`, not {said!r}")
    for name, value in said.items():
        if name not in CONFIG_FIELDS:
            raise UsageError(f"{where}: there is no {name!r}; there are {', '.join(CONFIG_FIELDS)}")
        if not isinstance(value, str):
            raise UsageError(f"{where}: {name} is a text, not {value!r}")
    if not str(said.get("model", "")).strip():
        raise UsageError(f"{where}: which model? name one, such as `model: nomic-embed-text`")
    return EmbeddingsConfig(**said)


def create_embeddings_client(said: EmbeddingsConfig, environ: Mapping[str, str], **how: Any) -> EmbeddingsClient:
    """Give the server that embeddings are asked of; raises UsageError where something is missing.

    The address is ROAMING_EMBEDDINGS_URL, else the configured one, else OpenAI's. The key is in the variable that
    `key_env` names, else in ROAMING_EMBEDDINGS_KEY. OPENAI_API_KEY goes to OpenAI alone: it was never meant for an
    address that a file names.
    """
    where = environ.get(URL, "").strip() or said.base_url.strip() or BASE_URL
    own = parse_base_url(where, "/v1") == BASE_URL
    names = [said.key_env] if said.key_env else [KEY, *(["OPENAI_API_KEY"] if own else [])]
    name = next((name for name in names if environ.get(name, "").strip()), names[-1])
    key = environ.get(name, "").strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise UsageError(f"the key in {name} holds a character that no key has; set it anew")
    if said.key_env and not key:
        raise UsageError(f"{said.model} takes its key from {said.key_env}, which is not set")
    if own and not key:
        raise UsageError(
            f"where is {said.model}? give base_url, such as http://localhost:11434/v1, or set OPENAI_API_KEY for OpenAI"
        )
    return EmbeddingsClient(said.model, base_url=where, key=key, key_name=name, **how)


class EmbeddingsClient:
    """Any server that speaks OpenAI's embeddings API: OpenAI's own, Ollama, llama.cpp, vLLM and others.

    A request that fails for a while is made again, at most `retries` times, with growing pauses or as the server asks,
    and never after a pause of more than `patience` seconds. Redirects are not followed: the key stays where it belongs.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = BASE_URL,
        key: str = "",
        key_name: str = KEY,
        seconds: float = 60.0,
        retries: int = 3,
        patience: float = 60.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        import httpx2  # only for those who ask

        self.model = model
        self._service = ApiConfig(model, parse_base_url(base_url, "/v1"), key, key_name, "base_url")
        self._seconds, self._retries, self._patience, self._sleep = seconds, retries, patience, sleep
        self._httpx2 = httpx2
        self._plain = True  # whether `encoding_format` is sent: not every server knows it
        self._open()

    def _open(self) -> None:
        key, seconds = self._service.key, self._seconds
        self._client = self._httpx2.Client(
            timeout=self._httpx2.Timeout(seconds, connect=min(5.0, seconds)),
            headers={"Authorization": f"Bearer {key}"} if key else {},
        )
        self._connections = ConnectionTracker()
        self._close = weakref.finalize(self, self._client.close)

    @property
    def address(self) -> str:
        """Where it is, without what may be secret in it."""
        return self._service.address

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Give a vector for each text."""
        found: list[Vector] = []
        for begin in range(0, len(texts), BATCH_SIZE):
            found += self._trying(texts[begin : begin + BATCH_SIZE])
        if len({len(vector) for vector in found}) > 1:
            raise self._nonsense("vectors of different lengths")
        return found

    def _trying(self, texts: Sequence[str]) -> list[Vector]:
        tried = 0
        while True:
            try:
                return self._asked(texts)
            except EmbeddingError as error:
                if not error.again or tried >= self._retries or (error.wait or 0.0) > self._patience:
                    raise
                pause = min(0.5 * 2.0**tried, 8.0) if error.wait is None else error.wait
            tried += 1
            self._sleep(pause)

    def _asked(self, texts: Sequence[str]) -> list[Vector]:
        body: dict[str, Any] = {"model": self.model, "input": list(texts)}
        if self._plain:
            body["encoding_format"] = "float"
        client, connections = self._client, self._connections

        def give_up() -> None:
            if self._client is client:  # else another question gave it up before
                connections.shutdown()
                self._close()
                self._open()

        try:
            status, headers, data = run_with_timeout(
                lambda: self._sent(client, connections, body), self._seconds, give_up
            )
        except (self._httpx2.TimeoutException, TimeoutError):
            raise self._slow() from None
        except (self._httpx2.TransportError, self._httpx2.InvalidURL) as broken:
            why, service = type(broken).__name__, self._service
            cure = f"start the server or check the network and {service.base_name}"
            raise EmbeddingError(
                f"{self.model}: {service.address} cannot be reached ({why}); {cure}", again=True
            ) from None
        except (ValueError, self._httpx2.DecodingError):
            raise self._nonsense("what cannot be decoded") from None
        if status == 200:
            return self._read(data, len(texts))
        message = _message(data)
        if status in (400, 422) and self._plain and "encoding_format" in message:
            self._plain = False
            return self._asked(texts)
        if status in (400, 413, 422) and len(texts) > 1 and (status == 413 or "batch" in message.lower()):
            half = len(texts) // 2
            return self._asked(texts[:half]) + self._asked(texts[half:])
        raise self._refused(status, message, parse_retry_after(headers))

    def _sent(
        self, client: Client, connections: ConnectionTracker, body: object
    ) -> tuple[int, Mapping[str, str], bytes]:
        url, traced = f"{self._service.base_url}/embeddings", {"trace": connections.trace}
        with client.stream("POST", url, json=body, extensions=traced) as response:
            data = bytearray()
            for piece in response.iter_bytes():
                data += piece
                if len(data) > _LONGEST_BODY:
                    raise self._nonsense("an answer without end")
            return response.status_code, response.headers, bytes(data)

    # What came

    def _read(self, body: bytes, count: int) -> list[Vector]:
        try:
            rows = json.loads(body)["data"]
            places = [row.get("index", at) for at, row in enumerate(rows)]
            vectors = [_vector(row["embedding"]) for row in rows]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError, binascii.Error):
            raise self._nonsense("what is not the embeddings API") from None
        if len(vectors) != count:
            raise self._nonsense(f"{len(vectors)} vectors for {count} texts")
        if sorted(map(str, places)) != sorted(map(str, range(count))):
            raise self._nonsense("vectors that are not numbered like the texts")
        if len({len(vector) for vector in vectors}) != 1 or not 1 <= len(vectors[0]) <= MAX_DIMENSIONS:
            raise self._nonsense(f"vectors of different lengths, or none from 1 to {MAX_DIMENSIONS}")
        if not all(map(math.isfinite, (sum(vector) for vector in vectors))):
            raise self._nonsense("a vector with what is no number (NaN or infinity)")
        return [vector for _, vector in sorted(zip(places, vectors, strict=True), key=lambda pair: int(pair[0]))]

    def _refused(self, status: int, message: str, wait: float | None) -> EmbeddingError:
        service = self._service
        told = f" ({service.redact(message)})" if message else ""
        again = status in (408, 409, 429) or status >= 500
        if status in (401, 403):
            what, cure = "the key is not accepted", f"check {service.key_name}"
        elif status == 404:
            what, cure = f"{service.address} does not know this model or address", "check model and base_url"
        elif status == 429:
            what, cure = "too many requests", "try again later"
        elif 300 <= status < 400:
            what, cure = f"{service.address} answers with a redirect ({status})", "set base_url to where it leads"
        elif status >= 500:
            what, cure = f"{service.address} failed ({status})", "try again later"
        else:
            what, cure = f"the request was refused ({status})", "check that the model makes embeddings"
        return EmbeddingError(f"{self.model}: {what}{told}; {cure}", again=again, wait=wait)

    def _slow(self) -> EmbeddingError:
        return EmbeddingError(
            f"{self.model}: {self.address} gave no answer within {self._seconds:g} seconds; try again later", again=True
        )

    def _nonsense(self, what: str) -> EmbeddingError:
        return EmbeddingError(f"{self.model}: {self.address} sent {what}; check model and base_url")


class ToyEmbedder:
    """Vectors without a model: every word leads in a direction of its own, words said to mean the same in the same one.

    Deterministic and without a network, for tests and for trying things out. It knows no meaning but `synonyms`.
    """

    def __init__(self, dimensions: int = 64, synonyms: Iterable[Iterable[str]] = (), *, model: str = "toy") -> None:
        self.model = model
        self._dimensions = dimensions
        self._same = {
            term: f"={at}" for at, group in enumerate(synonyms) for word in group for term in extract_terms(word)[-1:]
        }

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Give a vector for each text."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Vector:
        found = [0.0] * self._dimensions
        for term in (term for word in parse_words(text) if not word.stop for term in word.terms):
            hashed = hashlib.sha256(self._same.get(term, term).encode("utf-8", "surrogatepass")).digest()
            for at in range(0, 12, 4):
                place = int.from_bytes(hashed[at : at + 3], "little") % self._dimensions
                found[place] += 1.0 if hashed[at + 3] & 1 else -1.0
        return found


def _vector(said: object) -> list[float]:
    """Read a vector: a list of numbers, or little-endian floats in base64."""
    if isinstance(said, str):
        floats = array("f")
        floats.frombytes(base64.b64decode(said, validate=True))
        if _BIG_ENDIAN:
            floats.byteswap()
        return floats.tolist()
    if not isinstance(said, list):
        raise TypeError
    return [float(number) for number in said]


def _message(body: bytes) -> str:
    """Give what a server says of an error, wherever it puts it."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    error = data.get("error", data) if isinstance(data, Mapping) else data
    if isinstance(error, Mapping):
        error = error.get("message") or error.get("detail") or ""
    return error if isinstance(error, str) else json.dumps(error)


MAX_DIMENSIONS = 8_192


_LONGEST_BODY = 64 * 2**20


_BIG_ENDIAN = array("H", [1]).tobytes()[0] == 0


# MERGED mkdocs_roaming.roam.queries:
# Questions as vectors: one request for each, the last ones kept, and an endpoint that fails left alone for a
# while.


QUERY_TIMEOUT = 2.0


"""The seconds that a question waits for its vector."""


FAILURE_PAUSE = 60.0


"""The seconds for which an endpoint that failed is left alone: not every question should wait for it."""


Tell = Callable[[str], None]


class QueryEmbedder:
    """Questions as vectors, the last ones kept. Shared by all libraries; safe from several threads.

    `on_warning` gets one line when the endpoint fails, and again only after it was well in between.
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        prefix: str = "",
        on_warning: Tell = lambda line: None,
        patience: float = QUERY_TIMEOUT,
        pause: float = FAILURE_PAUSE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.model = embedder.model
        self.on_warning = on_warning
        self.requests = self.failures = 0
        self._embedder, self._prefix, self._patience, self._pause = embedder, prefix, patience, pause
        self.clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Vector] = OrderedDict()
        self._rests_until = float("-inf")
        self._told = ""

    @property
    def healthy(self) -> bool:
        """Whether the endpoint did not fail when it was asked last."""
        return not self._told

    def kept(self, query: str) -> Vector | None:
        """Give a question's vector if it is known already."""
        with self._lock:
            vector = self._kept.get(_text(query))
            if vector is not None:
                self._kept.move_to_end(_text(query))
            return vector

    def vector(self, query: str) -> Vector | None:
        """Give a question's vector; None where it cannot be had now."""
        if (vector := self.kept(query)) is not None:
            return vector
        with self._lock:
            if self.clock() < self._rests_until:
                return None
            if self._told:
                self._rests_until = self.clock() + self._pause  # one question tries, the others need not wait
        try:
            return self._asked(_text(query))
        except EmbeddingError as error:
            self.fail(str(error))
            return None

    def fail(self, why: str) -> None:
        """Leave the endpoint alone for a while, and say why, once."""
        with self._lock:
            self.failures += 1
            self._rests_until = self.clock() + self._pause
            new, self._told = not self._told, why
        if new:
            self.on_warning(f"search goes by words alone: {why}")

    def _asked(self, text: str) -> Vector:
        """Ask for a vector, and wait no longer than patience lasts; one that comes late is kept for the next time."""
        came: SimpleQueue[Vector | EmbeddingError] = SimpleQueue()

        def ask() -> None:
            try:
                (vector,) = self._embedder.embed([self._prefix + text])
            except EmbeddingError as error:
                came.put(error)
            except Exception as error:  # whatever it is, the question must not wait for it
                came.put(EmbeddingError(f"{self.model}: {type(error).__name__}"))
            else:
                self._keep(text, vector)
                came.put(vector)

        self.requests += 1
        threading.Thread(target=ask, name="roaming embeddings", daemon=True).start()
        try:
            found = came.get(timeout=self._patience)
        except Empty:
            raise EmbeddingError(f"{self.model}: no answer within {self._patience:g} seconds") from None
        if isinstance(found, EmbeddingError):
            raise found
        with self._lock:
            self._told, self._rests_until = "", float("-inf")
        return found

    def _keep(self, text: str, vector: Vector) -> None:
        with self._lock:
            self._kept[text] = vector
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)


def _text(query: str) -> str:
    return " ".join(query[:_MAX_QUERY_CHARS].split())


_MAX_QUERY_CHARS = 2_000


_MOST_KEPT = 256
