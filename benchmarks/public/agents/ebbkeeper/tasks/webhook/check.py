"""Sealed, forged, repeated and late messages, also while the secret changes."""

import hashlib
import hmac
import json
import sys
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).parents[2]))
from email.message import Message

from support import expect, run_check

OLD, NEW, FOREIGN = (
    b"vikholm-old-secret-0123456789",
    b"vikholm-new-secret-0123456789",
    b"somebody-elses-secret-0123456789",
)


def make_message(serial: int, *secrets: bytes, state: str = "raised", separator: str = ", ") -> tuple[Message, bytes]:
    alert = {"alert": "high-water", "state": state, "station": "pier-north", "level": 3.871}
    body = json.dumps({**alert, "since": "2026-03-14T08:12:00Z", "serial": serial}).encode()
    headers = Message()
    headers["Content-Type"] = "application/json"
    if secrets:
        headers["x-ebb-seal"] = separator.join(hmac.new(secret, body, hashlib.sha384).hexdigest() for secret in secrets)
    return headers, body


def check(solution: ModuleType) -> None:
    receive = solution.make_receiver([OLD, NEW])

    def expect_new(what: str, headers: Message, body: bytes) -> None:
        result = receive(headers, body)
        expect(result == json.loads(body), f"{what}: expected the alert, got {result!r}")

    def expect_none(what: str, headers: Message, body: bytes) -> None:
        result = receive(headers, body)
        expect(result is None, f"{what}: expected None, got {result!r}")

    expect_none("message without a seal", *make_message(41077))
    expect_none("message with a seal of another secret", *make_message(41077, FOREIGN))
    expect_new("message after a forged one with the same number", *make_message(41077, OLD))
    expect_none("repeated message", *make_message(41077, OLD))
    expect_none("repeated message under the new secret", *make_message(41077, NEW))
    expect_new("second message of the same alert", *make_message(41080, OLD))
    expect_new("late message", *make_message(41079, NEW))
    headers, body = make_message(41081, OLD)
    expect_none("message whose body was changed", headers, body.replace(b"raised", b"cleared"))
    both = solution.make_receiver([NEW])
    for name, secrets, separator in [
        ("second", (OLD, NEW), ", "),
        ("first", (NEW, FOREIGN), ","),
        ("second", (OLD, NEW), ","),
    ]:
        headers, body = make_message(len(name) + len(separator) * 10, *secrets, separator=separator)
        expect(
            both(headers, body) == json.loads(body),
            f"two seals, of which the {name} is right: the alert was not returned",
        )


run_check(check)
