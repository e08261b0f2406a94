import json
import urllib.parse
import urllib.request
from datetime import datetime


def poor_share(url: str, token: str, station: str, start: datetime, end: datetime) -> float:
    total = poor = 0
    page = 1
    while True:
        query = urllib.parse.urlencode({"start": start.isoformat(), "end": end.isoformat(), "page": page})
        request = urllib.request.Request(
            f"{url}/api/v1/stations/{station}/readings?{query}", headers={"Authorization": f"Bearer {token}"}
        )
        with urllib.request.urlopen(request) as response:
            readings = json.load(response)["readings"]
        if not readings:
            return poor / total if total else 0.0
        total += len(readings)
        poor += sum(reading["quality"] < 50 for reading in readings)
        page += 1
