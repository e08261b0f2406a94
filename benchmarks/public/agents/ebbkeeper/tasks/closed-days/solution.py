import re
import shutil
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

CLOSE_AT = "03:20"  # UTC, on the next day


def copy_closed_days(basin: Path, station: str, target: Path, harbour: dict[str, Any], now: datetime) -> list[str]:
    close_at = time.fromisoformat((harbour.get("basin") or {}).get("close_at", CLOSE_AT))
    copied = []
    for path in sorted((basin / station).iterdir()):
        match = re.fullmatch(re.escape(station) + r"\.(\d{4}-\d\d-\d\d)\.bsn", path.name)
        if not match:
            continue
        closed = datetime.combine(date.fromisoformat(match[1]) + timedelta(days=1), close_at, UTC)
        if now >= closed:
            shutil.copy2(path, target)
            copied.append(path.name)
    return copied
