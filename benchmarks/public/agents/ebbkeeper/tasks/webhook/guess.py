import hashlib
import hmac
import json
from collections.abc import Callable
from email.message import Message
from typing import Any


def make_receiver(secrets: list[bytes]) -> Callable[[Message, bytes], dict[str, Any] | None]:
    handled: set[str] = set()

    def receive(headers: Message, body: bytes) -> dict[str, Any] | None:
        signature = headers.get("X-Ebbkeeper-Signature", "").removeprefix("sha256=")
        if not any(
            hmac.compare_digest(hmac.new(secret, body, hashlib.sha256).hexdigest(), signature) for secret in secrets
        ):
            return None
        alert: dict[str, Any] = json.loads(body)
        identifier = headers.get("X-Ebbkeeper-Delivery") or str(alert.get("id"))
        if identifier in handled:
            return None
        handled.add(identifier)
        return alert

    return receive
