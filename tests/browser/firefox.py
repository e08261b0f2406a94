"""Firefox over WebDriver BiDi: a small client, because Playwright drives only its own build of Firefox.

https://www.w3.org/TR/webdriver-bidi/
"""

from __future__ import annotations

import json
import os
import re
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

START_SECONDS = 60.0
WAIT_SECONDS = 10.0

# All other hosts than 127.0.0.1 are requested from a proxy that does not exist.
_PREFERENCES = {
    "app.update.disabledForTesting": True,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "ui.prefersReducedMotion": 1,
}
_LISTENING = re.compile(r"WebDriver BiDi listening on ws://127\.0\.0\.1:(\d+)")
_KEYS = {"Control": "\ue009", "Shift": "\ue008", "Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004"}
_RECORD_VIOLATIONS = """() => {
  window.violations = [];
  addEventListener("securitypolicyviolation", (event) =>
    window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
}"""


class Firefox:
    """A Firefox with one tab.

    Attributes:
        errors: The errors that pages logged.
    """

    def __init__(self, port: int) -> None:
        """Connect to a running Firefox."""
        self.errors: list[str] = []
        self._socket = _WebSocket(port, "/session")
        self._count = 0
        self._call("session.new", capabilities={})
        self._call("session.subscribe", events=["log.entryAdded"])
        self._call("script.addPreloadScript", functionDeclaration=_RECORD_VIOLATIONS)
        self._tab = self._call("browsingContext.getTree", maxDepth=0)["contexts"][0]["context"]

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def open(self, url: str) -> None:
        """Load a page."""
        self._call("browsingContext.navigate", context=self._tab, url=url, wait="complete")

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression, which may be a promise."""
        text = f"(async () => JSON.stringify(await ({expression})))()"
        target = {"context": self._tab}
        found = self._call("script.evaluate", expression=text, target=target, awaitPromise=True, userActivation=True)
        if found["type"] == "exception":
            raise AssertionError(found["exceptionDetails"]["text"])
        return json.loads(found["result"].get("value", "null"))

    def wait(self, expression: str) -> Any:
        """Return the value of an expression as soon as it is true."""
        end = time.monotonic() + WAIT_SECONDS
        while not (value := self.evaluate(expression)):
            assert time.monotonic() < end, f"not true after {WAIT_SECONDS:.0f} s: {expression}"
            time.sleep(0.05)
        return value

    def press(self, *keys: str) -> None:
        """Press keys together, by name or character."""
        codes = [_KEYS.get(key, key) for key in keys]
        down = [{"type": "keyDown", "value": code} for code in codes]
        self._act([*down, *({"type": "keyUp", "value": code} for code in reversed(codes))])

    def type(self, text: str) -> None:
        """Type a text into the focused element."""
        self._act([{"type": kind, "value": character} for character in text for kind in ("keyDown", "keyUp")])

    def _act(self, actions: list[dict[str, str]]) -> None:
        keyboard = {"type": "key", "id": "keyboard", "actions": actions}
        self._call("input.performActions", context=self._tab, actions=[keyboard])

    def _call(self, method: str, **parameters: Any) -> Any:
        self._count += 1
        self._socket.send(json.dumps({"id": self._count, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.receive())
            if message["type"] == "event" and message["params"].get("level") == "error":
                self.errors.append(message["params"]["text"])
            elif message.get("id") == self._count:
                assert message["type"] == "success", f"{method}: {message.get('error')}: {message.get('message')}"
                return message["result"]


@contextmanager
def launch_firefox(path: str, profile: Path) -> Iterator[Firefox]:
    """Start Firefox without windows, with a profile of its own."""
    profile.mkdir()
    lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in _PREFERENCES.items())
    (profile / "user.js").write_text("".join(lines), "utf-8")
    command = [path, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"]
    log = profile / "stderr.txt"
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=stderr, env={**os.environ, "HOME": str(profile)}
        )
    try:
        with closing(Firefox(_find_port(process, log))) as firefox:
            yield firefox
    finally:
        process.terminate()
        process.wait(START_SECONDS)


def _find_port(process: subprocess.Popen[bytes], log: Path) -> int:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        if found := _LISTENING.search(log.read_text("utf-8", "replace")):
            return int(found[1])
        time.sleep(0.1)
    raise RuntimeError(f"Firefox does not listen: {log.read_text('utf-8', 'replace')[-500:]}")


class _WebSocket:
    """A connection for text messages (RFC 6455)."""

    def __init__(self, port: int, path: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), START_SECONDS)
        request = (
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        self._socket.sendall(request.encode())
        self._file = self._socket.makefile("rb")
        status = self._file.readline()
        assert b" 101 " in status, status
        while self._file.readline().strip():
            pass

    def send(self, text: str) -> None:
        """Send a message; clients have to mask it, and Firefox refuses a mask of zeros."""
        mask = b"mask"
        data = bytes(byte ^ mask[position % 4] for position, byte in enumerate(text.encode()))
        size = len(data)
        if size < 126:
            length = bytes([0x80 | size])
        else:
            length = struct.pack(">BH", 0xFE, size) if size < 65536 else struct.pack(">BQ", 0xFF, size)
        self._socket.sendall(b"\x81" + length + mask + data)

    def close(self) -> None:
        self._file.close()
        self._socket.close()

    def receive(self) -> str:
        """Return the next message."""
        message = b""
        while True:
            first, second = self._file.read(2)
            size = second & 0x7F
            if size >= 126:
                size = int.from_bytes(self._file.read(2 if size == 126 else 8), "big")
            data = self._file.read(size)
            if first & 0x0F <= 2:  # neither a ping nor a close
                message += data
                if first & 0x80:
                    return message.decode()
