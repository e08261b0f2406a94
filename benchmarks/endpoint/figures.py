"""Figures of what was measured."""

from __future__ import annotations

from collections.abc import Sequence


def at(values: Sequence[float], share: float) -> float:
    """Give the value below which such a share of sorted values lies."""
    return values[min(int(len(values) * share), len(values) - 1)] if values else float("nan")
