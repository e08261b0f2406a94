from typing import Any


def level(berth: dict[str, Any], pressure: float, air: float, datum: str | None = None) -> float:
    density = berth.get("density", 1025.0)
    gravity = berth.get("gravity", 9.80665)
    datums = berth.get("datums", {})
    height = (pressure - air) / (density * gravity) + berth.get("offset", 0.0)
    if datum is None:
        return height
    if datum not in datums:
        raise ValueError(f"unknown datum: {datum}")
    return height - datums[datum]
