"""A server on this machine that speaks OpenAI's embeddings API; its vectors are the toy's, its faults are chosen.

with serving(EmbeddingsApi(key="k")) as api:
    Endpoint("toy", base_url=api.url, key="k")
"""

from __future__ import annotations

import base64
import json
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from mkdocs_roaming.embeddings.client import Embedder, ToyEmbedder

MOST = 32
"""The most texts of one request."""
SYNONYMS = (("automobile", "car"), ("outlay", "price"))
"""What the toy is told to mean the same."""


@dataclass
class EmbeddingsApi:
    """What the server does, and what it was asked."""

    embedder: Embedder = field(default_factory=ToyEmbedder)
    key: str = ""
    """What must be sent; empty: no key may be sent."""
    refusals: list[tuple[int, dict[str, str], str]] = field(default_factory=list)
    """Status, headers and message of the next answers; then it answers well."""
    most: int = MOST
    gives: int | None = None
    """After so many texts it accepts no key any more."""
    stall: threading.Event | None = None
    """Waited for before each answer."""
    base64: bool = False
    knows_format: bool = True
    body: bytes | None = None
    """Answered in the place of vectors."""
    spoilt: dict[str, Any] = field(default_factory=dict)
    """Changes to the answer: `vectors` (a function), `order` (a function)."""
    url: str = ""
    texts: list[str] = field(default_factory=list)
    """All texts that were given vectors, in order."""
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    def answer(self, asked: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        """Give status, headers and body."""
        if self.refusals:
            status, headers, message = self.refusals.pop(0)
            return status, headers, json.dumps({"error": {"message": message}}).encode()
        if self.gives is not None and len(self.texts) >= self.gives:
            return 401, {}, b"{}"
        if self.keys[-1] != (f"Bearer {self.key}" if self.key else ""):
            return 401, {}, json.dumps({"error": {"message": f"bad key {self.keys[-1]}"}}).encode()
        if "encoding_format" in asked and not self.knows_format:
            return 400, {}, b'{"detail": "encoding_format: extra fields not permitted"}'
        if len(asked["input"]) > self.most:
            return 422, {}, json.dumps({"error": f"batch size {len(asked['input'])} > {self.most}"}).encode()
        if self.body is not None:
            return 200, {}, self.body
        vectors = [list(vector) for vector in self.embedder.embed(asked["input"])]
        vectors = self.spoilt.get("vectors", lambda same: same)(vectors)
        self.texts += asked["input"]
        rows = [{"object": "embedding", "index": at, "embedding": self._told(one)} for at, one in enumerate(vectors)]
        rows = self.spoilt.get("order", lambda same: same)(rows)
        return 200, {}, json.dumps({"object": "list", "data": rows, "model": asked["model"]}).encode()

    def _told(self, vector: list[float]) -> object:
        packed = struct.pack(f"<{len(vector)}f", *vector)
        return base64.b64encode(packed).decode() if self.base64 else vector


@contextmanager
def serving(api: EmbeddingsApi) -> Iterator[EmbeddingsApi]:
    """Serve while the block runs; `api.url` is what is configured as base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            api.requests.append(asked)
            api.keys.append(self.headers.get("Authorization", ""))
            if api.stall is not None:
                api.stall.wait(20)
            status, headers, body = api.answer(asked) if self.path == "/v1/embeddings" else (404, {}, b"{}")
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
