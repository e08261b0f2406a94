"""Which of several representations a client wants, by its Accept header."""

from __future__ import annotations

from collections.abc import Sequence


def preferred(accept: str, offered: Sequence[str]) -> str:
    """Give the media type that an Accept header prefers among those offered; the first where it does not matter.

    Of equal weight the more exactly named wins, then the one offered earlier.
    """
    wanted = [_range(one) for one in accept.split(",") if one.strip()]
    if not wanted:
        return offered[0]
    ranked = sorted(offered, key=lambda kind: _rank(kind, wanted), reverse=True)  # stable: the earlier one first
    return ranked[0] if _rank(ranked[0], wanted)[0] > 0 else offered[0]


def _rank(kind: str, wanted: Sequence[tuple[str, float]]) -> tuple[float, int]:
    """Give the weight of a media type, and how exactly it was named."""
    exact = {kind: 2, kind.partition("/")[0] + "/*": 1, "*/*": 0}
    found = [(exact[name], weight) for name, weight in wanted if name in exact]
    if not found:
        return 0.0, -1
    exactness, weight = max(found)
    return weight, exactness


def _range(text: str) -> tuple[str, float]:
    name, *parameters = (part.strip().lower() for part in text.split(";"))
    weight = next((part[2:] for part in parameters if part.startswith("q=")), "1")
    try:
        return name, min(max(float(weight), 0.0), 1.0)
    except ValueError:
        return name, 0.0
