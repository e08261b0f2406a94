import json
import time
import urllib.error
import urllib.parse
import urllib.request
from datetime import UTC, datetime
from typing import Any

FLOOR = 41


def format_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def fetch(address: str, token: str) -> dict[str, Any]:
    request = urllib.request.Request(address, headers={"Authorization": f"Pilot {token}"})
    while True:
        try:
            with urllib.request.urlopen(request, timeout=20) as response:
                page: dict[str, Any] = json.load(response)
                return page
        except urllib.error.HTTPError as error:
            wait = error.headers.get("X-Ebb-Wait")
            if error.code != 429 or wait is None:
                raise
            time.sleep(float(wait))


def fetch_qualities(address: str, token: str, query: dict[str, str]) -> list[int]:
    qualities: list[int] = []
    while True:
        page = fetch(f"{address}?{urllib.parse.urlencode(query)}", token)
        qualities += [row["q"] for row in page["readings"]]
        if "next" not in page:
            return qualities
        query = {**query, "cursor": page["next"]}


def poor_share(url: str, token: str, station: str, start: datetime, end: datetime) -> float:
    address = f"{url.rstrip('/')}/tide/v3/stations/{station}/readings"
    query = {"from": format_time(start), "to": format_time(end), "level": "raw", "floor": "0", "limit": "1900"}
    while True:
        try:
            qualities = fetch_qualities(address, token, query)
        except urllib.error.HTTPError as error:
            if error.code != 410:
                raise
        else:
            break
    return sum(quality < FLOOR for quality in qualities) / len(qualities) if qualities else 0.0
