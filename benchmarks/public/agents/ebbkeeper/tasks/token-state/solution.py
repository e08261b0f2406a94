import json
import time
import urllib.error
import urllib.request


def token_state(url: str, token: str) -> str:
    address = f"{url.rstrip('/')}/tide/v3/stations"
    request = urllib.request.Request(address, headers={"Authorization": f"Pilot {token}"})
    while True:
        try:
            with urllib.request.urlopen(request, timeout=20) as response:
                return "renew" if response.headers.get("X-Ebb-Token-Ends") else "good"
        except urllib.error.HTTPError as error:
            name = json.load(error).get("name")
            if error.code == 401:
                return "expired" if name == "PilotTokenExpired" else "wrong"
            if name == "GangwayClosed":
                return "locked"
            if error.code != 429:
                raise
            time.sleep(float(error.headers.get("X-Ebb-Wait", "1")))
