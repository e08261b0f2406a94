"""The Python client of Ebbkeeper."""

from __future__ import annotations

from ebbkeeper.client import HarbourClient, Reading
from ebbkeeper.errors import EbbError, GaugeSilentTimeout, PilotTokenExpired
from ebbkeeper.tides import TurningPoint, turning_points

__all__ = [
    "EbbError",
    "GaugeSilentTimeout",
    "HarbourClient",
    "PilotTokenExpired",
    "Reading",
    "TurningPoint",
    "turning_points",
]
