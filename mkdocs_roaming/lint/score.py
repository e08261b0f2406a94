"""One number for a site: how well it can be roamed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mkdocs_roaming.lint.finding import Severity

WEIGHTS: Mapping[Severity, int] = {"error": 10, "warning": 3, "hint": 1}


def score(severities: Iterable[Severity], sections: int) -> int:
    """Give 100 where nothing was found, and the less the more was found in how many sections.

    100 / (1 + weights of the findings / sections), rounded down: a site of five pages and one of five hundred
    compare, any finding takes something off, and one more never adds.
    """
    weight = sum(WEIGHTS[severity] for severity in severities)
    return 100 * sections // (sections + weight) if weight else 100
