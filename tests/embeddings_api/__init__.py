"""A local server with OpenAI's embeddings API, deterministic vectors and configurable faults.

with serving(EmbeddingsApi(key="k")) as api:
    connect(api.url, key="k").embed(["text"])
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from mkdocs_roaming._http import ApiConfig, parse_base_url
from mkdocs_roaming.embeddings.client import EmbeddingsClient
from mkdocs_roaming.embeddings.embedder import Embedder, Vector
from mkdocs_roaming.text.tokenizer import extract_terms, parse_words

SYNONYMS = (("automobile", "car"), ("outlay", "price"))


class ToyEmbedder:
    """Vectors without a model: each word has its own direction, and synonyms share one. Deterministic."""

    def __init__(self, dimensions: int = 64, synonyms: Iterable[Iterable[str]] = (), *, model: str = "toy") -> None:
        self.model = model
        self._dimensions = dimensions
        self._directions = {
            term: f"={number}"
            for number, group in enumerate(synonyms)
            for word in group
            for term in extract_terms(word)[-1:]
        }

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Vector:
        vector = [0.0] * self._dimensions
        for term in (term for word in parse_words(text) if not word.stop for term in word.terms):
            digest = hashlib.sha256(self._directions.get(term, term).encode("utf-8", "surrogatepass")).digest()
            for start in range(0, 12, 4):
                dimension = int.from_bytes(digest[start : start + 3], "little") % self._dimensions
                vector[dimension] += 1.0 if digest[start + 3] & 1 else -1.0
        return vector


@dataclass
class EmbeddingsApi:
    """The behaviour of the server, and the requests that it received."""

    embedder: Embedder = field(default_factory=ToyEmbedder)
    key: str = ""
    """The key that clients must send; empty: they must send none."""
    refusals: list[tuple[int, dict[str, str], str]] = field(default_factory=list)
    """Status, headers and error message of the next responses; later ones succeed."""
    max_batch: int = 32
    key_expires_after: int | None = None
    """Number of texts after which the key is rejected."""
    stall: threading.Event | None = None
    """The server waits for it before each response."""
    body: bytes | None = None
    """Sent instead of vectors."""
    transform: dict[str, Callable[[Any], Any]] = field(default_factory=dict)
    """Functions that change the `vectors` and the `rows` of a response."""
    url: str = ""
    texts: list[str] = field(default_factory=list)
    """All texts whose vectors were sent, in order."""
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    def respond(self, request: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body."""
        if self.refusals:
            status, headers, message = self.refusals.pop(0)
            return status, headers, json.dumps({"error": {"message": message}}).encode()
        if self.key_expires_after is not None and len(self.texts) >= self.key_expires_after:
            return 401, {}, b"{}"
        if self.keys[-1] != (f"Bearer {self.key}" if self.key else ""):
            return 401, {}, json.dumps({"error": {"message": f"bad key {self.keys[-1]}"}}).encode()
        texts = request["input"]
        if len(texts) > self.max_batch:
            return 422, {}, json.dumps({"error": f"batch size {len(texts)} > {self.max_batch}"}).encode()
        if self.body is not None:
            return 200, {}, self.body
        vectors = [list(vector) for vector in self.embedder.embed(texts)]
        vectors = self.transform.get("vectors", lambda same: same)(vectors)
        self.texts += texts
        rows = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)]
        rows = self.transform.get("rows", lambda same: same)(rows)
        return 200, {}, json.dumps({"object": "list", "data": rows, "model": request["model"]}).encode()


def connect(url: str, *, model: str = "toy", key: str = "", key_name: str = "KEY", **options: Any) -> EmbeddingsClient:
    """Return a client of a server."""
    return EmbeddingsClient(ApiConfig(model, parse_base_url(url, "/v1"), key, key_name, "base_url"), **options)


@contextmanager
def serving(api: EmbeddingsApi) -> Iterator[EmbeddingsApi]:
    """Run the server; `api.url` is its base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            api.requests.append(request)
            api.keys.append(self.headers.get("Authorization", ""))
            if api.stall is not None:
                api.stall.wait(20)
            status, headers, body = api.respond(request) if self.path == "/v1/embeddings" else (404, {}, b"{}")
            with suppress(OSError):  # the client may have left
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        httpd.daemon_threads = True
        api.url = f"http://127.0.0.1:{httpd.server_address[1]}/v1"
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield api
        finally:
            if api.stall is not None:
                api.stall.set()
            httpd.shutdown()
            thread.join()
