"""Minimum rates of the support benchmark on the pages of the sample site."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from zlib import crc32

import pytest
from support import Tally, measure_site

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def tallies() -> Mapping[str, Tally]:
    texts = {}
    for file in sorted((ROOT / "sample_site" / "docs").rglob("*.md")):
        for part in re.split(r"\n(?=## )", file.read_text("utf-8")):
            texts[f"{crc32((file.name + part).encode()):08x}"] = part
    return measure_site(texts, half="report", max_sections=160)


def marked_percent(tallies: Mapping[str, Tally], *kinds: str) -> float:
    """Return the percentage of marked sentences of the given kinds; requires at least 20 sentences."""
    chosen = [tally for kind, tally in tallies.items() if kind.startswith(kinds)]
    count = sum(tally.count for tally in chosen)
    assert count >= 20, f"only {count} sentences: {kinds}"
    return 100 * sum(tally.marked for tally in chosen) / count


@pytest.mark.parametrize("kind", ["number", "name"])
def test_falsified_numbers_and_names_are_marked(tallies: Mapping[str, Tally], kind: str) -> None:
    assert marked_percent(tallies, kind) >= 99


def test_sentences_from_elsewhere_are_marked(tallies: Mapping[str, Tally]) -> None:
    assert marked_percent(tallies, "sentence from elsewhere") >= 90


@pytest.mark.parametrize(
    "kinds",
    [
        ("verbatim",),
        ("clause dropped", "adjective dropped", "parenthesis dropped"),
        ("case changed", "punctuation changed", "contracted", "list reordered"),
    ],
    ids=["quoted", "shortened", "rewritten"],
)
def test_unfalsified_sentences_have_few_false_marks(tallies: Mapping[str, Tally], kinds: tuple[str, ...]) -> None:
    assert marked_percent(tallies, *kinds) <= (1 if "verbatim" in kinds else 5)
