"""A fake of the XML API of Google Cloud Storage: `python -m fleet_servers.gcs_server BUCKET`.

It follows Google's reference: objects are read, written (conditionally with `x-goog-if-generation-match: 0`), uploaded in
parts, deleted, and listed in pages with `list-type=2`. Another token than the bucket's is refused with 401.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

TOKEN = "token-of-the-shelf"
_PAGE = 1000


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    bucket: str
    objects: dict[str, bytes]
    parts: dict[str, dict[int, bytes]]
    lock: threading.Lock

    def log_message(self, *args: object) -> None: ...

    def _any(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        bucket, _, key = parts.path.lstrip("/").partition("/")
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._refuse("401 Unauthorized", "AuthenticationRequired", "Authentication required.")
        elif unquote(bucket) != self.bucket:
            self._refuse("404 Not Found", "NoSuchBucket", "The specified bucket does not exist.")
        elif not key:
            self._list(parse_qs(parts.query))
        else:
            with self.lock:
                query = parse_qs(parts.query, keep_blank_values=True)
                (self._handle_multipart if {"uploads", "uploadId"} & set(query) else self._object)(
                    unquote(key), data, query
                )

    do_GET = do_PUT = do_POST = do_DELETE = _any

    def _handle_multipart(self, key: str, data: bytes, query: dict[str, list[str]]) -> None:
        if "uploads" in query:
            name = str(len(self.parts))
            self.parts[name] = {}
            xml = f"<Bucket>{self.bucket}</Bucket><Key>{escape(key)}</Key><UploadId>{name}</UploadId>"
            self._answer("200 OK", f"<InitiateMultipartUploadResult>{xml}</InitiateMultipartUploadResult>".encode())
        elif self.command == "PUT":
            self.parts[query["uploadId"][0]][int(query["partNumber"][0])] = data
            self._answer("200 OK", b"", data)
        elif self.command == "DELETE":
            del self.parts[query["uploadId"][0]]
            self._answer("204 No Content", b"")
        else:
            parts = self.parts.pop(query["uploadId"][0])
            self.objects[key] = b"".join(parts[number] for number in sorted(parts))
            xml = f"<Key>{escape(key)}</Key><ETag>{_tag(self.objects[key])}</ETag>"
            self._answer("200 OK", f"<CompleteMultipartUploadResult>{xml}</CompleteMultipartUploadResult>".encode())

    def _object(self, key: str, data: bytes, query: dict[str, list[str]]) -> None:
        stored = self.objects.get(key)
        if self.command == "PUT":
            if stored is not None and self.headers.get("x-goog-if-generation-match") == "0":
                self._refuse("412 Precondition Failed", "PreconditionFailed", "A precondition did not hold.")
                return
            self.objects[key] = data
            self._answer("200 OK", b"", data)
        elif stored is None:
            self._refuse("404 Not Found", "NoSuchKey", "The specified key does not exist.")
        elif self.command == "DELETE":
            del self.objects[key]
            self._answer("204 No Content", b"")
        else:
            self._answer("200 OK", stored, stored)

    def _list(self, query: dict[str, list[str]]) -> None:
        prefix = query.get("prefix", [""])[0]
        after = query.get("continuation-token", query.get("start-after", [""]))[0]
        with self.lock:
            left = [key for key in sorted(self.objects) if key.startswith(prefix) and key > after]
            page = [(key, self.objects[key]) for key in islice(left, _PAGE)]
        keys = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>2026-11-21T12:00:00.000Z</LastModified>"
            f"<ETag>{_tag(data)}</ETag><Size>{len(data)}</Size></Contents>"
            for key, data in page
        )
        more = len(left) > len(page)
        token = f"<NextContinuationToken>{escape(page[-1][0])}</NextContinuationToken>" if more else ""
        xml = f"<Name>{self.bucket}</Name><IsTruncated>{str(more).lower()}</IsTruncated>{token}"
        self._answer("200 OK", f"<ListBucketResult>{xml}{keys}</ListBucketResult>".encode())

    def _refuse(self, status: str, code: str, message: str) -> None:
        self._answer(status, f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode())

    def _answer(self, status: str, body: bytes, tagged: bytes | None = None) -> None:
        number, _, reason = status.partition(" ")
        self.send_response(int(number), reason)
        if tagged is not None:
            self.send_header("ETag", _tag(tagged))
            self.send_header("Last-Modified", "Sat, 21 Nov 2026 12:00:00 GMT")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _tag(data: bytes) -> str:
    return f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: object, client_address: object) -> None: ...  # a client disconnected


def main(bucket: str) -> None:
    """Serve until killed, and print the port."""
    attributes = {"bucket": bucket, "objects": {}, "parts": {}, "lock": threading.Lock()}
    server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), attributes))
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])
