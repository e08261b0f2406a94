"""Plots as SVG, each with its figures as text: bars with intervals, and how ranks are spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mkdocs_roaming.evals.report.page import safe

STEPS = ((1, 1, "1"), (2, 3, "2–3"), (4, 5, "4–5"), (6, 10, "6–10"), (11, 50, "11–50"))
"""How ranks are put together: from, to, and what it is called."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A share with its interval, each from 0 to 1."""

    name: str
    value: float
    low: float
    high: float
    said: str
    colour: int = 0


def shares(title: str, bars: Sequence[Bar]) -> str:
    """Give bars that lie one above the other, each with its interval as a line."""
    height = _ROW * len(bars) + 22
    marks = "".join(
        f'<line class="grid" x1="{_x(part):.1f}" y1="2" x2="{_x(part):.1f}" y2="{height - 18}"/>'
        f'<text class="soft" x="{_x(part):.1f}" y="{height - 4}" text-anchor="middle">{round(100 * part)}</text>'
        for part in (0, 0.25, 0.5, 0.75, 1)
    )
    drawn = "".join(_bar(bar, at) for at, bar in enumerate(bars))
    told = "; ".join(f"{bar.name}: {bar.said}" for bar in bars)
    return _figure(title, f"{title}. {told}.", height, marks + drawn)


def ranks(title: str, found: Sequence[int | None]) -> str:
    """Give how many questions have their section at which rank of a search."""
    counts = [(name, sum(rank is not None and low <= rank <= high for rank in found)) for low, high, name in STEPS]
    counts.append(("not found", sum(rank is None for rank in found)))
    most = max(count for _, count in counts) or 1
    width, height = _WIDTH / len(counts), 150
    drawn = ""
    for at, (name, count) in enumerate(counts):
        tall = 105 * count / most
        middle, last = width * (at + 0.5), at == len(counts) - 1
        drawn += (
            f'<rect class="{"none" if last else "bar0"}" x="{middle - width * 0.36:.1f}" y="{125 - tall:.1f}" '
            f'width="{width * 0.72:.1f}" height="{tall:.1f}"/>'
            f'<text x="{middle:.1f}" y="{120 - tall:.1f}" text-anchor="middle">{count}</text>'
            f'<text class="soft" x="{middle:.1f}" y="142" text-anchor="middle">{safe(name)}</text>'
        )
    drawn += f'<line class="grid" x1="0" y1="125" x2="{_WIDTH}" y2="125"/>'
    told = ", ".join(f"rank {name}: {count}" if name[0].isdigit() else f"{name}: {count}" for name, count in counts)
    return _figure(title, f"{title}. {told}.", height, drawn)


def counts(title: str, found: Sequence[tuple[str, int]]) -> str:
    """Give bars for whole numbers, the greatest filling the width."""
    most = max((count for _, count in found), default=0) or 1
    drawn = "".join(
        f'<text x="0" y="{_ROW * at + 17}">{safe(_short(name, 16))}</text>'
        f'<rect class="bar0" x="{_x(0):.1f}" y="{_ROW * at + 6}" width="{_x(count / most) - _x(0):.1f}" height="14"/>'
        f'<text x="{_x(count / most) + 6:.1f}" y="{_ROW * at + 17}">{count}</text>'
        for at, (name, count) in enumerate(found)
    )
    told = ", ".join(f"{name}: {count}" for name, count in found)
    return _figure(title, f"{title}. {told}.", _ROW * len(found) + 4, drawn)


def _bar(bar: Bar, at: int) -> str:
    top, middle = _ROW * at + 6, _ROW * at + 13
    return (
        f'<text x="0" y="{top + 11}">{safe(_short(bar.name, 16))}</text>'
        f'<rect class="bar{bar.colour % 4}" x="{_x(0):.1f}" y="{top}" width="{_x(bar.value) - _x(0):.1f}" height="14"/>'
        f'<path class="whisker" fill="none" d="M{_x(bar.low):.1f} {middle - 4}v8m0-4H{_x(bar.high):.1f}m0-4v8"/>'
        f'<text x="{_WIDTH}" y="{top + 11}" text-anchor="end">{round(100 * bar.value)} %</text>'
    )


def _figure(title: str, told: str, height: float, drawn: str) -> str:
    return (
        f"<figure><figcaption>{safe(title)}</figcaption>"
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{safe(told)}">{drawn}</svg></figure>\n'
    )


def _x(share: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * share


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


_WIDTH = 400
_LEFT = 110
_RIGHT = 50
_ROW = 26
