"""moto's S3 server with faults: `python -m fleet_servers.s3_server BUCKET`.

Faults are set by a PUT to `/_faults` as JSON: all requests wait `delay` seconds, `after` a number of requests the
credentials expire; writes to a path that ends in `lost_response` time out; writes to a path that contains `held` wait until
the faults change, except for the first `before_held`. `/_empty` removes all objects and faults.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from moto.core import DEFAULT_ACCOUNT_ID
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.s3.models import s3_backends
from werkzeug.serving import WSGIRequestHandler, make_server

EXPIRED = b"<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"
LATE = b"<Error><Code>RequestTimeout</Code><Message>Your socket connection was idle for too long.</Message></Error>"


class Faulty:
    """WSGI middleware that fails on purpose, and serializes writes: moto's conditional ones are not atomic."""

    def __init__(self, application: Any, bucket: str) -> None:
        self._application, self._bucket = application, bucket
        self._lock, self._writing = threading.Lock(), threading.Lock()
        self._faults: dict[str, Any] = {}
        self._count = 0

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/_faults":
            return self._set_faults(environ, start)
        if environ["PATH_INFO"] == "/_empty":
            return self._empty(start)
        with self._lock:
            self._count += 1
            after = self._faults.get("after")
            expired = after is not None and self._count > after
            put, lost_response = environ["REQUEST_METHOD"] == "PUT", self._faults.get("lost_response")
            late = lost_response and put and environ["PATH_INFO"].endswith(lost_response)
        time.sleep(self._faults.get("delay", 0))
        if expired or late:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            body = EXPIRED if expired else LATE
            start("400 Bad Request", [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
            return [body]
        if put:
            self._hold(environ["PATH_INFO"])
            with self._writing:
                return list(self._application(environ, start))
        response: Iterable[bytes] = self._application(environ, start)
        return response

    def _hold(self, path: str) -> None:
        """Wait until the faults change if a write is to be held."""
        with self._lock:
            faults = self._faults
            is_held = "held" in faults and faults["held"] in path
            if is_held:
                faults["before_held"] -= 1
                is_held = faults["before_held"] < 0
        while is_held and self._faults is faults:
            time.sleep(0.01)

    def _empty(self, start: Callable[..., Any]) -> Iterable[bytes]:
        with self._lock:
            self._faults, self._count = {}, 0
        s3_backends.reset()
        s3_backends[DEFAULT_ACCOUNT_ID]["aws"].create_bucket(self._bucket, "us-east-1")
        return _done(start)

    def _set_faults(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        self._faults = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        self._count = 0
        return _done(start)


def _done(start: Callable[..., Any]) -> Iterable[bytes]:
    start("200 OK", [("Content-Length", "0")])
    return [b""]


class _Handler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True


def main(bucket: str) -> None:
    """Serve until killed, and print the port."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    application = Faulty(DomainDispatcherApplication(create_backend_app), bucket)
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=_Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1])
