import hashlib
import hmac
import json
from collections.abc import Callable
from email.message import Message
from typing import Any


def make_receiver(secrets: list[bytes]) -> Callable[[Message, bytes], dict[str, Any] | None]:
    handled: set[int] = set()

    def receive(headers: Message, body: bytes) -> dict[str, Any] | None:
        seals = [seal.strip() for seal in headers.get("X-Ebb-Seal", "").split(",")]
        ours = [hmac.new(secret, body, hashlib.sha384).hexdigest() for secret in secrets]
        # Compared as bytes, because a forged seal may hold other characters than ASCII.
        if not any(hmac.compare_digest(own.encode(), seal.encode()) for own in ours for seal in seals):
            return None
        alert: dict[str, Any] = json.loads(body)
        if alert["serial"] in handled:
            return None
        handled.add(alert["serial"])
        return alert

    return receive
