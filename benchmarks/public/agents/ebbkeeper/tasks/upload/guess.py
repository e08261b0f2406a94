import json
import time
import urllib.error
import urllib.request
from datetime import datetime


def upload(url: str, token: str, station: str, rows: list[tuple[datetime, float, int]]) -> None:
    body = [{"time": moment.isoformat(), "level": level, "quality": quality} for moment, level, quality in rows]
    request = urllib.request.Request(
        f"{url}/api/v1/stations/{station}/readings",
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        method="POST",
    )
    while True:
        try:
            with urllib.request.urlopen(request):
                return
        except urllib.error.HTTPError as error:
            if error.code != 429:
                raise
            time.sleep(float(error.headers.get("Retry-After", 1)))
