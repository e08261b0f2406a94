import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta


def token_state(url: str, token: str) -> str:
    request = urllib.request.Request(f"{url}/api/v1/status", headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request) as response:
            expires = response.headers.get("X-Token-Expires")
    except urllib.error.HTTPError as error:
        return {401: "wrong", 403: "expired", 429: "locked"}.get(error.code, "wrong")
    if expires and datetime.fromisoformat(expires) - datetime.now(UTC) < timedelta(days=7):
        return "renew"
    return "good"
