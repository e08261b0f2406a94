"""Goals of the support benchmark, on the pages of the sample site."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from zlib import crc32

import pytest
from support import Tally, measure

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tallies() -> Mapping[str, Tally]:
    texts = {}
    for file in sorted((ROOT / "sample_site" / "docs").rglob("*.md")):
        for part in re.split(r"\n(?=## )", file.read_text("utf-8")):
            texts[f"{crc32((file.name + part).encode()):08x}"] = part
    return measure(texts, half="report", most=160)


def share(tallies: Mapping[str, Tally], *kinds: str) -> float:
    """Return the percentage of marked sentences of some kinds."""
    chosen = [tally for kind, tally in tallies.items() if kind.startswith(kinds)]
    count = sum(tally.count for tally in chosen)
    assert count >= 20, f"only {count} sentences: {kinds}"
    return 100 * sum(tally.marked for tally in chosen) / count


@pytest.mark.parametrize("kind", ["number", "name"])
def test_replaced_numbers_and_names_are_marked(tallies: Mapping[str, Tally], kind: str) -> None:
    assert share(tallies, kind) >= 99


@pytest.mark.parametrize("kind", ["negation", "opposite, held out", "opposite, seen"])
def test_contradictions_are_marked(tallies: Mapping[str, Tally], kind: str) -> None:
    assert share(tallies, kind) >= 90


def test_sentences_of_other_sections_are_mostly_marked(tallies: Mapping[str, Tally]) -> None:
    assert share(tallies, "sentence from elsewhere") >= 90


@pytest.mark.parametrize(
    "kinds",
    [
        ("word for word",),
        ("clause dropped", "adjective dropped", "parenthesis dropped"),
        ("case changed", "punctuation changed", "contracted", "list reordered"),
    ],
    ids=["quoted", "shortened", "written otherwise"],
)
def test_true_sentences_are_rarely_marked(tallies: Mapping[str, Tally], kinds: tuple[str, ...]) -> None:
    assert share(tallies, *kinds) <= (1 if "word for word" in kinds else 5)
