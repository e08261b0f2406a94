"""A score as a badge: a picture, or the JSON that badge servers draw one from."""

from __future__ import annotations

import json

LABEL = "roamable"


def as_svg(score: int) -> str:
    """Give a badge as a picture."""
    left, value = _width(LABEL), f"{score}/100"
    right = _width(value)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{LABEL}: {value}">\n'
        f"<title>{LABEL}: {value}</title>\n"
        f'<clipPath id="r"><rect width="{left + right}" height="20" rx="3"/></clipPath>\n'
        f'<g clip-path="url(#r)"><rect width="{left}" height="20" fill="#444"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{_colour(score)[1]}"/></g>\n'
        f'<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="{left / 2:g}" y="14">{LABEL}</text><text x="{left + right / 2:g}" y="14">{value}</text></g>\n'
        "</svg>\n"
    )


def as_endpoint(score: int) -> str:
    """Give a badge as shields' endpoint format has it."""
    badge = {"schemaVersion": 1, "label": LABEL, "message": f"{score}/100", "color": _colour(score)[0]}
    return json.dumps(badge) + "\n"


def _width(text: str) -> int:
    return 7 * len(text) + 10


def _colour(score: int) -> tuple[str, str]:
    """Give a colour's name and its value; white text can be read on each."""
    for least, name, value in _COLOURS:
        if score >= least:
            return name, value
    return _COLOURS[-1][1:]


_COLOURS = (
    (90, "brightgreen", "#2a7d1f"),
    (75, "green", "#4d7a14"),
    (60, "yellow", "#8a6d00"),
    (40, "orange", "#b3560a"),
    (0, "red", "#b3261e"),
)
