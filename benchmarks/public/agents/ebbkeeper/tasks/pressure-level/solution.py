from typing import Any

GRAVITY = 9.8123  # m/s²
DENSITY = 1021.4  # kg/m³


def level(berth: dict[str, Any], pressure: float, air: float, datum: str | None = None) -> float:
    kelp, own = berth.get("kelp") or {}, berth.get("datum") or {}
    if kelp.get("baro", "onboard") == "none":  # a vented cable: the probe measures the water alone
        air = 0.0
    density = kelp.get("water_density", DENSITY)
    height: float = (pressure - air) / (density * own.get("gravity", GRAVITY)) + own.get("offset", 0.0)
    if datum is None or datum == own.get("name"):
        return height
    derived = own.get("derived") or {}
    if datum not in derived:
        raise ValueError(f"the berth names no datum {datum}")
    return height + float(derived[datum])
