import shutil
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any


def copy_closed_days(basin: Path, station: str, target: Path, harbour: dict[str, Any], now: datetime) -> list[str]:
    today = now.astimezone(UTC).date()
    copied = []
    for path in sorted(basin.glob(f"{station}*")):
        try:
            day = date.fromisoformat(path.stem[-10:])
        except ValueError:
            continue
        if day < today:
            shutil.copy2(path, target)
            copied.append(path.name)
    return copied
