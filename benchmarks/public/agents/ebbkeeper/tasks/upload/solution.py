import json
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime
from typing import Any

BATCH = 500


def send(address: str, token: str, body: dict[str, Any]) -> None:
    headers = {"Authorization": f"Pilot {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(address, json.dumps(body).encode(), headers, method="POST")
    while True:
        try:
            with urllib.request.urlopen(request, timeout=20):
                return
        except urllib.error.HTTPError as error:
            wait = error.headers.get("X-Ebb-Wait")
            if error.code != 429 or wait is None:
                raise
            time.sleep(float(wait))


def upload(url: str, token: str, station: str, rows: list[tuple[datetime, float, int]]) -> None:
    readings = [
        {"t": moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), "h": level, "q": quality}
        for moment, level, quality in rows
    ]
    for start in range(0, len(readings), BATCH):
        address = f"{url.rstrip('/')}/tide/v3/stations/{station}/readings"
        send(address, token, {"readings": readings[start : start + BATCH]})
